//! The report, in Markdown, and its place in the document.

use crate::error::{Error, context};
use crate::lnet;
use crate::machine;
use crate::memory::Memory;
use crate::options::Options;
use crate::results::Results;
use crate::scenario::Scenario;
use crate::statistics::Summary;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const BEGIN: &str = "<!-- measured: begin -->";
const END: &str = "<!-- measured: end -->";

pub(crate) fn markdown(results: &Results, memory: Option<&Memory>, options: &Options) -> String {
    let mut text = machine::facts();
    let rounds = options.rounds;
    let seconds = options.duration.as_secs_f64();
    let _ = write!(
        text,
        "\n{rounds} rounds, about {seconds} s for each measurement. Spreads are the least and the most of all rounds.\n\
         Of {} samples, {} were taken while other programs took more than a twentieth of the machine.\n\n",
        results.disturbance.samples, results.disturbance.disturbed
    );
    text.push_str("| what | who | median | spread | LNet ÷ this | spread |\n|---|---|---|---|---|---|\n");
    for (scenario, entries) in &results.scenarios {
        comparison_rows(&mut text, *scenario, entries);
    }
    if let Some(memory) = memory {
        memory_rows(&mut text, memory);
    }
    text
}

fn comparison_rows(text: &mut String, scenario: Scenario, entries: &[(&str, Summary)]) {
    let lnet = entries.iter().find(|(name, _)| *name == lnet::NAME);
    for (number, (name, summary)) in entries.iter().enumerate() {
        let what = if number == 0 { scenario.to_string() } else { String::new() };
        let ratio = match lnet {
            Some((_, lnet)) if *name != lnet::NAME => lnet.ratio_to(summary),
            _ => None,
        };
        let (ratio, ratio_spread) = ratio.map_or_else(Default::default, |ratio| {
            (format!("{:.2}", ratio.median), format!("{:.2} to {:.2}", ratio.least, ratio.most))
        });
        let _ = writeln!(
            text,
            "| {what} | {} | {} | {} to {} | {ratio} | {ratio_spread} |",
            name,
            scenario.show(summary.median),
            scenario.show(summary.least),
            scenario.show(summary.most),
        );
    }
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

/// Puts the report between the two marks of a document.
pub(crate) fn replace_section(path: &Path, report: &str) -> Result<(), Error> {
    let name = path.display().to_string();
    let document = fs::read_to_string(path).map_err(context(&name))?;
    let replaced = replaced(&document, report).ok_or_else(|| format!("{name}: lacks {BEGIN} and {END}"))?;
    fs::write(path, replaced).map_err(context(&name))
}

fn replaced(document: &str, report: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{report}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_replaces_what_is_between_the_marks_and_nothing_else() {
        let document = format!("head\n{BEGIN}\nold\n{END}\ntail\n");
        let expected = format!("head\n{BEGIN}\nnew\n{END}\ntail\n");
        assert_eq!(replaced(&document, "new\n"), Some(expected));
    }

    #[test]
    fn a_document_without_marks_is_left_alone() {
        for document in ["", BEGIN, END] {
            assert_eq!(replaced(document, "new\n"), None, "{document}");
        }
    }

    #[test]
    fn ratios_stand_beside_the_others_only() {
        let scenario = Scenario::RoundTrip { size: 8 };
        let summary = |value| Summary { samples: vec![value], median: value, least: value, most: value };
        let entries = [(lnet::NAME, summary(30.0)), ("raw TCP", summary(20.0))];
        let mut text = String::new();
        comparison_rows(&mut text, scenario, &entries);
        assert_eq!(
            text,
            "| round trip, 8 B | LNet | 30.0 µs | 30.0 µs to 30.0 µs |  |  |\n\
             |  | raw TCP | 20.0 µs | 20.0 µs to 20.0 µs | 1.50 | 1.50 to 1.50 |\n"
        );
    }
}
