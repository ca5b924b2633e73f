//! What was measured, as a table.

use std::fmt::Write;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Microseconds,
    MibPerSecond,
    PerSecond,
}

#[derive(Debug)]
pub(crate) struct Row {
    what: &'static str,
    who: &'static str,
    unit: Unit,
    pub(crate) samples: Vec<f64>,
}

impl Row {
    pub(crate) const fn new(what: &'static str, who: &'static str, unit: Unit) -> Self {
        Self { what, who, unit, samples: Vec::new() }
    }
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::Microseconds => format!("{value:.1} µs"),
            Self::MibPerSecond => format!("{value:.0} MiB/s"),
            Self::PerSecond => format!("{value:.0}/s"),
        }
    }
}

pub(crate) fn markdown<'a>(rows: impl Iterator<Item = &'a Row>, rounds: usize, clients: usize) -> String {
    let mut out = format!(
        "{rounds} rounds, {clients} clients\n\n| what | who | median | least to most |\n|---|---|---|---|\n"
    );
    for row in rows {
        let mut sorted = row.samples.clone();
        sorted.sort_by(f64::total_cmp);
        let [least, median, most] =
            [0, sorted.len() / 2, sorted.len() - 1].map(|at| row.unit.show(sorted[at]));
        let _ = writeln!(out, "| {} | {} | {median} | {least} to {most} |", row.what, row.who);
    }
    out
}
