//! The durations of the single round trips of a measurement.

use crate::error::{Error, context};
use hdrhistogram::Histogram;
use std::time::{Duration, Instant};

/// The ranks that the report has.
pub(crate) const RANKS: [f64; 3] = [50.0, 99.0, 99.9];
/// The digits of a delay that are kept.
const DIGITS: u8 = 3;

/// The delays at the [`RANKS`], in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Percentiles(pub(crate) [f64; 3]);

/// The delays of a measurement.
pub(crate) struct Delays(Histogram<u64>);

impl Delays {
    pub(crate) fn new() -> Result<Self, Error> {
        Histogram::new(DIGITS).map(Self).map_err(context("a histogram"))
    }

    /// Reads lines `delay NANOSECONDS COUNT`; `None` if there is none.
    pub(crate) fn read(output: &str) -> Result<Option<Self>, Error> {
        let mut delays = Self::new()?;
        for line in output.lines().filter_map(|line| line.strip_prefix("delay ")) {
            let (delay, count) = line.split_once(' ').ok_or_else(|| format!("delay {line}: no count"))?;
            let number = |text: &str| text.trim().parse::<u64>().map_err(context(line));
            delays.0.record_n(number(delay)?, number(count)?).map_err(context(line))?;
        }
        Ok((!delays.0.is_empty()).then_some(delays))
    }

    /// Records the delay of a round trip.
    pub(crate) fn record(&mut self, nanoseconds: u64) {
        // The range grows with the values, so that none is refused.
        _ = self.0.record(nanoseconds);
    }

    /// Records the time since `last`, which counts from `begin`, and moves that on.
    pub(crate) fn record_since(&mut self, last: &mut Duration, begin: Instant) {
        let now = begin.elapsed();
        self.record(u64::try_from((now - *last).as_nanos()).unwrap_or(u64::MAX));
        *last = now;
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn percentiles(&self) -> Percentiles {
        Percentiles(RANKS.map(|rank| self.0.value_at_percentile(rank) as f64 / 1e3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_all_delays() {
        let mut delays = Delays::new().unwrap();
        delays.record(7_000_000);
        delays.clear();
        (1..=1000).for_each(|delay| delays.record(delay * 1000));
        let Percentiles(found) = delays.percentiles();
        for (found, expected) in found.into_iter().zip([500.0, 990.0, 999.0]) {
            assert!((found / expected - 1.0_f64).abs() < 2e-3, "{found}, {expected}");
        }
    }

    #[test]
    fn delays_are_read_from_lines_with_counts() {
        let output = "microseconds 10.0 messages 20\ndelay 2000 99\ndelay 50000 1\n";
        let delays = Delays::read(output).unwrap().map(|delays| delays.percentiles());
        let Some(Percentiles([half, most, all])) = delays else { panic!("no delays") };
        assert!((half - 2.0).abs() < 0.01 && (most - 2.0).abs() < 0.01 && (all - 50.0).abs() < 0.1);
        assert!(Delays::read("microseconds 1.0\n").unwrap().is_none());
        for wrong in ["delay 1\n", "delay x 1\n", "delay 1 x\n"] {
            assert!(Delays::read(wrong).is_err(), "{wrong}");
        }
    }
}
