//! What an operation over the InfiniBand driver makes the devices do, which a model of devices counts in `o2ib-path`.

use super::Cost;
use crate::error::{Error, context};
use std::path::Path;
use std::process::Command;

/// Operations to be run: see `benches/o2ib-path`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    name: &'static str,
    /// The arguments before and after the number of operations.
    arguments: [&'static str; 2],
}

pub(super) const WORK: [Work; 6] = [
    Work { name: "PUT of 8 B with ACK", arguments: ["put 8", "kept"] },
    Work { name: "GET of 8 B with REPLY", arguments: ["get 8", "kept"] },
    Work { name: "PUT of 1 MiB with ACK, one MD", arguments: ["put 1048576", "kept"] },
    Work { name: "GET of 1 MiB with REPLY, one MD", arguments: ["get 1048576", "kept"] },
    Work { name: "PUT of 1 MiB with ACK, MD for each", arguments: ["put 1048576", "fresh"] },
    Work { name: "GET of 1 MiB with REPLY, MD for each", arguments: ["get 1048576", "fresh"] },
];

/// The counts, in the order in which they are printed.
const COUNTS: [&str; 6] =
    ["doorbells", "work requests", "completions", "receives posted", "registrations", "deregistrations"];
const OPERATIONS: u32 = 1000;

impl Work {
    pub(super) fn names(self) -> [String; 6] {
        COUNTS.map(|count| format!("{count} over o2ib, {}", self.name))
    }
}

pub(super) fn count(program: &Path, work: Work) -> Result<Vec<Cost>, Error> {
    let [before, after] = work.arguments;
    let mut command = Command::new(program);
    command.args(before.split(' ')).args([&OPERATIONS.to_string(), after]);
    let output = command.output().map_err(context("o2ib-path"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let figures = figures(&text).filter(|_| output.status.success()).ok_or_else(|| {
        let errors = String::from_utf8_lossy(&output.stderr);
        format!("{}: o2ib-path: {}: {text}{errors}", work.name, output.status)
    })?;
    Ok(work.names().into_iter().zip(figures).map(|(name, figure)| Cost { name, figure }).collect())
}

/// Reads the figures of all counts, one a line.
fn figures(text: &str) -> Option<Vec<f64>> {
    let of_line = |(line, count): (&str, &str)| line.strip_prefix(count)?.trim().parse().ok();
    let figures: Option<Vec<f64>> = text.lines().zip(COUNTS).map(of_line).collect();
    figures.filter(|figures| figures.len() == COUNTS.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_all_counts_are_read() {
        let text =
            "doorbells 2.000\nwork requests 3.001\ncompletions 4\nreceives posted 2\nregistrations 0.5\n";
        let all = format!("{text}deregistrations 0.000\n");
        assert_eq!(figures(&all), Some(vec![2.0, 3.001, 4.0, 2.0, 0.5, 0.0]));
        assert_eq!(figures(text), None);
        assert_eq!(figures(&all.replace("completions", "doorbells")), None);
    }
}
