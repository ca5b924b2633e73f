//! Draws a view into the cells of a screen. ASCII only, so that every terminal shows it.

use super::view::{InterfaceState, Row, View};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Table, Widget};
use std::fmt::Write;

const HEADER: u16 = 5;
const KEYS: &str = "q quit  p pause  s sort  arrows, jk: scroll";
const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// Draws the view into the area, whose size may be any.
pub fn screen(view: &View, area: Rect, buffer: &mut Buffer) {
    header(view, area, buffer);
    let heights = Heights::new(view, area.height);
    let columns = Columns::new(view, area.width);
    let part = |top: u16, height: u16| Rect { y: area.y + top, height, ..area }.intersection(area);
    let (rails, peers) = (HEADER + 1, HEADER + 1 + heights.rails + 2);
    table(
        ["RAIL", "IF"],
        view.rails.iter().take(heights.rails.into()),
        &columns,
        part(rails, heights.rails + 1),
        buffer,
    );
    let shown = usize::from(heights.peers);
    let skipped = view.skipped.min(view.peers.len().saturating_sub(shown));
    let rows = view.peers.iter().skip(skipped).take(shown);
    table(["PEER", "NIDS"], rows, &columns, part(peers, heights.peers + 1), buffer);
    let footer = part(area.height.saturating_sub(1), 1);
    if footer.y > area.y + HEADER {
        let place = place(view, heights, skipped);
        let gap = usize::from(area.width).saturating_sub(KEYS.len() + place.len()).max(1);
        Line::from(format!("{KEYS}{:gap$}{place}", "")).style(REVERSED).render(footer, buffer);
    }
}

/// Returns the number of peers that fit into an area of this height.
pub fn peers_that_fit(view: &View, height: u16) -> usize {
    Heights::new(view, height).peers.into()
}

/// The whole view as text, without the line of keys. The lines of the header are as long as they need to be.
pub fn as_text(view: &View, width: u16) -> String {
    let rows = view.rails.len().saturating_add(view.peers.len()).min(usize::from(u16::MAX / 4)) as u16;
    let wider = |least: u16, of: fn(&Row) -> &String| {
        let longest = view.rails.iter().chain(&view.peers).map(|row| of(row).len()).max().unwrap_or(0);
        (longest.min(200) as u16).saturating_sub(least)
    };
    let wider = wider(NID, |row| &row.nid) + wider(DETAIL, |row| &row.detail);
    let area = Rect::new(0, 0, width.max(SMALLEST + wider).clamp(1, 500), HEADER + rows + 5);
    let mut buffer = Buffer::empty(area);
    screen(view, area, &mut buffer);
    let mut lines = lines(&buffer);
    lines.iter_mut().zip(header_texts(view)).for_each(|(line, text)| text.trim_end().clone_into(line));
    lines.truncate(lines.len().saturating_sub(1));
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.join("\n") + "\n"
}

/// Returns the text in a buffer, line by line, without styles and without blanks at the ends of lines.
pub fn lines(buffer: &Buffer) -> Vec<String> {
    let area = buffer.area();
    let line = |y| -> String { (area.left()..area.right()).map(|x| buffer[(x, y)].symbol()).collect() };
    (area.top()..area.bottom()).map(|y| line(y).trim_end().to_owned()).collect()
}

/// The lines of the header.
fn header_texts(view: &View) -> [String; HEADER as usize] {
    let node = if view.node.is_empty() { "no node" } else { &view.node };
    let paused = if view.paused { "  PAUSED" } else { "" };
    let rates = match &view.problem {
        Some(problem) => format!("node does not answer: {problem}; trying again"),
        None => format!("rate   {}", view.rates),
    };
    [
        format!("lnetctl top  node {node}  {}{paused}", view.watching),
        format!("total  {}", view.totals),
        rates,
        format!("delay  {}", view.delays),
        format!("health {}", view.health),
    ]
}

fn header(view: &View, area: Rect, buffer: &mut Buffer) {
    let [title, totals, rates, delays, health] = header_texts(view);
    let rates = match view.problem {
        Some(_) => Line::from(Span::styled(rates, BOLD.fg(Color::Red))),
        None => Line::from(rates),
    };
    let title = format!("{title:<width$}", width = area.width.into());
    let [delays, health] = [delays, health].map(|line| Line::from(fitting(line, area.width.into())));
    let lines = [Line::from(title).style(REVERSED), Line::from(totals), rates, delays, health];
    for (line, y) in lines.into_iter().zip(area.top()..area.bottom()) {
        line.render(Rect { y, height: 1, ..area }, buffer);
    }
}

