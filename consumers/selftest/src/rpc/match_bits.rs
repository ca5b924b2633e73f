//! Match bits of replies and bulk data.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Generates match bits that no other RPC has, including RPCs of an earlier start: the low 16 bits of the time in seconds at
/// the top, as in the kernel (selftest 2.2), then 28 random bits, so that the next value cannot be guessed.
#[derive(Debug)]
pub(crate) struct MatchBits(AtomicU64);

const RANDOM_SHIFT: u32 = 20;

impl MatchBits {
    pub(crate) fn new() -> Self {
        let seconds =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Self::from(seconds, fastrand::u32(..1 << 28))
    }

    const fn from(seconds: u64, random: u32) -> Self {
        Self(AtomicU64::new(seconds << 48 | (random as u64) << RANDOM_SHIFT))
    }

    /// Sets the bits that are used next.
    pub(crate) fn set_next(&self, bits: u64) {
        self.0.store(bits, Ordering::Relaxed);
    }

    /// Returns the bits for a reply, and the following ones for bulk data, which are 0 if there is none.
    pub(crate) fn take(&self, has_bulk: bool) -> (u64, u64) {
        let reply = self.0.fetch_add(1 + u64::from(has_bulk), Ordering::Relaxed);
        (reply, if has_bulk { reply.wrapping_add(1) } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_bulk_data_follow_those_of_the_reply() {
        let bits = MatchBits::from(0x1_e17b, 0);
        assert_eq!(bits.take(false), (0xe17b_0000_0000_0000, 0));
        assert_eq!(bits.take(true), (0xe17b_0000_0000_0001, 0xe17b_0000_0000_0002));
        assert_eq!(bits.take(false), (0xe17b_0000_0000_0003, 0));
    }
}
