//! The measurements as a table.

use std::fmt::Write;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Microseconds,
    MibPerSecond,
    PerSecond,
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) what: &'static str,
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

/// Formats the results. The last column is the ratio of RPC to the row: the median of the ratios of each round, because a busy
/// machine slows down a whole round.
pub(crate) fn markdown(rows: &[&Row], rounds: usize, clients: usize) -> String {
    let mut out = format!(
        "{rounds} rounds, {clients} clients\n\n\
         | what | who | median | quarter to three quarters | RPC / this |\n|---|---|---|---|---|\n"
    );
    for row in rows {
        let [low, median, high] = quartiles(&row.samples).map(|value| row.unit.show(value));
        let rpc = rows.iter().find(|other| other.what == row.what && other.who == "RPC" && row.who != "RPC");
        let share = rpc.map_or(String::new(), |rpc| {
            let shares: Vec<f64> =
                rpc.samples.iter().zip(&row.samples).map(|(rpc, this)| rpc / this).collect();
            format!("{:.2}", quartiles(&shares)[1])
        });
        let _ = writeln!(out, "| {} | {} | {median} | {low} to {high} | {share} |", row.what, row.who);
    }
    out
}

fn quartiles(values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarters| sorted[(sorted.len() * quarters / 4).min(sorted.len() - 1)])
}