/// Truncates a line to a width; ` ...` at its end marks that. The line is ASCII, so that every character is one byte.
fn fitting(mut line: String, width: usize) -> String {
    const MORE: &str = " ...";
    if line.len() > width && line.is_ascii() && width > MORE.len() {
        line.truncate(width - MORE.len());
        line.push_str(MORE);
    }
    line
}

/// Text that names the part of the peers that is shown, and their order.
fn place(view: &View, heights: Heights, skipped: usize) -> String {
    let shown = usize::from(heights.peers).min(view.peers.len());
    let first = if shown == 0 { 0 } else { skipped + 1 };
    let mut text = format!("peers {first}-{} of {}", skipped + shown, view.peer_count);
    if !view.sort.is_empty() {
        let _ = write!(text, " by {}", view.sort);
    }
    text
}

/// Rows of each table, without its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Heights {
    rails: u16,
    peers: u16,
}

impl Heights {
    /// Rails get the lines that they need, up to two thirds; peers get the rest.
    fn new(view: &View, height: u16) -> Self {
        // The header, a blank line, the heads with a blank line between, the last line.
        let free = height.saturating_sub(HEADER + 1 + 1 + 2 + 1);
        let needed = view.rails.len().min(u16::MAX.into()) as u16;
        let rails = needed.min(if view.peers.is_empty() { free } else { free.div_ceil(3) * 2 }).min(free);
        Self { rails, peers: free - rails }
    }
}

/// The minimum width of the NID column.
const NID: u16 = 21;
const DETAIL: u16 = 8;
/// Widths of the columns state, health, credits, messages, out, in.
const FIXED: [u16; 6] = [4, 4, 9, 6, 7, 7];
const SMALLEST: u16 = 80;
const MAX_BAR_WIDTH: u16 = 40;

#[derive(Debug)]
struct Columns {
    nid: u16,
    detail: u16,
    bar: u16,
}

impl Columns {
    /// Computes the widths: NIDs and names get what they need as far as there is space, and the bar gets the rest.
    fn new(view: &View, width: u16) -> Self {
        let rows = || view.rails.iter().chain(&view.peers);
        let longest =
            |of: fn(&Row) -> &String| rows().map(|row| of(row).len().min(200)).max().unwrap_or(0) as u16;
        let fixed: u16 = FIXED.iter().sum::<u16>() + 8;
        let mut free = width.saturating_sub(fixed + NID + DETAIL + 6);
        let mut grow = |least: u16, wanted: u16| {
            let more = wanted.saturating_sub(least).min(free);
            free -= more;
            least + more
        };
        let nid = grow(NID, longest(|row| &row.nid));
        let detail = grow(DETAIL, longest(|row| &row.detail));
        Self { nid, detail, bar: (free + 6).min(MAX_BAR_WIDTH) }
    }
}

fn table<'a>(
    names: [&'static str; 2],
    rows: impl Iterator<Item = &'a Row>,
    columns: &Columns,
    area: Rect,
    buffer: &mut Buffer,
) {
    let right = |text: &str| Cell::from(Line::from(text.to_owned()).right_aligned());
    let head = ["HLTH", "CREDITS", "MSG/S", "OUT MiB", "IN MiB"].map(right);
    let head =
        names.map(Cell::from).into_iter().chain([Cell::from("STAT")]).chain(head).chain([Cell::from("LOAD")]);
    let rows = rows.map(|row| {
        let state = match row.state {
            InterfaceState::Active | InterfaceState::Unknown => Style::new(),
            InterfaceState::Degraded => BOLD.fg(Color::Yellow),
            InterfaceState::Failed | InterfaceState::Unreachable => BOLD.fg(Color::Red),
        };
        let numbers = [&row.health, &row.credits, &row.messages, &row.sent, &row.received];
        let cells = [Cell::from(row.nid.as_str()), Cell::from(row.detail.as_str())].into_iter();
        let cells = cells.chain([Cell::from(row.state.word()).style(state)]);
        let bar = "#".repeat((row.share * f64::from(columns.bar)).ceil() as usize);
        ratatui::widgets::Row::new(cells.chain(numbers.map(|it| right(it))).chain([Cell::from(bar)]))
    });
    let widths = [columns.nid, columns.detail].into_iter().chain(FIXED).chain([columns.bar]);
    Table::new(rows, widths.map(Constraint::Length))
        .header(ratatui::widgets::Row::new(head).style(BOLD))
        .column_spacing(1)
        .render(area, buffer);
}
