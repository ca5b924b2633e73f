//! A comparison as text for people.

use super::{Change, Comparison, FindingChange, NodesOf, PathChange, Reached};
use crate::text::{MAX_SHOWN, counted, listed, printable};

/// The comparison as text: paths first, as they matter most; a summary as the last line.
pub fn to_text(comparison: &Comparison) -> String {
    let mut lines: Vec<String> = Vec::new();
    section(&mut lines, "paths", comparison.paths.iter().map(path));
    section(&mut lines, "findings that appear", comparison.findings_new.iter().map(finding));
    section(&mut lines, "findings that vanish", comparison.findings_gone.iter().map(finding));
    section(&mut lines, "nodes added", comparison.added.iter().map(nodes));
    section(&mut lines, "nodes gone", comparison.gone.iter().map(nodes));
    for changed in &comparison.changed {
        section(&mut lines, &nodes(&changed.nodes), changes(&changed.changes).into_iter());
    }
    lines.push(summary(comparison));
    // Names in the lines come from files.
    lines.iter().map(|line| printable(line) + "\n").collect()
}

fn section(lines: &mut Vec<String>, title: &str, items: impl Iterator<Item = String>) {
    let before = lines.len();
    lines.push(format!("{title}:"));
    lines.extend(items.map(|item| format!("  {item}")));
    if lines.len() == before + 1 {
        lines.truncate(before);
    } else {
        lines.push(String::new());
    }
}

fn summary(comparison: &Comparison) -> String {
    if comparison.is_empty() {
        let nodes = counted(comparison.unchanged, "node is", "nodes are");
        return format!("nothing changes: {nodes} configured as before");
    }
    let count = |nodes: &[NodesOf]| nodes.iter().map(|its| its.count).sum::<u64>();
    let number = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
    let changed: u64 = comparison.changed.iter().map(|its| its.nodes.count).sum();
    let lose = comparison.paths.iter().filter(|path| path.new == Reached::No).count();
    format!(
        "{} added, {} gone, {changed} changed, {} as before; {} with other paths, {lose} of them with none any more; {}, {}",
        counted(count(&comparison.added), "node", "nodes"),
        count(&comparison.gone),
        comparison.unchanged,
        counted(number(comparison.paths.len()), "pair of classes", "pairs of classes"),
        counted(number(comparison.findings_new.len()), "finding appears", "findings appear"),
        counted(number(comparison.findings_gone.len()), "vanishes", "vanish"),
    )
}

fn nodes(nodes: &NodesOf) -> String {
    let shown = nodes.nodes.join(", ");
    let more = nodes.count.saturating_sub(nodes.nodes.len() as u64);
    match more {
        0 if nodes.nodes.as_slice() == [nodes.class.clone()] => shown,
        0 => format!("{shown} (class {})", nodes.class),
        more => format!("{shown} and {more} more (class {})", nodes.class),
    }
}

fn path(path: &PathChange) -> String {
    let PathChange { from, to, old, new } = path;
    let changed = match (old, new) {
        (Reached::Direct(old), Reached::Direct(new)) => format!("direct, {}", difference(old, new)),
        (Reached::Routed(old), Reached::Routed(new)) => format!("routed, {}", difference(old, new)),
        (Reached::NoResponse(old), Reached::NoResponse(new)) => {
            format!("requests without response, {}", difference(old, new))
        }
        _ => format!("{} -> {}", reached(old), reached(new)),
    };
    format!("{from} to {to}: {changed}")
}

/// Names the items that only one of two lists has.
fn difference(old: &[String], new: &[String]) -> String {
    let only = |these: &[String], others: &[String]| -> Vec<String> {
        these.iter().filter(|item| !others.contains(item)).cloned().collect()
    };
    let (gone, added) = (only(old, new), only(new, old));
    let said =
        |word: &str, items: &[String]| (!items.is_empty()).then(|| format!("{word} {}", listed(items)));
    [said("no longer", &gone), said("now also", &added)].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn reached(reached: &Reached) -> String {
    match reached {
        Reached::Direct(nets) => format!("direct on {}", listed(nets)),
        Reached::Routed(gateways) => format!("routed, {}", listed(gateways)),
        Reached::NoResponse(gateways) => format!("requests without response, {}", listed(gateways)),
        Reached::No => "no path".to_owned(),
    }
}

fn finding(finding: &FindingChange) -> String {
    let FindingChange { severity, kind, what, file, line, .. } = finding;
    format!("{severity}: {kind}: {file}:{line}: {what}")
}

/// The changes of some nodes; of routes, peers and the like that come or go only the first ones, and the number of the others.
fn changes(all: &[Change]) -> Vec<String> {
    let is_alike = |one: &Change, other: &Change| {
        one.what == other.what
            && one.old.is_some() == other.old.is_some()
            && one.new.is_some() == other.new.is_some()
    };
    let mut lines = Vec::new();
    for alike in all.chunk_by(is_alike) {
        lines.extend(alike.iter().take(MAX_SHOWN).map(change));
        if let (Some(first), more) = (alike.first(), alike.len().saturating_sub(MAX_SHOWN))
            && more > 0
        {
            let sign = if first.new.is_some() { '+' } else { '-' };
            lines.push(format!("{sign} {}: {more} more", first.what));
        }
    }
    lines
}

fn change(change: &Change) -> String {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => format!("{}: {old} -> {new}", change.what),
        (Some(old), None) => format!("- {}{}", change.what, detail(old)),
        (None, Some(new)) => format!("+ {}{}", change.what, detail(new)),
        (None, None) => change.what.clone(),
    }
}

fn detail(text: &str) -> String {
    if text == "there" { String::new() } else { format!(" {text}") }
}
