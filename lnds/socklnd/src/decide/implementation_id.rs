//! Recognition of peers of this implementation: they send a number in a field that a kernel does not use.
//!
//! In a HELLO the destination's incarnation is 0 from a kernel that connects, and the received value from a kernel that
//! responds; no node checks it (wire-tcp 2.3). A node of this implementation sends its number there.

use std::num::NonZeroU64;

/// Upper 16 bits of an implementation ID.
const MARK: u64 = 0x6c73;
const RANDOM_BITS: u32 = 48;

/// A node of this implementation, in one incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(pub(crate) NonZeroU64);

/// Returns the number by which a node identifies itself, from random bits drawn when it starts.
pub const fn implementation_id(random: u64) -> u64 {
    MARK << RANDOM_BITS | random & ((1 << RANDOM_BITS) - 1)
}

/// Returns the node with the number `said`, which a peer has sent to a node with the number `own` (0: none). `None` if the
/// peer is not of this implementation, or takes this node for another kind: a kernel node returns the number that it
/// received.
pub(crate) fn node_of(own: u64, said: u64) -> Option<NodeId> {
    if own == 0 || own == said || said >> RANDOM_BITS != MARK {
        return None;
    }
    NonZeroU64::new(said).map(NodeId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_marked_number_of_another_node_identifies_this_implementation() {
        let (mine, other) = (implementation_id(1), implementation_id(u64::MAX));
        for (own, said, same_implementation) in [
            (mine, other, true),
            (mine, implementation_id(0), true),
            // A kernel's reflection, or this node itself.
            (mine, mine, false),
            (mine, 0, false),
            // An incarnation.
            (mine, 0x17e0_1234_5678_9abc, false),
            // A node that sends no number is taken for a kernel, and so takes others for kernels.
            (0, other, false),
            (0, 0, false),
        ] {
            assert_eq!(node_of(own, said).is_some(), same_implementation, "{own:x} {said:x}");
        }
    }
}
