//! docs/requirements.md: every requirement with the tests that show it, from [`rows`] and the documentation of the tests.
//!
//! The documentation of a test names the requirements that it shows, and how it would fail if they broke:
//! `/// dbg-110: fails if ...`, or `/// dbg-010, dbg-015: fails if ...`. Each begins a line.

mod rows;
mod tests_of;

use crate::Result;
use rows::RequirementState::{Missing, NotApplicable, Partly, Shown};
use rows::{KINDS, ROWS};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use tests_of::Test;

/// Places of tests, by the requirements that they name.
type ByRequirement = BTreeMap<String, BTreeSet<String>>;

/// Returns docs/requirements.md. An error if rows and tests contradict each other.
pub(super) fn document(root: &Path) -> Result<String> {
    let tests = tests_of::sources(root)?;
    let mut by_requirement = ByRequirement::new();
    for Test { place, named, .. } in &tests {
        for id in named {
            by_requirement.entry(id.clone()).or_default().insert(place.clone());
        }
    }
    let mistakes = [missing_rows(), contradictions(&by_requirement), without_failure(&tests)].concat();
    match mistakes.is_empty() {
        true => table(&by_requirement),
        false => Err(mistakes.join("\n").into()),
    }
}

/// A line if the rows are not those of all numbers of all kinds, in their order.
fn missing_rows() -> Vec<String> {
    let numbers = |(kind, last): &(&str, u32)| {
        let kind = (*kind).to_owned();
        (1..=last / 5).map(move |number| format!("{kind}-{:03}", number * 5))
    };
    let mut rows = ROWS.iter().map(|row| row.0);
    let missing = KINDS.iter().flat_map(numbers).find(|id| rows.next() != Some(id.as_str()));
    let superfluous = rows.next();
    let missing = missing.map(|id| format!("{id} has no row in its place"));
    missing.or_else(|| superfluous.map(|id| format!("{id} is no number of its kind"))).into_iter().collect()
}

/// A line for each requirement whose state is not what the tests that name it show.
fn contradictions(tests: &ByRequirement) -> Vec<String> {
    let of_row = |(id, _, _, state): &(&str, _, _, rows::RequirementState)| match (state, tests.get(*id)) {
        (Shown | Partly(_), None) => Some(format!("{id}: no test names it")),
        (Missing(_) | NotApplicable(_), Some(tests)) => Some(format!("{id}: is shown by {tests:?}")),
        _ => None,
    };
    let is_known = |id: &str| ROWS.iter().any(|row| row.0 == id);
    let unknown = tests.iter().filter(|(id, _)| !is_known(id));
    let unknown = unknown.map(|(id, tests)| format!("{id}: there is no such requirement, but {tests:?}"));
    ROWS.iter().filter_map(of_row).chain(unknown).collect()
}

/// A line for each test that does not say how it would fail if a requirement that it names broke.
fn without_failure(tests: &[Test]) -> Vec<String> {
    let unexplained = tests.iter().filter(|test| !test.named.is_subset(&test.explained));
    let line = |test: &Test| {
        let ids: Vec<_> = test.named.difference(&test.explained).collect();
        format!("{}: no line `ID: fails if ...` for {ids:?}", test.place)
    };
    unexplained.map(line).collect()
}

fn table(tests: &ByRequirement) -> Result<String> {
    let mut text = "# Requirements and the tests that show them\n\n\
        What is required of configuration (cfg), of sending (snd), of discovery (dyn), of what can be seen of a running\n\
        node (dbg), of the health of devices (hlt), of nodes of other versions (bck), of tests (tst) and of the\n\
        documentation (doc), in the numbers of the Multi-Rail requirements of LNet. Each test says in its documentation how\n\
        it would fail if the requirement broke. Generated from `xtask/src/generated/requirements/rows.rs` and the tests' documentation.\n\n"
        .to_owned();
    let count =
        |is_one: fn(&rows::RequirementState) -> bool| ROWS.iter().filter(|row| is_one(&row.3)).count();
    writeln!(
        text,
        "{} requirements: {} shown, {} partly, {} missing, {} not applicable.\n\n\
         | ID | class | requirement | state | shown by |\n| --- | --- | --- | --- | --- |",
        ROWS.len(),
        count(|state| matches!(state, Shown)),
        count(|state| matches!(state, Partly(_))),
        count(|state| matches!(state, Missing(_))),
        count(|state| matches!(state, NotApplicable(_))),
    )?;
    for (id, class, requirement, state) in ROWS {
        let state = match state {
            Shown => "shown".to_owned(),
            Partly(rest) => format!("partly: {rest}"),
            Missing(reason) => format!("missing: {reason}"),
            NotApplicable(reason) => format!("not applicable: {reason}"),
        };
        let names = tests.get(*id).into_iter().flatten();
        let by = names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let class = format!("{class:?}").to_lowercase();
        writeln!(text, "| {id} | {class} | {requirement} | {state} | {by} |")?;
    }
    Ok(text)
}
