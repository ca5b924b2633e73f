//! XIDs of requests, and the match bits that are derived from them (PR-20, PR-22).

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

/// The XID of a request; a client's later requests have higher ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Xid(pub u64);

/// Generates XIDs that are 64 apart, with the match bits of a bulk transfer between them. Lock-free.
#[derive(Debug)]
pub struct XidSource(AtomicU64);

/// The match bits of a bulk transfer: one number for each of its MDs, of which there are 1 to 64, beginning at a
/// multiple of 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BulkBits {
    first: u64,
    last: u64,
}

/// The most MDs of a bulk transfer, and the distance of XIDs.
pub const BULK_COUNT_MAX: u32 = 64;

/// The first XID of a client that starts at this time: seconds since 1970, UTC.
///
/// A time before 2004 means that the clock has not been set. Then the XID is `random`, with bit 61 set and those above clear,
/// which no valid time leads to.
pub const fn first_xid(unix_seconds: u64, random: u64) -> Xid {
    let clock_is_set = unix_seconds >= YEAR_2004 && unix_seconds < RANDOM_BIT >> 20;
    let start = if clock_is_set { unix_seconds << 20 } else { RANDOM_BIT | random & (RANDOM_BIT - 1) };
    Xid(start & !WITHIN)
}

impl XidSource {
    /// A source that begins at `first`, or at the multiple of 64 below it.
    pub const fn new(first: Xid) -> Self {
        Self(AtomicU64::new(first.0 & !WITHIN))
    }

    /// The next one: 64 more than the one before.
    pub fn take(&self) -> Xid {
        // Relaxed: only uniqueness matters, no other memory is published by it.
        Xid(self.0.fetch_add(BULK_COUNT_MAX as u64, Ordering::Relaxed))
    }
}

impl BulkBits {
    /// The match bits of `count` MDs from an XID on: that of the request when it is first sent, a new one when it is resent.
    /// `None` if `count` is 0 or more than 64, or if the XID is no multiple of 64.
    pub const fn starting_at(xid: Xid, count: u32) -> Option<Self> {
        if count == 0 || count > BULK_COUNT_MAX || xid.0 & WITHIN != 0 {
            return None;
        }
        Some(Self { first: xid.0, last: xid.0 + (count as u64 - 1) })
    }

    /// The match bits that a request announces by `pb_mbits`.
    pub const fn ending_at(mbits: u64) -> Self {
        Self { first: mbits & !WITHIN, last: mbits }
    }

    /// The match bits that a request announces by `pb_mbits`; `None` if they are not for `count` MDs.
    pub fn from_mbits(mbits: u64, count: u32) -> Option<Self> {
        Some(Self::ending_at(mbits)).filter(|bits| bits.count() == count)
    }

    /// The match bits of the first MD.
    pub const fn first(self) -> u64 {
        self.first
    }

    /// The match bits of the last MD, which are `pb_mbits`. Where bulk transfers have no separate match bits
    /// ([`ConnectFlags::BULK_MBITS`](super::ConnectFlags::BULK_MBITS)) this is the new XID of a resent request.
    pub const fn last(self) -> u64 {
        self.last
    }

    /// The number of MDs: 1 to 64.
    pub const fn count(self) -> u32 {
        (self.last - self.first) as u32 + 1
    }

    /// The match bits of each MD, in order.
    pub const fn range(self) -> RangeInclusive<u64> {
        self.first..=self.last
    }
}

/// The bits that distinguish the MDs of one bulk transfer.
const WITHIN: u64 = BULK_COUNT_MAX as u64 - 1;
/// Marks an XID that is not derived from the time.
const RANDOM_BIT: u64 = 1 << 61;
/// The beginning of 2004, in seconds since 1970, UTC.
const YEAR_2004: u64 = 1_072_915_200;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;
    use std::thread;

    #[test]
    fn the_first_xid_is_the_time_if_the_clock_is_set() {
        for (name, seconds, random, want) in [
            ("the end of 2003", 1_072_915_199, 0, 1 << 61),
            ("the beginning of 2004", 1_072_915_200, u64::MAX, 1_072_915_200 << 20),
            ("now", 1_760_000_000, 77, 1_760_000_000 << 20),
            ("no clock", 0, 0x1234_5678_9abc_def0, 0x3234_5678_9abc_dec0),
            ("no clock, all ones", 0, u64::MAX, 0x3fff_ffff_ffff_ffc0),
            ("a clock far beyond", u64::MAX, 64, 1 << 61 | 64),
        ] {
            assert_eq!(first_xid(seconds, random), Xid(want), "{name}");
        }
    }

    #[test]
    fn xids_are_64_apart() {
        let source = XidSource::new(Xid(1000));
        assert_eq!([source.take(), source.take(), source.take()], [Xid(960), Xid(1024), Xid(1088)]);
    }

    #[test]
    fn xids_are_unique_across_threads() {
        let source = XidSource::new(Xid(0));
        let take = || (0..1000).map(|_| source.take()).collect::<Vec<_>>();
        let taken: HashSet<Xid> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(taken, (0..4000).map(|n| Xid(64 * n)).collect());
    }

    #[test]
    fn match_bits_of_a_bulk_transfer() {
        // Xid, MDs, then first and last bits.
        for (xid, count, want) in [
            (6400, 1, Some((6400, 6400))),
            (6400, 2, Some((6400, 6401))),
            (6400, 64, Some((6400, 6463))),
            (6400, 65, None),
            (6400, 0, None),
            (6401, 1, None),
            (u64::MAX - 63, 64, Some((u64::MAX - 63, u64::MAX))),
        ] {
            let bits = BulkBits::starting_at(Xid(xid), count);
            assert_eq!(bits.map(|bits| (bits.first(), bits.last())), want, "{xid}, {count} MDs");
        }
    }

    #[test]
    fn match_bits_for_another_number_of_mds_are_refused() {
        // Announced bits, expected MDs, whether they agree.
        for (mbits, count, agree) in [
            (6400, 1, true),
            (6401, 2, true),
            (6463, 64, true),
            (6463, 63, false),
            (6464, 65, false),
            (0, 0, false),
        ] {
            assert_eq!(BulkBits::from_mbits(mbits, count).is_some(), agree, "{mbits}, {count} MDs");
        }
    }

    proptest! {
        #[test]
        fn the_server_derives_the_match_bits_of_the_client(seconds: u64, random: u64, count in 1_u32..=64) {
            let xid = first_xid(seconds, random);
            let bits = BulkBits::starting_at(xid, count).unwrap();
            prop_assert_eq!(bits.count(), count);
            prop_assert_eq!(bits.range().count(), count as usize);
            prop_assert_eq!(BulkBits::ending_at(bits.last()), bits);
            prop_assert_eq!(BulkBits::from_mbits(bits.last(), count), Some(bits));
        }

        #[test]
        fn any_announced_bits_are_those_of_1_to_64_mds(mbits: u64) {
            let bits = BulkBits::ending_at(mbits);
            prop_assert!((1..=64).contains(&bits.count()));
            prop_assert_eq!(BulkBits::starting_at(Xid(bits.first()), bits.count()), Some(bits));
        }
    }
}
