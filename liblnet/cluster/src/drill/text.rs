//! Reports of drills as text for people.

use super::report::{
    DrillReport, DrillSurvey, InterfaceReport, InterfaceTraffic, Operations, PathReport, PathShown, Phase,
};
use super::units::per_second;
use crate::text::printable;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

/// The most candidates of a path that are shown with the reason against them.
const MAX_PASSED_OVER: usize = 4;

/// The report as text, with a line end behind it.
pub fn drill(report: &DrillReport) -> String {
    let mut text = String::new();
    let losses: Vec<String> =
        report.losses.iter().map(|loss| format!("{} lost at {}", loss.element, time(loss.at_ms))).collect();
    let losses = if losses.is_empty() { "nothing lost".to_owned() } else { losses.join(", ") };
    line(&mut text, &format!("drill: {losses}; {} for {}", report.load, time(report.duration_ms)));
    let samples: Vec<String> = report
        .samples
        .iter()
        .map(|sample| format!("{} {} of {}", sample.class, sample.simulated, sample.nodes))
        .collect();
    line(&mut text, &format!("simulated: {}", samples.join(", ")));
    line(&mut text, &format!("each interface carries {}", rate(report.interface_rate)));
    for left_out in &report.left_out {
        line(&mut text, &format!("not simulated: {left_out}"));
    }
    line(&mut text, "");
    line(&mut text, &counts(&report.operations));
    line(&mut text, &stall(&report.operations));
    line(&mut text, "");
    text.push_str(&phases(report));
    line(&mut text, "");
    text.push_str(&pairs(report));
    text.push_str(&traffic(report));
    text.push_str(&paths(report));
    line(&mut text, &format!("repeat: {}", report.repeat));
    text
}

/// The survey as text: a table of all elements, and the report of the worst.
pub fn survey(survey: &DrillSurvey) -> String {
    let mut rows =
        vec![row(&["element", "failed", "no end", "delayed", "longest success", "no success", "throughput"])];
    for element in &survey.elements {
        let its = &element.operations;
        rows.push(vec![
            element.element.clone(),
            its.failed.to_string(),
            its.lost.to_string(),
            its.delayed.to_string(),
            longest_done(its),
            without_success(its),
            element.throughput_after_percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent} %")),
        ]);
    }
    let harmless = survey.elements.iter().filter(|its| its.operations.all_succeeded()).count();
    format!(
        "drills: each {} lost in turn, {} of them; {harmless} cost no operation\n\n{}\nthe worst:\n\n{}",
        survey.kind.word(),
        survey.elements.len(),
        table(&rows),
        drill(&survey.worst),
    )
}

/// One sentence about the operations.
fn counts(operations: &Operations) -> String {
    let Operations { begun, done, failed, lost, to_lost_node, of_lost_node, .. } = operations;
    let mut text = format!("operations: {begun} begun, {done} done, {failed} failed, {lost} lost");
    if *to_lost_node > 0 {
        let _ = write!(text, "; {to_lost_node} more failed whose target was lost");
    }
    if *of_lost_node > 0 {
        let _ = write!(text, "; {of_lost_node} were in flight on the node that was lost");
    }
    text
}

fn stall(operations: &Operations) -> String {
    let delayed = match operations.delayed {
        0 => "no operation took longer than 1 s".to_owned(),
        1 => "1 operation took longer than 1 s".to_owned(),
        delayed => format!("{delayed} operations took longer than 1 s"),
    };
    let mut text = match operations.done {
        0 => format!("stall: {delayed}; none succeeded"),
        _ => format!("stall: {delayed}; the longest that succeeded took {}", longest_done(operations)),
    };
    if operations.longest_failed_ms > 0 {
        let _ = write!(text, ", the longest that failed {}", time(operations.longest_failed_ms));
    }
    let _ = write!(text, "; the longest time of a node without success was {}", without_success(operations));
    text
}

