//! The delays of messages by an interface or to a peer NI, as histograms.
//!
//! Requests are measured in turn: the first [`ALWAYS_MEASURED`] of a peer NI, and then one in [`ONE_IN`], because a measured request costs
//! two reads of the clock and a lock of its MD. Waits are measured for measured requests, and in the same way for other messages.

use lnet_wire::latency::{BUCKETS, Delay, Histogram, bucket_of};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The number of messages that are measured before only some are.
const ALWAYS_MEASURED: u32 = 64;

/// After those, one message in this many is measured.
const ONE_IN: u32 = 16;

/// The histograms of an interface or a peer NI. Any thread may call its methods. A histogram has memory once it has counted anything.
#[derive(Debug, Default)]
pub struct Latencies {
    histograms: [OnceLock<Box<Counts>>; Delay::ALL.len()],
    requests: Turns,
    others: Turns,
}

/// The number of messages, of which some are measured. Threads that count at the same time may count once.
#[derive(Debug, Default)]
struct Turns(AtomicU32);

#[derive(Debug)]
struct Counts {
    sum_ns: AtomicU64,
    buckets: [AtomicU64; BUCKETS],
}

impl Latencies {
    /// Counts a request; returns whether it is to be measured.
    pub(crate) fn measures_request(&self) -> bool {
        self.requests.next()
    }

    /// Counts a wait of a message that is no measured request; returns whether it is to be measured.
    pub(crate) fn measures_wait(&self) -> bool {
        self.others.next()
    }

    /// Counts a measured delay.
    pub(crate) fn count(&self, delay: Delay, lasted: Duration) {
        let counts = self.histograms[delay as usize].get_or_init(Box::default);
        let ns = u64::try_from(lasted.as_nanos()).unwrap_or(u64::MAX);
        counts.sum_ns.fetch_add(ns, Ordering::Relaxed);
        counts.buckets[bucket_of(lasted)].fetch_add(1, Ordering::Relaxed);
    }

    /// The histograms that have counted anything.
    pub fn read(&self) -> Vec<Histogram> {
        let read = |delay: Delay| {
            let counts = self.histograms[delay as usize].get()?;
            let mut buckets: Vec<u64> =
                counts.buckets.iter().map(|count| count.load(Ordering::Relaxed)).collect();
            buckets.truncate(buckets.iter().rposition(|count| *count > 0)? + 1);
            Some(Histogram { delay, sum_ns: counts.sum_ns.load(Ordering::Relaxed), counts: buckets })
        };
        Delay::ALL.into_iter().filter_map(read).collect()
    }

    /// Sets all counts to 0.
    pub(crate) fn reset(&self) {
        for counts in self.histograms.iter().filter_map(OnceLock::get) {
            counts.buckets.iter().chain([&counts.sum_ns]).for_each(|count| count.store(0, Ordering::Relaxed));
        }
    }
}

impl Turns {
    fn next(&self) -> bool {
        let number = self.0.load(Ordering::Relaxed);
        self.0.store(number.wrapping_add(1), Ordering::Relaxed);
        number < ALWAYS_MEASURED || number.is_multiple_of(ONE_IN)
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self { sum_ns: AtomicU64::new(0), buckets: [const { AtomicU64::new(0) }; BUCKETS] }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_first_messages_are_measured_and_one_in_a_few_of_the_others() {
        let latencies = Latencies::default();
        let measured = (0..ALWAYS_MEASURED + 10 * ONE_IN).filter(|_| latencies.measures_request()).count();
        assert_eq!(measured, ALWAYS_MEASURED as usize + 10);
        assert!(latencies.measures_wait(), "waits are counted apart");
    }

    #[test]
    fn only_delays_that_were_counted_are_read_until_they_are_reset() {
        let latencies = Latencies::default();
        assert_eq!(latencies.read(), []);
        for us in [1, 3] {
            latencies.count(Delay::GetReply, Duration::from_micros(us));
        }
        let read = Histogram { delay: Delay::GetReply, sum_ns: 4000, counts: vec![0, 0, 0, 1, 1] };
        assert_eq!(latencies.read(), [read]);
        latencies.reset();
        assert_eq!(latencies.read(), []);
    }
}
