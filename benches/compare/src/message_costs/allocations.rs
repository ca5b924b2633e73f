//! Allocations of `lnet_perf` in the steady state, on either side, and in the router between them.

use super::Cost;
use crate::error::Error;
use crate::lnet::{Length, Lnet, PathKind};
use crate::memory::ALLOCATION_SCENARIOS;
use crate::scenario::{Operation, Scenario};
use std::path::Path;

pub(super) const WORK: [Scenario; 4] = ALLOCATION_SCENARIOS;

/// The number of operations: large enough that the few allocations of growing tables do not count; smaller if each operation
/// waits for the previous one, which takes milliseconds on a busy machine, or is large.
const fn operations(scenario: Scenario) -> u32 {
    match scenario {
        Scenario::Rate { size, .. } if size < 1 << 20 => 20_000,
        Scenario::Rate { .. } | Scenario::RoundTrip { .. } => 4_000,
    }
}

/// Maximum number of allocations of a node's timers in a second, which are no cost of a message.
const OF_TIMERS: f64 = 50.0;

pub(super) fn names(scenario: Scenario) -> [String; 2] {
    ["asking", "serving"].map(|side| format!("allocations for each operation, {side} side, {scenario}"))
}

/// Messages that a router forwards, and the number of operations of the shorter run.
pub(super) const ROUTER_WORK: [(Scenario, u32); 2] = [
    (Scenario::Rate { operation: Operation::Put, size: 8, in_flight: 64 }, 20_000),
    (Scenario::Rate { operation: Operation::Put, size: 1 << 20, in_flight: 8 }, 1_000),
];

pub(super) fn name_in_router((scenario, _): (Scenario, u32)) -> String {
    format!("allocations for each message that a router forwards, {scenario}")
}

/// Counts the allocations of a router for each message: the difference of two runs, of which one has twice as many
/// operations, divided by the number of additional messages. Allocations before and after the operations are the same in
/// both.
pub(super) fn count_in_router(
    program: &Path,
    work: (Scenario, u32),
    library: &Path,
) -> Result<Vec<Cost>, Error> {
    let lnet = Lnet::by(program, PathKind::ThroughRouter);
    let (scenario, operations) = work;
    let run = |operations| lnet.allocations(scenario, Length::Operations(operations), library);
    let (short, long) = (run(operations)?, run(2 * operations)?);
    let messages = long.messages - short.messages;
    let seconds = (long.seconds * long.messages - short.seconds * short.messages) / messages;
    let figure = of_operations((long.router - short.router) / messages, seconds);
    Ok(vec![Cost { name: name_in_router(work), figure }])
}

pub(super) fn count(program: &Path, scenario: Scenario, library: &Path) -> Result<Vec<Cost>, Error> {
    let lnet = Lnet::new(program);
    let length = Length::Operations(operations(scenario));
    let allocations = lnet.allocations(scenario, length, library)?;
    let figures = [allocations.here, allocations.there].map(|all| of_operations(all, allocations.seconds));
    Ok(names(scenario).into_iter().zip(figures).map(|(name, figure)| Cost { name, figure }).collect())
}

/// Returns the allocations for each operation of a run of `seconds` seconds, without those of the timers.
fn of_operations(allocations: f64, seconds: f64) -> f64 {
    (allocations - OF_TIMERS * seconds).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_of_timers_are_not_the_operations() {
        for (allocations, seconds, expected) in [(1.0, 0.0, 1.0), (1.5, 0.01, 1.0), (0.2, 0.01, 0.0)] {
            let found = of_operations(allocations, seconds);
            assert!((found - expected).abs() < 1e-9, "{allocations} in {seconds} s: {found}");
        }
    }
}
