//! Allocations of `lnet_perf` in the steady state, on either side.

use super::Cost;
use crate::error::Error;
use crate::lnet::{Length, Lnet};
use crate::memory::ALLOCATION_SCENARIOS;
use crate::scenario::Scenario;
use std::path::Path;

pub(super) const WORK: [Scenario; 4] = ALLOCATION_SCENARIOS;

/// So many that the few allocations of tables that still grow do not count; fewer where each waits for the last, which
/// takes milliseconds on a machine that is busy, or is large.
const fn operations(scenario: Scenario) -> u32 {
    match scenario {
        Scenario::Rate { size, .. } if size < 1 << 20 => 20_000,
        Scenario::Rate { .. } | Scenario::RoundTrip { .. } => 4_000,
    }
}

/// What the timers of a node may allocate in a second, which is no cost of a message.
const OF_TIMERS: f64 = 50.0;

pub(super) fn names(scenario: Scenario) -> [String; 2] {
    ["asking", "serving"].map(|side| format!("allocations for each operation, {side} side, {scenario}"))
}

pub(super) fn count(lnet: &Lnet, scenario: Scenario, library: &Path) -> Result<Vec<Cost>, Error> {
    let length = Length::Operations(operations(scenario));
    let allocations = lnet.allocations(scenario, length, library)?;
    let figures = [allocations.here, allocations.there].map(|all| of_operations(all, allocations.seconds));
    Ok(names(scenario).into_iter().zip(figures).map(|(name, figure)| Cost { name, figure }).collect())
}

/// Of the allocations for each operation, which took so many seconds, those that are not the timers'.
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
