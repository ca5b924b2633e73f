//! The picture of delays: of each contestant the delays at three ranks, on one line.

use super::axis::{LogAxis, label};
use super::svg::{begin, end, grid_line, marker, text};
use crate::delays::{Percentiles, RANKS};
use crate::results::{Results, Row};
use crate::scenario::Scenario;
use std::fmt::Write;

const WIDTH: f64 = 960.0;
const LEFTS: [f64; 2] = [150.0, 630.0];
const PLOT_WIDTH: f64 = 310.0;
const TOP: f64 = 56.0;
const STEP: f64 = 26.0;

/// The delays of a scenario, of all who say them.
struct Panel {
    title: String,
    lines: Vec<(&'static str, Percentiles)>,
}

/// Draws the delays of round trips of `sizes`, or `None` if nobody's are there.
pub(super) fn draw(results: &Results, sizes: [usize; 2]) -> Option<String> {
    let panels = sizes.map(|size| {
        let scenario = Scenario::RoundTrip { size };
        let row = results.rows.iter().find(|row| row.scenario == scenario);
        Panel { title: scenario.to_string(), lines: row.map(lines).unwrap_or_default() }
    });
    let most = panels.iter().map(|panel| panel.lines.len()).max().filter(|most| *most > 0)?;
    let bottom = TOP + STEP * most as f64;
    let mut svg = begin(WIDTH, bottom + 64.0);
    for (panel, left) in panels.iter().zip(LEFTS) {
        draw_panel(&mut svg, panel, left, bottom);
    }
    for (number, rank) in RANKS.into_iter().enumerate() {
        let left = 150.0 + 150.0 * number as f64;
        marker(&mut svg, number, left, bottom + 46.0);
        text(&mut svg, left + 12.0, bottom + 50.0, "start", "", &format!("{rank} % within"));
    }
    end(&mut svg);
    Some(svg)
}

fn lines(row: &Row) -> Vec<(&'static str, Percentiles)> {
    row.entries.iter().filter_map(|it| Some((it.name, it.outcome.as_ref().ok()?.delays?))).collect()
}

fn draw_panel(svg: &mut String, panel: &Panel, left: f64, bottom: f64) {
    let right = left + PLOT_WIDTH;
    text(svg, left, TOP - 30.0, "start", "title", &panel.title);
    text(svg, left, TOP - 12.0, "start", "", "µs, less is better");
    let values = panel.lines.iter().flat_map(|(_, Percentiles(delays))| delays.iter().copied());
    let Some(axis) = LogAxis::around(values, left, right) else { return };
    for mark in axis.marks() {
        let place = axis.place(mark);
        grid_line(svg, [place, TOP], [place, bottom]);
        text(svg, place, bottom + 18.0, "middle", "", &label(mark));
    }
    for (number, (name, Percentiles(delays))) in panel.lines.iter().enumerate() {
        let height = STEP.mul_add(number as f64 + 0.5, TOP);
        text(svg, left - 10.0, height + 4.0, "end", "", name);
        let places = delays.map(|delay| axis.place(delay));
        let [from, .., to] = places;
        let _ = writeln!(svg, "<path class=\"span\" d=\"M{from:.1} {height:.1}H{to:.1}\"/>");
        for (rank, place) in places.into_iter().enumerate() {
            marker(svg, rank, place, height);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disturbance::Disturbance;
    use crate::results::{Entry, Measured};
    use crate::statistics::Summary;
    use std::time::Duration;

    fn entry(name: &'static str, delays: Option<[f64; 3]>) -> Entry {
        let value = Summary::of(&[1.0]).unwrap();
        let delays = delays.map(Percentiles);
        Entry { name, outcome: Ok(Measured { value, cpu: None, between: None, delays }) }
    }

    fn results(entries: Vec<Entry>) -> Results {
        let row = Row { scenario: Scenario::RoundTrip { size: 8 }, entries };
        Results { rows: vec![row], disturbance: Disturbance::new(Duration::ZERO) }
    }

    #[test]
    fn whoever_says_delays_has_a_line_with_three_marks() {
        let entries = vec![
            entry("LNet", Some([9.5, 20.0, 40.0])),
            entry("UCX tag", Some([8.0, 8.3, 26.0])),
            entry("libfabric", None),
        ];
        let svg = draw(&results(entries), [8, 4096]).unwrap();
        for (words, times) in [(">LNet<", 1), (">UCX tag<", 1), ("libfabric", 0), ("class=\"span\"", 2)] {
            assert_eq!(svg.matches(words).count(), times, "{words}");
        }
        // And one of each in the legend.
        assert_eq!(svg.matches("<path transform").count(), 2 * 3 + 3);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("NaN"));
    }

    #[test]
    fn without_delays_there_is_no_picture() {
        assert!(draw(&results(vec![entry("libfabric", None)]), [8, 4096]).is_none());
    }
}