/// The duration of the longest operation that succeeded, if any did.
fn longest_done(operations: &Operations) -> String {
    if operations.done == 0 { "-".to_owned() } else { time(operations.longest_done_ms) }
}

fn without_success(operations: &Operations) -> String {
    let until = if operations.without_success_until_end { ", until the end" } else { "" };
    time(operations.longest_without_success_ms) + until
}

fn phases(report: &DrillReport) -> String {
    let mut rows = vec![row(&["", "from", "until", "done", "failed", "throughput"])];
    for phase in report.phases.iter().filter(|its| its.until_ms > its.from_ms) {
        rows.push(vec![
            phase.phase.word().to_owned(),
            time(phase.from_ms),
            time(phase.until_ms),
            phase.done.to_string(),
            phase.failed.to_string(),
            rate(phase.bytes_per_second),
        ]);
    }
    table(&rows)
}

/// The operations between pairs of classes, if there are several.
fn pairs(report: &DrillReport) -> String {
    if report.pairs.len() < 2 {
        return String::new();
    }
    let mut rows = vec![row(&["from", "to", "done", "failed", "lost", "delayed", "longest success"])];
    for pair in &report.pairs {
        let its = &pair.operations;
        rows.push(vec![
            pair.from.clone(),
            pair.to.clone(),
            its.done.to_string(),
            its.failed.to_string(),
            its.lost.to_string(),
            its.delayed.to_string(),
            longest_done(its),
        ]);
    }
    table(&rows) + "\n"
}

/// The traffic of interfaces: each of those of a node that has lost one, and otherwise the mean of those that are alike.
fn traffic(report: &DrillReport) -> String {
    let lengths = Phase::ALL.map(|phase| report.phase(phase).map_or(0, |its| its.until_ms - its.from_ms));
    let mut head = row(&["interface", "net"]);
    let there = || Phase::ALL.into_iter().zip(lengths).filter(|(_, length)| *length > 0);
    head.extend(there().map(|(phase, _)| format!("sends {}", phase.word())));
    head.extend(there().map(|(phase, _)| format!("receives {}", phase.word())));
    let mut rows = vec![head];
    for (name, alike) in groups(report) {
        let net = alike.first().and_then(|its| its.nid.rsplit_once('@')).map_or("", |(_, net)| net);
        let mut cells = vec![name, net.to_owned()];
        let mean = |bytes: fn(&InterfaceTraffic) -> u64, (phase, length): (Phase, u64)| {
            let all: u64 = alike.iter().map(|its| bytes(&its.phases[phase as usize])).sum();
            rate(per_second(all / (alike.len() as u64).max(1), Duration::from_millis(length)))
        };
        cells.extend(there().map(|part| mean(|its| its.bytes_sent, part)));
        cells.extend(there().map(|part| mean(|its| its.bytes_received, part)));
        rows.push(cells);
    }
    table(&rows) + "\n"
}

/// The rows of the table of traffic: interfaces of nodes that have lost one by themselves, the others by class, interface and net.
fn groups(report: &DrillReport) -> Vec<(String, Vec<&InterfaceReport>)> {
    let hit: BTreeSet<&str> =
        report.interfaces.iter().filter(|its| its.lost).map(|its| its.node.as_str()).collect();
    let has_name = |its: &InterfaceReport| its.interface != its.nid;
    let key = |its: &InterfaceReport| {
        let interface = if has_name(its) { its.interface.clone() } else { String::new() };
        (its.class.clone(), interface, its.nid.rsplit_once('@').map(|(_, net)| net.to_owned()))
    };
    let mut rows: Vec<(String, Vec<&InterfaceReport>)> = Vec::new();
    let mut of_class: BTreeMap<_, usize> = BTreeMap::new();
    for its in &report.interfaces {
        if hit.contains(its.node.as_str()) {
            let lost = if its.lost { " (lost)" } else { "" };
            rows.push((format!("{}:{}{lost}", its.node, its.interface), vec![its]));
            continue;
        }
        let at = *of_class.entry(key(its)).or_insert_with(|| {
            rows.push((String::new(), Vec::new()));
            rows.len() - 1
        });
        rows[at].1.push(its);
    }
    for (name, alike) in &mut rows {
        match alike.as_slice() {
            [its] if name.is_empty() => *name = format!("{}:{}", its.node, its.interface),
            [first, ..] if name.is_empty() => {
                let interface = if has_name(first) { &first.interface } else { "each" };
                *name = format!("{} ({}):{interface}", first.class, alike.len());
            }
            _ => {}
        }
    }
    rows
}

