//! Draws the state of a watched batch into the cells of a screen.

use super::model::{Role, Row, Watch};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Table, Widget};

const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const MIB: f64 = 1_048_576.0;
/// The marks of a spark line, from no traffic to the most of the line. ASCII, so that every terminal shows them.
const SPARKS: [char; 8] = [' ', '.', ':', '-', '=', '+', '*', '#'];
/// Lines above the rows: title, totals, a blank line, the head of the table.
const HEADER: u16 = 4;
/// Widths of the columns role, out, in, RPCs, errors.
const FIXED: [u16; 5] = [6, 10, 10, 10, 7];
const NODE: u16 = 27;
const KEYS: &str = "q: leave, the batch goes on";

/// Draws the batch into the area, whose size may be any.
pub fn screen(watch: &Watch, area: Rect, buffer: &mut Buffer) {
    let (running, unknown) = watch.clients();
    let unknown = if unknown == 0 { String::new() } else { format!(", {unknown} do not answer") };
    let title = format!(
        "lst  batch {}  {:.0} s  {running} clients run{unknown}",
        watch.batch,
        watch.passed.as_secs_f64()
    );
    let title = format!("{title:<width$}", width = area.width.into());
    let totals = format!(
        "total  {:.2} MiB/s written  {:.2} MiB/s read  {:.0} RPC/s",
        watch.sum(Role::Server, |rates| rates.bulk_got) / MIB,
        watch.sum(Role::Server, |rates| rates.bulk_put) / MIB,
        watch.sum(Role::Server, |rates| rates.rpcs_received),
    );
    let part =
        |top: u16, height: u16| Rect { y: area.y.saturating_add(top), height, ..area }.intersection(area);
    Line::from(title).style(REVERSED).render(part(0, 1), buffer);
    Line::from(totals).render(part(1, 1), buffer);
    let last = area.height.saturating_sub(1);
    table(watch, part(3, last.saturating_sub(3)), buffer);
    if last > HEADER {
        Line::from(format!("{KEYS:<width$}", width = area.width.into()))
            .style(REVERSED)
            .render(part(last, 1), buffer);
    }
}

/// The whole view as text, without the line of keys.
pub fn as_text(watch: &Watch, width: u16) -> String {
    let rows = u16::try_from(watch.rows.len()).unwrap_or(u16::MAX / 4).min(u16::MAX / 4);
    let area = Rect::new(0, 0, width, HEADER + rows + 1);
    let mut buffer = Buffer::empty(area);
    screen(watch, area, &mut buffer);
    let line = |y| -> String { (area.left()..area.right()).map(|x| buffer[(x, y)].symbol()).collect() };
    let lines = (area.top()..area.bottom().saturating_sub(1)).map(|y| line(y).trim_end().to_owned() + "\n");
    lines.collect()
}

fn table(watch: &Watch, area: Rect, buffer: &mut Buffer) {
    let right = |text: String| Cell::from(Line::from(text).right_aligned());
    let fixed = NODE + FIXED.iter().sum::<u16>() + 6;
    let spark = usize::from(area.width.saturating_sub(fixed));
    let most = watch.rows.iter().flat_map(|row| &row.history).copied().fold(0.0, f64::max);
    let rows = watch.rows.iter().map(|row| {
        let style = if row.errors == Some(0) { Style::new() } else { BOLD.fg(Color::Red) };
        let rate = |text: Option<String>| right(text.unwrap_or_else(|| "-".to_owned()));
        let role = if row.role == Role::Client { "client" } else { "server" };
        let rpcs = |row: &Row| {
            row.rates.map(|it| if row.role == Role::Client { it.rpcs_sent } else { it.rpcs_received })
        };
        let errors = row.errors.map_or_else(|| "?".to_owned(), |errors| errors.to_string());
        ratatui::widgets::Row::new([
            Cell::from(row.id.to_string()),
            Cell::from(role),
            rate(row.rates.map(|it| format!("{:.2}", it.sent_bytes / MIB))),
            rate(row.rates.map(|it| format!("{:.2}", it.received_bytes / MIB))),
            rate(rpcs(row).map(|it| format!("{it:.0}"))),
            right(errors).style(style),
            Cell::from(sparks(&row.history, most, spark)),
        ])
    });
    let head = ["OUT MiB/s", "IN MiB/s", "RPC/s", "ERRORS"].map(|text| right(text.to_owned()));
    let head =
        [Cell::from("NODE"), Cell::from("ROLE")].into_iter().chain(head).chain([Cell::from("TRAFFIC")]);
    let widths = [NODE].into_iter().chain(FIXED).chain([u16::try_from(spark).unwrap_or(0)]);
    Table::new(rows, widths.map(Constraint::Length))
        .header(ratatui::widgets::Row::new(head).style(BOLD))
        .column_spacing(1)
        .render(area, buffer);
}

/// Returns the last `room` values, each as a mark for its part of `most`.
fn sparks(history: &[f64], most: f64, room: usize) -> String {
    let last = history.get(history.len().saturating_sub(room)..).unwrap_or_default();
    let top = (SPARKS.len() - 1) as f64;
    let level = |value: f64| if most > 0.0 { (value / most * top).ceil() as usize } else { 0 };
    last.iter().filter_map(|value| SPARKS.get(level(*value).min(SPARKS.len() - 1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spark_line_shows_the_last_values_as_shares_of_the_most() {
        assert_eq!(sparks(&[0.0, 1.0, 7.0], 7.0, 10), " .#");
        assert_eq!(sparks(&[0.0, 1.0, 7.0], 7.0, 2), ".#");
        assert_eq!(sparks(&[0.0, 0.0], 0.0, 2), "  ");
        assert_eq!(sparks(&[], 0.0, 2), "");
    }
}
