//! The incarnation stamp of an interface (wire-o2ib 6.7).
//!
//! A stamp is any number that is unique and not 0. Kernel nodes take the time in microseconds, which is below 2^51 until the year
//! 2041; those of this library have a mark in the topmost bits by which its nodes recognise each other, as a CONNREQ has no room for more.

/// The bits of the time in a stamp.
const TIME_BITS: u32 = 48;
/// The mark of this library.
const MARK: u64 = 0x4c4e;

/// The stamp of an interface that starts at this time, in microseconds since 1970.
pub(crate) const fn stamp_at(micros: u64) -> u64 {
    MARK << TIME_BITS | micros & ((1 << TIME_BITS) - 1)
}

/// Whether the stamp is that of a node of this library, which writes every byte of a short REPLY (wire-o2ib 8.4).
pub(crate) const fn is_of_this_library(stamp: u64) -> bool {
    stamp >> TIME_BITS == MARK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_this_library_recognise_each_other_and_no_kernel_node() {
        let a = stamp_at(1_800_000_000_000_000);
        assert!(is_of_this_library(a) && a != stamp_at(1_800_000_000_000_001));
        assert!(!is_of_this_library(0x0006_60bf_52cc_7a30) && !is_of_this_library(0));
    }
}
