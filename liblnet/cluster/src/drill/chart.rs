//! The throughput of a drill over time, as an SVG picture.

use super::report::{DrillReport, Slice};
use super::text::{rate, time};
use crate::text::{listed, shortened};
use crate::xml::escaped;
use std::fmt::Write;

const WIDTH: u64 = 900;
const HEIGHT: u64 = 360;
const LEFT: u64 = 90;
const RIGHT: u64 = 30;
const TOP: u64 = 50;
const BOTTOM: u64 = 50;
/// The number of parts of the time axis.
const TICKS: u64 = 6;
/// The number of parts of the axis of throughput.
const PARTS: u64 = 4;
/// The distance of the labels of losses, which are below each other, and the number of them.
const LABEL_HEIGHT: u64 = 17;
const MAX_LABELS: u64 = 14;
/// The most characters of the title, and of the label of a loss.
const MAX_TITLE: usize = 90;
const MAX_LABEL: usize = 40;

/// Draws the throughput as a line with one point for each slice, failed operations as bars, and losses as vertical lines. The picture
/// needs nothing else: no script, no font, no file.
pub fn drill_chart_svg(report: &DrillReport) -> String {
    let highest = axis_end(report.series.iter().map(|slice| slice.bytes_per_second).max().unwrap_or(0));
    let most_failed = report.series.iter().map(|slice| slice.failed).max().unwrap_or(0).max(1);
    let (width, height) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    let x = |ms: u64| LEFT + ms.min(report.duration_ms) * width / report.duration_ms.max(1);
    let scaled = |value: u64, most: u64| {
        u64::try_from(u128::from(value) * u128::from(height) / u128::from(most)).unwrap_or(height)
    };
    let middle = |slice: &Slice| x(slice.at_ms + report.slice_ms / 2);
    let losses: Vec<&str> = report.losses.iter().map(|loss| loss.element.as_str()).collect();
    let title = match losses.is_empty() {
        true => format!("{}: nothing lost", report.load),
        false => format!("{}: {} lost", report.load, listed(losses)),
    };
    let title = shortened(&title, MAX_TITLE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <title>{0}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\" fill=\"#222222\">{0}</text>\n",
        escaped(&title)
    );
    let bottom = TOP + height;
    for part in 0..=PARTS {
        let y = bottom - height * part / PARTS;
        let label = rate(highest / PARTS * part);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\" stroke=\"#dddddd\"/>\n\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#444444\">{label}</text>\n",
            LEFT + width,
            LEFT - 8,
            y + 4,
        );
    }
    for part in 0..=TICKS {
        let ms = report.duration_ms * part / TICKS;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#444444\">{}</text>",
            x(ms),
            bottom + 20,
            time(ms),
        );
    }
    let bar = (width * report.slice_ms / report.duration_ms.max(1)).max(2);
    for slice in report.series.iter().filter(|slice| slice.failed > 0) {
        let tall = scaled(slice.failed, most_failed).max(2);
        let _ = writeln!(
            svg,
            "<rect class=\"failed\" x=\"{}\" y=\"{}\" width=\"{bar}\" height=\"{tall}\" fill=\"#d62728\" fill-opacity=\"0.35\"><title>{} operations failed at {}</title></rect>",
            x(slice.at_ms),
            bottom - tall,
            slice.failed,
            time(slice.at_ms),
        );
    }
    let points: Vec<String> = report
        .series
        .iter()
        .map(|slice| format!("{},{}", middle(slice), bottom - scaled(slice.bytes_per_second, highest)))
        .collect();
    let _ = writeln!(
        svg,
        "<polyline class=\"throughput\" points=\"{}\" fill=\"none\" stroke=\"#1f77b4\" stroke-width=\"2\"/>",
        points.join(" ")
    );
    for (number, loss) in (0..).zip(&report.losses) {
        let at = x(loss.at_ms);
        let _ = writeln!(
            svg,
            "<line class=\"loss\" x1=\"{at}\" y1=\"{TOP}\" x2=\"{at}\" y2=\"{bottom}\" stroke=\"#d62728\" stroke-dasharray=\"4 3\"/>"
        );
        if number >= MAX_LABELS {
            continue;
        }
        let (beside, anchor) = if at < LEFT + width / 2 { (at + 5, "start") } else { (at - 5, "end") };
        let _ = writeln!(
            svg,
            "<text x=\"{beside}\" y=\"{}\" text-anchor=\"{anchor}\" fill=\"#b01c1d\">{} lost</text>",
            TOP + 12 + number * LABEL_HEIGHT,
            escaped(&shortened(&loss.element, MAX_LABEL)),
        );
    }
    let failed: u64 = report.series.iter().map(|slice| slice.failed).sum();
    let legend = match failed {
        0 => "line: throughput; no operation failed".to_owned(),
        _ => format!(
            "line: throughput; bars: operations that failed, {failed} in all, at most {most_failed} in {}",
            time(report.slice_ms)
        ),
    };
    let _ =
        writeln!(svg, "<text x=\"{LEFT}\" y=\"{}\" fill=\"#444444\">{legend}</text>\n</svg>", HEIGHT - 10);
    svg
}

/// The end of the axis of throughput: above the highest value there is room for labels, and each part is 1, 2, 2.5, 3, 4 or 5 times a power
/// of ten.
fn axis_end(highest: u64) -> u64 {
    let least = (highest.saturating_add(highest / 5) / PARTS).max(1);
    let mut unit = 1_u64;
    loop {
        let next = unit.saturating_mul(10);
        let times = |number: u64| unit.saturating_mul(number);
        let parts = [unit, times(2), next / 4, times(3), times(4), times(5), next];
        if let Some(part) = parts.into_iter().find(|part| *part >= least) {
            return part.saturating_mul(PARTS);
        }
        unit = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_ends_above_the_highest_value_at_a_round_number() {
        for (highest, end) in
            [(0, 4), (1, 4), (80, 100), (100, 120), (1_077_000_000, 1_600_000_000), (u64::MAX, u64::MAX)]
        {
            assert_eq!(axis_end(highest), end, "{highest}");
        }
    }
}
