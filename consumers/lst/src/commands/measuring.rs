//! The parts that `lst bench` and `lst survey` share: the test, the counters of nodes, and the wait for the end of a measurement.

use crate::cli;
use crate::context::{CommandFailure, Context, Result};
use lnet_selftest::console::call::{Counters, Target, TransactionResult};
use lnet_selftest::console::{Command, TestSpec};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(super) const MIB: f64 = 1_048_576.0;
/// The timeout, in seconds, for nodes to send their counters.
const TIMEOUT: u32 = 10;
/// Interval at which the wait for the end of a measurement checks for an interruption.
const STEP: Duration = Duration::from_millis(100);

/// The test that these words describe; without words it writes blocks of 1 MiB.
pub(super) fn test_of(words: &[String]) -> Result<TestSpec> {
    let parsed = match words {
        [] => cli::test_spec(&["brw", "write", "size=1m"].map(String::from)),
        words => cli::test_spec(words),
    };
    parsed.map_err(CommandFailure::usage)
}

/// The present counters of nodes.
pub(super) fn counters(cx: &mut Context<'_>, target: Target) -> Result<TransactionResult> {
    cx.transact(Command::Stat { target, timeout: TIMEOUT })
}

/// The number of errors of tests.
pub(super) fn error_count(counters: &Counters) -> u64 {
    let Counters { brw_errors, ping_errors, .. } = counters;
    u64::from(*brw_errors) + u64::from(*ping_errors)
}

/// Waits unless the user has had enough.
pub(super) fn pause(cx: &mut Context<'_>, time: Duration, interrupted: &AtomicBool) {
    let until = cx.now() + time;
    while cx.now() < until && !interrupted.load(Ordering::Relaxed) {
        let left = until.saturating_sub(cx.now());
        cx.wait(left.min(STEP));
    }
}