fn paths(report: &DrillReport) -> String {
    let mut text = String::new();
    for path in &report.paths {
        let PathReport { from, to, before, after } = path;
        let shown = |path: &Option<PathShown>| path.as_ref().map_or_else(|| "no path".to_owned(), arrow);
        line(&mut text, &format!("{from} to {to}"));
        line(&mut text, &format!("  before: {}", shown(before)));
        why(&mut text, before.as_ref());
        line(&mut text, &format!("  after:  {}", shown(after)));
        why(&mut text, after.as_ref());
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn arrow(path: &PathShown) -> String {
    match &path.gateway {
        Some(gateway) => format!("{} -> gateway {gateway} -> {}", path.local, path.remote),
        None => format!("{} -> {}", path.local, path.remote),
    }
}

/// The rules, the candidates that lost, the fault.
fn why(text: &mut String, path: Option<&PathShown>) {
    let Some(path) = path else { return };
    path.rules.iter().for_each(|rule| line(text, &format!("    by {rule}")));
    let turns = usize::try_from(path.taking_turns).unwrap_or(usize::MAX);
    let worse = path.passed_over.len().saturating_sub(turns);
    let shown = worse.min(MAX_PASSED_OVER);
    path.passed_over.iter().take(shown).for_each(|passed| line(text, &format!("    not {passed}")));
    if worse > shown {
        line(text, &format!("    and {} more that are worse", worse - shown));
    }
    match turns {
        0 => {}
        1 => line(text, "    1 other candidate has its turns"),
        turns => line(text, &format!("    {turns} other candidates have their turns")),
    }
    path.remark.iter().for_each(|remark| line(text, &format!("    {remark}")));
}

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

/// Cells in columns; all but the first are to the right, if they begin with a digit in the second row.
fn table(rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<Cow<'_, str>>> =
        rows.iter().map(|row| row.iter().map(|cell| printable(cell)).collect()).collect();
    let columns = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let is_number = |column: usize| {
        let first = rows.get(1).and_then(|row| row.get(column)).and_then(|cell| cell.chars().next());
        column > 0 && first.is_some_and(|first| first.is_ascii_digit() || first == '-')
    };
    let widths: Vec<(usize, bool)> = (0..columns).map(|column| (width(column), is_number(column))).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, (width, right))| match right {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        });
        line(&mut text, cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    text
}

/// A time: milliseconds below a second, and otherwise seconds with as many decimals as it has.
pub(super) fn time(ms: u64) -> String {
    match ms {
        0 => "0 s".to_owned(),
        1..1000 => format!("{ms} ms"),
        _ if ms.is_multiple_of(1000) => format!("{} s", ms / 1000),
        _ => format!("{}.{} s", ms / 1000, format!("{:03}", ms % 1000).trim_end_matches('0')),
    }
}

/// Bytes in a second, in units of 1000.
pub(super) fn rate(bytes_per_second: u64) -> String {
    match bytes_per_second {
        0..10_000 => format!("{bytes_per_second} B/s"),
        10_000..10_000_000 => format!("{} kB/s", bytes_per_second / 1000),
        _ => format!("{} MB/s", bytes_per_second / 1_000_000),
    }
}

/// Adds a line. Names in it come from files.
fn line(text: &mut String, content: &str) {
    text.push_str(&printable(content));
    text.push('\n');
}
