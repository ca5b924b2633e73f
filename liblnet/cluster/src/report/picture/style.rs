//! The looks of pictures: colours for light and dark, signs, and the legend.

use super::graph::Status;
use crate::checks::Severity;

/// The space at the edges.
pub(super) const MARGIN: u32 = 20;

/// A size of text, in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Font {
    /// Names: 13, bold.
    Bold,
    /// Other texts: 13.
    Plain,
    /// Labels of lines: 12.
    Small,
}

/// The width in which a text has room in the usual fonts, of which DejaVu Sans has the widest characters.
pub(super) fn width(text: &str, font: Font) -> u32 {
    // In thousandths of the size.
    let of_character = |character: char| match character {
        ' ' | '!' | '\'' | ',' | '.' | ':' | ';' | 'I' | '|' | 'f' | 'i' | 'j' | 'l' => 400,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '\u{2026}' | '\u{2192}' => 1050,
        'A'..='Z' | '+' | '<' | '=' | '>' | '~' | '#' | '&' => 860,
        '\0'..='\u{24f}' => 660,
        _ => 1100,
    };
    let (tenths, size) = match font {
        Font::Bold => (11, 13),
        Font::Plain => (10, 13),
        Font::Small => (10, 12),
    };
    let thousandths: u32 = text.chars().map(of_character).sum();
    (thousandths * tenths * size).div_ceil(10_000)
}

/// The colours of lines and edges in light, which Graphviz has, too.
pub(super) const SOUND: &str = "#56606b";
pub(super) const SINGLE: &str = "#c25e00";
pub(super) const BROKEN: &str = "#d62728";
/// The colour of nets.
pub(super) const NET: &str = "#1f77b4";

/// The rules of the SVG. Colours have a contrast of at least 4.5 to what is behind them.
pub(super) const RULES: &str = "\
    text{font-family:system-ui,'DejaVu Sans',sans-serif;font-size:13px;fill:#1b1f24}\
    .title{font-size:15px}.name{font-weight:bold}.detail{fill:#4a525b}.small{font-size:12px;text-anchor:middle}\
    .error{fill:#b3161d}.warning{fill:#8a4600}.note{fill:#4a525b}\
    .paper{fill:#fff}\
    .end{fill:#f3f5f7}.router{fill:#e6f0fa}.missing{fill:#fdecec;stroke-dasharray:6 4}.switch{fill:#eef6ee}\
    .label{fill:#fff;stroke-width:1}\
    .sound{stroke:#56606b;stroke-width:1.5}.single{stroke:#c25e00;stroke-width:3}.broken{stroke:#d62728;stroke-width:3}\
    path.broken{stroke-dasharray:8 5}path{fill:none}\
    .net{fill:#1f77b4}.net-single{fill:#c25e00}.net-broken{fill:#d62728}\
    circle{stroke:#fff;stroke-width:1.5}.at-sound{fill:#56606b}.at-single{fill:#c25e00}.at-broken{fill:#d62728}\
    .rule{stroke:#d0d5da;stroke-width:1}\
    @media(prefers-color-scheme:dark){\
    text{fill:#e8eaed}.detail,.note{fill:#b4bcc5}.error{fill:#ff8a8a}.warning{fill:#ffb366}\
    .paper{fill:#16191d}.end{fill:#24292f}.router{fill:#1b3047}.missing{fill:#3a1d1f}.switch{fill:#1f3324}.label{fill:#16191d}\
    .sound{stroke:#9aa4af}.single{stroke:#ff9f40}.broken{stroke:#ff6b6b}\
    .net{fill:#4f9fd8}.net-single{fill:#ff9f40}.net-broken{fill:#ff6b6b}\
    circle{stroke:#16191d}.at-sound{fill:#9aa4af}.at-single{fill:#ff9f40}.at-broken{fill:#ff6b6b}.rule{stroke:#3d444c}}";

/// The word of a state, which is also its class in the rules.
pub(super) const fn word(status: Status) -> &'static str {
    match status {
        Status::Sound => "sound",
        Status::Single => "single",
        Status::Broken => "broken",
    }
}

/// The colour of a state in light.
pub(super) const fn colour(status: Status) -> &'static str {
    match status {
        Status::Sound => SOUND,
        Status::Single => SINGLE,
        Status::Broken => BROKEN,
    }
}

/// The sign of a severity, for those who do not see its colour.
pub(super) const fn sign(severity: Severity) -> char {
    match severity {
        Severity::Error => '\u{2716}',
        Severity::Warning => '\u{25b2}',
        Severity::Note => '\u{25cf}',
    }
}

/// A sample of the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sample {
    Net,
    Nodes,
    Router,
    Missing,
    Line(Status),
    Sign(Severity),
}

/// The legend: samples and their meanings.
const LEGEND: [(Sample, &str); 10] = [
    (Sample::Net, "net"),
    (Sample::Nodes, "nodes of a class"),
    (Sample::Router, "router"),
    (Sample::Missing, "missing"),
    (Sample::Line(Status::Sound), "works"),
    (Sample::Line(Status::Single), "single point of failure"),
    (Sample::Line(Status::Broken), "broken path"),
    (Sample::Sign(Severity::Error), "error"),
    (Sample::Sign(Severity::Warning), "warning"),
    (Sample::Sign(Severity::Note), "note"),
];

impl Sample {
    /// The width of the sample with the space to its meaning.
    pub(super) const fn width(self) -> u32 {
        match self {
            Self::Sign(_) => 18,
            _ => 38,
        }
    }
}

/// The rows of the legend in a picture of this width: horizontal position, sample, meaning.
pub(super) fn legend_rows(width: u32) -> Vec<Vec<(u32, Sample, &'static str)>> {
    let width_of = |meaning| self::width(meaning, Font::Plain);
    let mut rows = vec![Vec::new()];
    let mut x = MARGIN;
    for (sample, meaning) in LEGEND {
        let its = sample.width() + width_of(meaning) + 20;
        if x + its > width - MARGIN / 2 && x > MARGIN {
            rows.push(Vec::new());
            x = MARGIN;
        }
        if let Some(row) = rows.last_mut() {
            row.push((x, sample, meaning));
        }
        x += its;
    }
    rows
}
