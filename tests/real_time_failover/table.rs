//! The table of scenarios with their results.

use super::scenario::{Outcome, Scenario};
use super::soak;
use std::time::Duration;

pub fn print_head() {
    println!(
        "\n{:<31} {:>6} {:>6} {:>5} {:>7} {:>9} {:>9} {:>9} {:>9} {:>8} {:>9} {:>5}  {:<15} {:<20}",
        "scenario",
        "ops",
        "failed",
        "lost",
        "doubled",
        "stall",
        "(before)",
        "new ops",
        "longest",
        "back in",
        "incidents",
        "lines",
        "kernel's stall",
        "aim"
    );
}

pub fn print_row(scenario: &Scenario, outcome: &Outcome) {
    let totals = &outcome.totals;
    println!(
        "{:<31} {:>6} {:>6} {:>5} {:>7} {:>9} {:>9} {:>9} {:>9} {:>8} {:>9} {:>5}  {:<15} {:<20} {}",
        scenario.name,
        totals.ops,
        totals.errors() + totals.endless,
        totals.lost,
        totals.doubled,
        seconds(outcome.stall),
        seconds(outcome.stall_before),
        seconds(outcome.new_operations),
        seconds(totals.longest),
        outcome.back.map_or_else(|| "never".to_owned(), seconds),
        scenario.incidents,
        outcome.lines.values().max().copied().unwrap_or_default(),
        if scenario.kernel.is_empty() { "not measured" } else { scenario.kernel },
        scenario.aim,
        if outcome.faults.is_empty() { "" } else { "<- not as it should be" },
    );
    outcome.told.iter().for_each(|line| println!("    {line}"));
}

/// Prints the outcome of a soak.
pub fn print_soak(outcome: &soak::Outcome) {
    let totals = &outcome.totals;
    let row = |what: &str, count: u64| println!("  {what:<44} {count:>9}");
    println!("what was done");
    outcome.done.iter().for_each(|(what, count)| row(what, *count));
    println!("operations");
    row("ended well", totals.well);
    totals.failed.iter().for_each(|(why, count)| row(why, *count));
    row("failed while one rail worked", outcome.unexcused);
    row("of nodes that were stopped or killed", totals.orphaned);
    totals.sins().iter().for_each(|(sin, count)| row(sin, *count));
    println!("  {:<44} {:>9}", "the longest", seconds(totals.longest));
    if let Some(rpcs) = &outcome.rpcs {
        println!("RPCs beside them");
        rpcs.lines().for_each(|line| println!("  {line}"));
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}
