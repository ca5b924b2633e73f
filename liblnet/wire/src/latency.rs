//! The delays of messages that a node measures, and the buckets in which it counts them, as it reports them in its own process and over the
//! control socket.

use std::fmt;
use std::time::Duration;

/// A delay that a node measures for each of its interfaces and each peer NI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Delay {
    /// From the call of a PUT until its message is sent: until its SEND event.
    PutSent,
    /// From the call of a PUT until its ACK has arrived.
    PutAck,
    /// From the call of a GET until its REPLY has arrived.
    GetReply,
    /// The wait of a message for a send credit of the peer NI or of the interface.
    CreditWait,
    /// From the call of a PUT or GET until the discovery of its peer has ended, for requests that wait for it.
    DiscoveryWait,
    /// The wait of a message for a usable route.
    RouteWait,
    /// The wait of a message for another node for a buffer of this router.
    BufferWait,
}

impl Delay {
    /// All delays, in the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::PutSent,
        Self::PutAck,
        Self::GetReply,
        Self::CreditWait,
        Self::DiscoveryWait,
        Self::RouteWait,
        Self::BufferWait,
    ];

    /// The name in YAML, JSON and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PutSent => "put_sent",
            Self::PutAck => "put_ack",
            Self::GetReply => "get_reply",
            Self::CreditWait => "credit_wait",
            Self::DiscoveryWait => "discovery_wait",
            Self::RouteWait => "route_wait",
            Self::BufferWait => "buffer_wait",
        }
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The number of buckets of a histogram. Each but the last is for delays below its [`bound`]; the last is for all others.
pub const BUCKETS: usize = 30;

/// The bound of bucket 0 in nanoseconds; that of each further bucket is twice that of the bucket before.
const FIRST_BOUND_NS: u64 = 250;

/// The bucket that counts a delay.
pub fn bucket_of(delay: Duration) -> usize {
    let ns = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
    let octaves = u64::BITS - (ns / FIRST_BOUND_NS).leading_zeros();
    (octaves as usize).min(BUCKETS - 1)
}

/// The bound of a bucket, which its delays are below: 0.25 us, 0.5 us, 1 us, 2 us, up to 67 s. `None` for the last bucket.
pub fn bound(bucket: usize) -> Option<Duration> {
    (bucket < BUCKETS - 1).then(|| Duration::from_nanos(FIRST_BOUND_NS << bucket))
}

/// A histogram of a delay, as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Histogram {
    /// The delay.
    pub delay: Delay,
    /// The sum of the delays counted, in nanoseconds.
    pub sum_ns: u64,
    /// The number of delays in each bucket; buckets at the end that have none may be missing.
    pub counts: Vec<u64>,
}

impl Histogram {
    /// A histogram that has counted nothing.
    pub const fn empty(delay: Delay) -> Self {
        Self { delay, sum_ns: 0, counts: Vec::new() }
    }

    /// Adds the numbers of another interface or another time.
    pub fn add(&mut self, other: &Self) {
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
    }

    /// The delays counted since `earlier`; all, if the counts have been reset in between.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |at: usize| earlier.counts.get(at).copied().unwrap_or(0);
        let counts: Option<Vec<u64>> =
            self.counts.iter().enumerate().map(|(at, count)| count.checked_sub(before(at))).collect();
        match (counts, self.sum_ns.checked_sub(earlier.sum_ns)) {
            (Some(counts), Some(sum_ns)) if self.counts.len() >= earlier.counts.len() => {
                Self { delay: self.delay, sum_ns, counts }
            }
            _ => self.clone(),
        }
    }

    /// The number of delays counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The mean; `None` if nothing was counted.
    pub fn mean(&self) -> Option<Duration> {
        self.sum_ns.checked_div(self.count()).map(Duration::from_nanos)
    }

    /// The bound of the bucket in which the quantile `thousandths` / 1000 is: at least that share of all delays was shorter. `None` if
    /// nothing was counted, or the quantile is in the last bucket, which has no bound.
    pub fn quantile(&self, thousandths: u64) -> Option<Duration> {
        let count = u128::from(self.count());
        let rank = (count * u128::from(thousandths)).div_ceil(1000).max(1);
        let mut seen = 0;
        let bucket = self.counts.iter().position(|count| {
            seen += u128::from(*count);
            seen >= rank
        });
        bucket.and_then(bound)
    }

    /// The buckets that have counted anything: their bounds and numbers.
    pub fn non_empty(&self) -> impl Iterator<Item = (Option<Duration>, u64)> {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(at, count)| (bound(at), *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_delay_is_counted_in_the_first_bucket_whose_bound_it_is_below() {
        for ns in (0..64).flat_map(|shift| [(1_u64 << shift) - 1, 1 << shift, 250 << shift.min(55)]) {
            let delay = Duration::from_nanos(ns);
            let naive = (0..BUCKETS).find(|at| bound(*at).is_none_or(|bound| delay < bound));
            assert_eq!(Some(bucket_of(delay)), naive, "{ns} ns");
        }
        assert_eq!(bucket_of(Duration::MAX), BUCKETS - 1);
        assert_eq!(bound(BUCKETS - 2), Some(Duration::from_nanos(67_108_864_000)));
    }

    #[test]
    fn a_quantile_is_the_bound_below_which_that_share_of_the_delays_is() {
        let of = |counts: &[u64]| Histogram { delay: Delay::PutAck, sum_ns: 9000, counts: counts.to_vec() };
        let us = |us| Some(Duration::from_micros(us));
        let table = [
            (&[0, 0, 3][..], 500, us(1)),
            (&[0, 0, 50, 49, 1], 500, us(1)),
            (&[0, 0, 50, 49, 1], 990, us(2)),
            (&[0, 0, 50, 49, 1], 991, us(4)),
            (&[0, 0, 1], 0, us(1)),
            (&[], 500, None),
        ];
        for (counts, thousandths, expected) in table {
            assert_eq!(of(counts).quantile(thousandths), expected, "{counts:?} {thousandths}");
        }
        let mut sum = of(&[1]);
        sum.add(&of(&[1, 2]));
        assert_eq!(sum, Histogram { sum_ns: 18_000, ..of(&[2, 2]) });
        assert_eq!(sum.since(&of(&[1, 2])), of(&[1, 0]));
        assert_eq!(of(&[1]).since(&sum), of(&[1]), "after a reset");
        let mut beyond = vec![0; BUCKETS];
        beyond[BUCKETS - 1] = 1;
        assert_eq!(of(&beyond).quantile(500), None);
        assert_eq!((of(&[2, 1]).mean(), of(&[]).mean()), (us(3), None));
        assert_eq!(of(&[0, 2]).non_empty().collect::<Vec<_>>(), [(Some(Duration::from_nanos(500)), 2)]);
    }
}
