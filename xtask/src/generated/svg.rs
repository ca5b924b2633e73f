//! What the pictures of rails that fail have in common: their colours, their frame and their legend.

use std::fmt::Write as _;

/// The colours of this library and of the kernel.
pub(super) const HERE: &str = "#2a78b8";
pub(super) const KERNEL: &str = "#c46a2c";
/// The width of a picture.
const WIDTH: u32 = 780;

/// Begins a picture: its description for those who do not see it, and its title.
pub(super) fn begin(height: f64, description: &str, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"13\" role=\"img\" \
         aria-label=\"{description}\">\n  <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n  \
         <text x=\"10\" y=\"20\">{title}</text>\n"
    )
}

/// Adds a legend: each colour with its meaning, at its horizontal position.
pub(super) fn legend(svg: &mut String, entries: &[(f64, &str, &str)]) {
    for (x, colour, meaning) in entries {
        _ = writeln!(
            svg,
            "  <rect x=\"{x}\" y=\"30\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\n  <text x=\"{}\" y=\"41\">{meaning}</text>",
            x + 18.0
        );
    }
}
