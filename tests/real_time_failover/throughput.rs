//! Throughput over time, for the picture `docs/pictures/rail-throughput.svg`.

use super::scenario::{Outcome, Scenario};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

/// The time whose bytes are counted together.
const BIN: Duration = Duration::from_millis(100);
/// The time before the failure that is recorded.
const BEFORE: Duration = Duration::from_secs(2);
const MIB: f64 = (1 << 20) as f64;
/// The recorded times of the kernel, among them how long the rail was broken.
const KERNEL: &str = include_str!("../../docs/pictures/rail-stalls-kernel.csv");

/// Sums the bytes of operations in each [`BIN`] from `broken` − [`BEFORE`] to `end`. An operation counts where it ended.
pub fn bins(succeeded: impl Iterator<Item = (Duration, u32)>, broken: Duration, end: Duration) -> Vec<u64> {
    let from = broken.saturating_sub(BEFORE);
    let bin_of = |at: Duration| (at - from).as_millis() / BIN.as_millis();
    let mut bins = vec![0; bin_of(end.max(from)) as usize];
    for (at, len) in succeeded.filter(|(at, _)| *at >= from) {
        if let Some(bin) = bins.get_mut(bin_of(at) as usize) {
            *bin += u64::from(len);
        }
    }
    bins
}

/// The keys of the scenarios in the picture, each with the time for which the kernel's rail was broken.
pub fn recorded() -> Vec<(&'static str, Duration)> {
    let rows = KERNEL.lines().map(|line| line.split(',').collect::<Vec<_>>());
    rows.filter_map(|row| match row[..] {
        [key, "broken", _, to] => Some((key, Duration::from_secs_f64(to.parse().unwrap()))),
        _ => None,
    })
    .collect()
}

/// The text of `docs/pictures/rail-throughput.csv`.
pub fn table(outcomes: &[(Scenario, Outcome)]) -> String {
    let mut text = "# The throughput of two nodes over two rails of 500 Mbit/s, both directions together; `make rail-throughput` measures it.\n\
                    scenario,seconds since the rail failed,MiB/s\n"
        .to_owned();
    for (scenario, outcome) in outcomes {
        for (bin, bytes) in outcome.throughput.iter().enumerate() {
            let at = (BIN * bin as u32).as_secs_f64() - BEFORE.as_secs_f64();
            let rate = *bytes as f64 / MIB / BIN.as_secs_f64();
            _ = writeln!(text, "{},{at:.1},{rate:.0}", scenario.key);
        }
    }
    text
}

/// The file with that text.
pub fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/pictures/rail-throughput.csv")
}

#[test]
fn bytes_are_counted_in_the_bin_in_which_their_operation_ended() {
    let ms = Duration::from_millis;
    let ended = [(2999, 1), (3000, 2), (3099, 4), (5000, 8), (5150, 16), (5200, 32)];
    let bins = bins(ended.into_iter().map(|(at, len)| (ms(at), len)), ms(5000), ms(5200));
    let counted: Vec<_> = bins.iter().enumerate().filter(|(_, bytes)| **bytes > 0).collect();
    assert_eq!((bins.len(), counted), (22, vec![(0, &6), (20, &8), (21, &16)]));
}
