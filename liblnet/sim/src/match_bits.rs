//! The portal and the match bits of requests between nodes of a world; the match bits contain the number of the
//! operation.

/// The portal that every node serves.
pub const PORTAL: u32 = 9;
/// The match bits of requests to that portal.
pub const MATCH_BITS: u64 = 0x5109;
/// The bits of the match bits that name the operation.
pub(crate) const OPERATION: u64 = 0xffff_ffff_0000_0000;
/// An operation that a node was asked to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub usize);

/// The match bits of a request of this operation.
pub(crate) const fn operation_bits(id: OpId) -> u64 {
    (id.0 as u64 + 1) << OPERATION.trailing_zeros()
}

/// The operation that a request with these match bits is of.
pub(crate) const fn operation_of(match_bits: u64) -> Option<OpId> {
    match match_bits >> OPERATION.trailing_zeros() {
        0 => None,
        number => Some(OpId(number as usize - 1)),
    }
}
