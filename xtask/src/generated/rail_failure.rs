//! `docs/pictures/rail-failure.svg`: how long no operation succeeds after a rail has failed, here and in the kernel, from the table in
//! `docs/performance.md`.

use super::svg::{self, HERE, KERNEL};
use crate::Result;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const DOCUMENT: &str = "docs/performance.md";
const SECTION: &str = "\n## Rail failure\n";
/// The width of one decade of the logarithmic scale, which begins at `SCALE_FROM` seconds.
const DECADE: f64 = 115.0;
const SCALE_FROM: f64 = 0.01;
const LEFT: f64 = 250.0;
const ROW: f64 = 46.0;
const TOP: f64 = 56.0;

/// A scenario, with the seconds of both stalls.
#[derive(Debug, PartialEq)]
struct Row<'a> {
    scenario: &'a str,
    here: f64,
    kernel: f64,
}

/// Draws the picture.
pub(super) fn picture(root: &Path) -> Result<String> {
    let text = fs::read_to_string(root.join(DOCUMENT))?;
    let rows = rows(&text);
    match rows.is_empty() {
        true => Err(format!("{DOCUMENT}: no table of rail failures with the kernel's stalls").into()),
        false => Ok(draw(&rows)),
    }
}

/// The rows of the table in which both have been measured.
fn rows(text: &str) -> Vec<Row<'_>> {
    let Some((_, section)) = text.split_once(SECTION) else { return Vec::new() };
    let mut table =
        section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let head = cells(table.next().unwrap_or_default());
    let column = |name: &str| head.iter().position(|its| *its == name);
    let (Some(here), Some(kernel)) = (column("stall"), column("the kernel's stall")) else {
        return Vec::new();
    };
    table
        .map(cells)
        .filter(|row| row.len() == head.len())
        .filter_map(|row| {
            Some(Row { scenario: row[0], here: seconds(row[here])?, kernel: seconds(row[kernel])? })
        })
        .collect()
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// The number of `21.8 s` or of `3.2 s, 0 failed`.
fn seconds(cell: &str) -> Option<f64> {
    let (number, unit) = cell.split_once(' ')?;
    unit.starts_with('s').then(|| number.parse().ok()).flatten()
}

fn draw(rows: &[Row<'_>]) -> String {
    let bottom = TOP + ROW * rows.len() as f64;
    let mut svg = svg::begin(
        bottom + 44.0,
        "Seconds without a successful operation after a rail has failed",
        "Longest time without a successful operation when a rail fails, in seconds (logarithmic)",
    );
    svg::legend(&mut svg, &[(LEFT, HERE, "liblnet"), (LEFT + 90.0, KERNEL, "Lustre 2.15.8 in the kernel")]);
    for decade in 0..=4 {
        let x = LEFT + DECADE * f64::from(decade);
        let value = SCALE_FROM * 10_f64.powi(decade);
        _ = writeln!(
            svg,
            "  <line x1=\"{x}\" y1=\"{TOP}\" x2=\"{x}\" y2=\"{bottom}\" stroke=\"#ddd\"/>\n  <text x=\"{x}\" y=\"{}\" \
             text-anchor=\"middle\" fill=\"#444\">{value}</text>",
            bottom + 18.0
        );
    }
    for (row, y) in rows.iter().zip((0..).map(|row| TOP + ROW * f64::from(row))) {
        _ = writeln!(
            svg,
            "  <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            LEFT - 10.0,
            y + 26.0,
            row.scenario
        );
        for (value, y, colour) in [(row.here, y + 4.0, HERE), (row.kernel, y + 22.0, KERNEL)] {
            let width = ((value / SCALE_FROM).log10() * DECADE).max(1.0);
            _ = writeln!(
                svg,
                "  <rect x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"15\" fill=\"{colour}\"/>\n  <text x=\"{:.1}\" y=\"{}\" \
                 font-size=\"11\">{value}</text>",
                LEFT + width + 5.0,
                y + 12.0
            );
        }
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rows_with_both_measurements_are_drawn() {
        let text = "# P\n\n## Rail failure\n\ntext\n\n| scenario | stall | the kernel's stall |\n| --- | --- | --- |\n\
                    | a | 0.03 s | 21.8 s |\n| b | 0.02 s | not measured |\n| c | 0.40 s | 3.2 s, 0 failed |\n\n| d | 1 s | 2 s |\n";
        let expected =
            [Row { scenario: "a", here: 0.03, kernel: 21.8 }, Row { scenario: "c", here: 0.4, kernel: 3.2 }];
        assert_eq!(rows(text), expected);
    }
}
