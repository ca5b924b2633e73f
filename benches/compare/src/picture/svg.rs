//! Panels with curves, as SVG.

use super::axis::{LogAxis, label};
use crate::scenario::Bytes;
use std::fmt::Write;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 440.0;
/// Edges of the plots on the page, without their titles, marks and legends.
const TOP: f64 = 56.0;
const BOTTOM: f64 = 300.0;
const PLOT_WIDTH: f64 = 390.0;
const LEFTS: [f64; 2] = [70.0, 550.0];
const LEGEND_TOP: f64 = 364.0;
const LEGEND_STEP: f64 = 18.0;
const LEGEND_COLUMN: f64 = 200.0;
const LEGEND_ROWS: usize = 4;

/// Colours that readers with colour blindness can distinguish, each with its own shape; they suit both backgrounds.
const STYLES: [(&str, &str); 5] = [
    ("#e8590c", "M-4-4H4V4H-4Z"),
    ("#868e96", "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0-4 0Z"),
    ("#1c8ad6", "M0-5L5 4H-5Z"),
    ("#6a5acd", "M0 5L5-4H-5Z"),
    ("#0ca678", "M0-5.5L5.5 0L0 5.5L-5.5 0Z"),
];

/// Text and lines follow the reader's choice of a light or a dark page.
const STYLE_SHEET: &str = "\
text{font:12px sans-serif;fill:#24292f}.title{font-size:14px;font-weight:bold}.page{fill:#fff}\
.grid{stroke:#d0d7de;stroke-width:1}.curve{fill:none;stroke-width:2}.span{stroke:#868e96;stroke-width:2}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117}.grid{stroke:#30363d}}";

/// A plot over the size of messages.
pub(super) struct Panel {
    pub(super) title: &'static str,
    pub(super) unit: &'static str,
    pub(super) curves: Vec<Curve>,
}

pub(super) struct Curve {
    pub(super) name: String,
    /// Index of the curve's style, the same in all panels.
    pub(super) style: usize,
    /// Pairs of size and value.
    pub(super) points: Vec<(usize, f64)>,
}

pub(super) fn draw(panels: [Panel; 2], sizes: &[usize]) -> String {
    let mut svg = begin(WIDTH, HEIGHT);
    for (panel, left) in panels.iter().zip(LEFTS) {
        draw_panel(&mut svg, panel, left, sizes);
    }
    end(&mut svg);
    svg
}

/// Begins a picture, with its styles and its page.
pub(super) fn begin(width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\">\n<style>{STYLE_SHEET}</style>\n\
         <rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\n"
    )
}

pub(super) fn end(svg: &mut String) {
    svg.push_str("</svg>\n");
}

fn draw_panel(svg: &mut String, panel: &Panel, left: f64, sizes: &[usize]) {
    let right = left + PLOT_WIDTH;
    text(svg, left, TOP - 30.0, "start", "title", panel.title);
    text(svg, left, TOP - 12.0, "start", "", panel.unit);
    let values = panel.curves.iter().flat_map(|curve| curve.points.iter().map(|(_, value)| *value));
    let bounds = sizes.iter().min().zip(sizes.iter().max());
    let axis = bounds.and_then(|(low, high)| LogAxis::new(*low as f64, *high as f64, left, right));
    let Some((x, y)) = axis.zip(LogAxis::around(values, BOTTOM, TOP)) else {
        text(svg, left, f64::midpoint(TOP, BOTTOM), "start", "", "nothing was measured");
        return;
    };
    for &size in sizes {
        let place = x.place(size as f64);
        grid_line(svg, [place, TOP], [place, BOTTOM]);
        text(svg, place, BOTTOM + 18.0, "middle", "", &Bytes(size).to_string());
    }
    for mark in y.marks() {
        let place = y.place(mark);
        grid_line(svg, [left, place], [right, place]);
        text(svg, left - 6.0, place + 4.0, "end", "", &label(mark));
    }
    text(svg, right, BOTTOM + 36.0, "end", "", "size of a message");
    for (number, curve) in panel.curves.iter().enumerate() {
        draw_curve(svg, curve, &x, &y);
        let (column, row) = (number / LEGEND_ROWS, number % LEGEND_ROWS);
        let (at, height) = (left + column as f64 * LEGEND_COLUMN, LEGEND_TOP + row as f64 * LEGEND_STEP);
        marker(svg, curve.style, at + 6.0, height - 4.0);
        text(svg, at + 18.0, height, "start", "", &curve.name);
    }
}

fn draw_curve(svg: &mut String, curve: &Curve, x: &LogAxis, y: &LogAxis) {
    let place = |&(size, value): &(usize, f64)| (x.place(size as f64), y.place(value));
    let places: Vec<(f64, f64)> = curve.points.iter().map(place).collect();
    let line: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let (color, _) = style(curve.style);
    let _ = writeln!(svg, "<polyline class=\"curve\" stroke=\"{color}\" points=\"{}\"/>", line.join(" "));
    for (x, y) in places {
        marker(svg, curve.style, x, y);
    }
}

fn style(number: usize) -> (&'static str, &'static str) {
    STYLES.get(number % STYLES.len()).copied().unwrap_or_default()
}

pub(super) fn marker(svg: &mut String, number: usize, x: f64, y: f64) {
    let (color, shape) = style(number);
    let _ = writeln!(svg, "<path transform=\"translate({x:.1} {y:.1})\" d=\"{shape}\" fill=\"{color}\"/>");
}

pub(super) fn grid_line(svg: &mut String, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) {
    let _ =
        writeln!(svg, "<line class=\"grid\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>");
}

pub(super) fn text(svg: &mut String, x: f64, y: f64, anchor: &str, class: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{words}</text>"
    );
}
