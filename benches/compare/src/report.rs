//! The report, in Markdown, and its place in the document.

use crate::attached;
use crate::delays::{Percentiles, RANKS};
use crate::error::{Error, context};
use crate::lnet;
use crate::machine;
use crate::memory::Memory;
use crate::options::Options;
use crate::results::{Entry, Measured, Results, Row};
use crate::router_report;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A part of the document that is replaced, between two marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Measured,
    ManyPeers,
    Routing,
    Sharing,
    Selftest,
}

impl Section {
    const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::ManyPeers => "many peers",
            Self::Routing => "routing",
            Self::Sharing => "sharing",
            Self::Selftest => "selftest",
        }
    }

    fn marks(self) -> [String; 2] {
        ["begin", "end"].map(|end| format!("<!-- {}: {end} -->", self.name()))
    }
}

/// The contestant that the others in a table are compared with.
#[derive(Clone, Copy, Debug)]
enum Reference {
    Lnet,
    /// LNet through a router; the table has a column for the process between.
    Router,
    /// LNet of two programs that are attached to one node, which is between them.
    Attached,
}

impl Reference {
    const fn name(self) -> &'static str {
        match self {
            Self::Lnet => lnet::NAME,
            Self::Router => lnet::ROUTED,
            Self::Attached => attached::NAME,
        }
    }

    const fn heading(self) -> &'static str {
        match self {
            Self::Lnet => {
                "| what | who | median | spread | LNet ÷ this | spread | CPU, both sides |\n\
                 |---|---|---|---|---|---|---|\n"
            }
            Self::Router => {
                "| what | who | median | spread | LNet, router ÷ this | spread | CPU, all | CPU of the one between |\n\
                 |---|---|---|---|---|---|---|---|\n"
            }
            Self::Attached => {
                "| what | who | median | spread | programs on one node ÷ this | spread | CPU, all | CPU of the nodes between |\n\
                 |---|---|---|---|---|---|---|---|\n"
            }
        }
    }
}

/// All results. Fields without a value were not requested.
pub(crate) struct Findings<'a> {
    pub(crate) results: &'a Results,
    pub(crate) memory: Option<Result<Memory, Error>>,
}

pub(crate) fn markdown(findings: &Findings<'_>, options: &Options) -> String {
    let results = findings.results;
    let mut text = comparison(results, Reference::Lnet, options);
    delay_rows(&mut text, results);
    match &findings.memory {
        Some(Ok(memory)) => memory_rows(&mut text, memory),
        Some(Err(error)) => {
            let _ = writeln!(text, "\nMemory: failed: {error}.");
        }
        None => {}
    }
    text
}

/// Returns the part about programs of one machine.
pub(crate) fn sharing(results: &Results, options: &Options) -> String {
    let mut text = comparison(results, Reference::Attached, options);
    delay_rows(&mut text, results);
    text
}

/// Returns the part about routers.
pub(crate) fn routing(results: &Results, options: &Options) -> String {
    comparison(results, Reference::Router, options) + &router_report::aims(&results.rows)
}

/// Returns the facts, and the table.
fn comparison(results: &Results, reference: Reference, options: &Options) -> String {
    let mut text = machine::facts(options);
    let rounds = options.rounds;
    let seconds = options.duration.as_secs_f64();
    let _ = write!(
        text,
        "\n{rounds} rounds, about {seconds} s for each measurement. Spreads are the least and the most of all rounds.\n\
         Of {} samples, {} were taken while other programs took more than a twentieth of the machine.\n\n",
        results.disturbance.samples, results.disturbance.disturbed
    );
    text.push_str(reference.heading());
    for row in &results.rows {
        comparison_rows(&mut text, row, reference);
    }
    text
}

fn comparison_rows(text: &mut String, row: &Row, reference: Reference) {
    let scenario = row.scenario;
    let ours = row.of(reference.name());
    let last = |between: Option<f64>| match reference {
        Reference::Lnet => String::new(),
        Reference::Router | Reference::Attached => {
            format!(" {} |", between.map_or_else(String::new, |cpu| scenario.show_cpu(cpu)))
        }
    };
    for (number, Entry { name, outcome }) in row.entries.iter().enumerate() {
        let what = if number == 0 { scenario.to_string() } else { String::new() };
        let Measured { value: summary, cpu, between, .. } = match outcome {
            Ok(measured) => measured,
            Err(error) => {
                let _ =
                    writeln!(text, "| {what} | {name} | failed: {} |  |  |  |  |{}", cell(error), last(None));
                continue;
            }
        };
        let ratio = ours.filter(|_| *name != reference.name()).and_then(|ours| ours.value.ratio_to(summary));
        let (ratio, ratio_spread) = ratio.map_or_else(Default::default, |ratio| {
            (format!("{:.2}", ratio.median), format!("{:.2} to {:.2}", ratio.least, ratio.most))
        });
        let _ = writeln!(
            text,
            "| {what} | {name} | {} | {} to {} | {ratio} | {ratio_spread} | {} |{}",
            scenario.show(summary.median),
            scenario.show(summary.least),
            scenario.show(summary.most),
            cpu.map_or_else(String::new, |cpu| scenario.show_cpu(cpu)),
            last(*between),
        );
    }
}

