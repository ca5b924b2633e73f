//! Programs on one node that PUT and GET to each other and to another node, while they and the node are killed at any time: every
//! operation ends, no byte is wrong, and the node has nothing left of them.
//!
//! `make soak-programs` runs this for as long as it is told to.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod load;
mod network;
mod process;
mod roles;
mod soak;

use std::time::Duration;

/// Runs in each process that the soak starts.
#[test]
fn role() {
    roles::run_if_asked();
}

#[test]
fn nothing_is_left_of_programs_that_are_killed_in_some_seconds() {
    soak_for(3, Duration::from_secs(8));
}

#[test]
#[ignore = "takes as long as it is told to: make soak-programs"]
fn soak() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<f64>().ok());
    let minutes = number("SOAK_MINUTES").unwrap_or(1.0);
    soak_for(number("SOAK_SEED").unwrap_or(1.0) as u64, Duration::from_secs_f64(minutes * 60.0));
}

fn soak_for(seed: u64, time: Duration) {
    println!("\nseed {seed}, for {time:?}");
    let outcome = soak::run(seed, time);
    println!("{outcome}");
    assert!(outcome.faults.is_empty(), "seed {seed}:\n{}", outcome.faults.join("\n"));
}