/// The delays of single round trips, of those who say them.
fn delay_rows(text: &mut String, results: &Results) {
    let delays = |row: &Row| -> Vec<(&'static str, Percentiles)> {
        let found = row.entries.iter().filter_map(|it| Some((it.name, it.outcome.as_ref().ok()?.delays?)));
        found.collect()
    };
    let rows = results.rows.iter().map(|row| (row.scenario, delays(row)));
    let rows: Vec<_> = rows.filter(|(_, delays)| !delays.is_empty()).collect();
    if rows.is_empty() {
        return;
    }
    let heading: String = RANKS.iter().map(|rank| format!(" {rank} % within |")).collect();
    let _ = write!(text, "\n| what | who |{heading}\n|---|---|---|---|---|\n");
    for (scenario, delays) in rows {
        for (number, (name, Percentiles(delays))) in delays.into_iter().enumerate() {
            let what = if number == 0 { scenario.to_string() } else { String::new() };
            let cells: String = delays.iter().map(|delay| format!(" {} |", scenario.show(*delay))).collect();
            let _ = writeln!(text, "| {what} | {name} |{cells}");
        }
    }
}

/// Formats an error as one cell of a table.
pub(crate) fn cell(error: &str) -> String {
    error.replace('|', "/").replace('\n', " ")
}

fn memory_rows(text: &mut String, memory: &Memory) {
    let kib = |bytes: u64| format!("{:.1} KiB", bytes as f64 / 1024.0);
    let each = |bytes: u64| kib(bytes / memory.connections.max(1));
    let (idle, added) = (memory.idle, memory.added);
    let _ = write!(
        text,
        "\n| memory | resident | of which not from files |\n|---|---|---|\n\
         | an idle node, one interface, {} threads | {} | {} |\n\
         | each of {} TCP connections with {} peers | {} | {} |\n",
        memory.idle_threads,
        kib(idle.all),
        kib(idle.anonymous),
        memory.connections,
        memory.peers,
        each(added.all),
        each(added.anonymous),
    );
    if memory.allocations.is_empty() {
        return;
    }
    text.push_str("\n| allocations for each operation | asking side | serving side |\n|---|---|---|\n");
    for (scenario, allocations) in &memory.allocations {
        let _ = writeln!(text, "| {scenario} | {:.4} | {:.4} |", allocations.here, allocations.there);
    }
}

/// Puts the report between the two marks of a section.
pub(crate) fn replace_section(path: &Path, section: Section, report: &str) -> Result<(), Error> {
    let name = path.display().to_string();
    let document = fs::read_to_string(path).map_err(context(&name))?;
    let lacks = || format!("{name}: lacks {}", section.marks().join(" and "));
    let replaced = replaced(&document, section, report).ok_or_else(lacks)?;
    fs::write(path, replaced).map_err(context(&name))
}

fn replaced(document: &str, section: Section, report: &str) -> Option<String> {
    let [begin, end] = section.marks();
    let (before, rest) = document.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{report}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use crate::statistics::Summary;

    #[test]
    fn a_report_replaces_what_is_between_the_marks_and_nothing_else() {
        for section in [Section::Measured, Section::Routing] {
            let [first, last] = [Section::Measured, Section::Routing].map(|it| {
                let [begin, end] = it.marks();
                move |text: &str| format!("{begin}\n{text}\n{end}")
            });
            let document = format!("head\n{}\n{}\ntail\n", first("old"), last("old"));
            let [measured, routing] =
                [Section::Measured, Section::Routing].map(|it| if it == section { "new" } else { "old" });
            let expected = format!("head\n{}\n{}\ntail\n", first(measured), last(routing));
            assert_eq!(replaced(&document, section, "new\n"), Some(expected));
        }
    }

    #[test]
    fn a_document_without_marks_is_left_alone() {
        let [begin, end] = Section::Measured.marks();
        for document in ["", &begin, &end] {
            assert_eq!(replaced(document, Section::Measured, "new\n"), None, "{document}");
        }
    }

    #[test]
    fn ratios_stand_beside_the_others_only() {
        let scenario = Scenario::RoundTrip { size: 8 };
        let measured = |value, cpu| measured(value, cpu, None);
        let entries = vec![
            Entry { name: lnet::NAME, outcome: measured(30.0, Some(2e-6)) },
            Entry { name: "raw TCP", outcome: measured(20.0, None) },
            Entry { name: "UCX tag", outcome: Err("timed | out".into()) },
        ];
        let mut text = String::new();
        comparison_rows(&mut text, &Row { scenario, entries }, Reference::Lnet);
        assert_eq!(
            text,
            "| round trip, 8 B | LNet | 30.0 µs | 30.0 µs to 30.0 µs |  |  | 2.00 s/million |\n\
             |  | raw TCP | 20.0 µs | 20.0 µs to 20.0 µs | 1.50 | 1.50 to 1.50 |  |\n\
             |  | UCX tag | failed: timed / out |  |  |  |  |\n"
        );
    }

    fn measured(value: f64, cpu: Option<f64>, between: Option<f64>) -> Result<Measured, Error> {
        let value = Summary { samples: vec![value], median: value, least: value, most: value };
        Ok(Measured { value, cpu, between, delays: None })
    }

    #[test]
    fn what_a_router_costs_stands_beside_what_a_relay_costs() {
        let scenario = Scenario::RoundTrip { size: 8 };
        let entries = vec![
            Entry { name: lnet::ROUTED, outcome: measured(30.0, Some(3e-6), Some(1e-6)) },
            Entry { name: lnet::NAME, outcome: measured(15.0, Some(2e-6), None) },
            Entry { name: "relay", outcome: Err("no".into()) },
        ];
        let mut text = String::new();
        comparison_rows(&mut text, &Row { scenario, entries }, Reference::Router);
        assert_eq!(
            text,
            "| round trip, 8 B | LNet, router | 30.0 µs | 30.0 µs to 30.0 µs |  |  | 3.00 s/million | 1.00 s/million |\n\
             |  | LNet | 15.0 µs | 15.0 µs to 15.0 µs | 2.00 | 2.00 to 2.00 | 2.00 s/million |  |\n\
             |  | relay | failed: no |  |  |  |  |  |\n"
        );
    }
}
