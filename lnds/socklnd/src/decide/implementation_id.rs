//! Which peers are nodes of this implementation: they say so where a kernel has nothing to say.
//!
//! In a HELLO the destination's incarnation is 0 from a kernel that connects, and what it was sent from a kernel that
//! answers; nobody checks it (wire-tcp 2.3). There a node of this implementation puts a number of its own.

use std::num::NonZeroU64;

/// What the upper 16 bits of such a number are.
const MARK: u64 = 0x6c73;
const RANDOM_BITS: u32 = 48;

/// A node of this implementation, in one incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(pub(crate) NonZeroU64);

/// The number that a node says it is, of random bits drawn when it starts.
pub const fn implementation_id(random: u64) -> u64 {
    MARK << RANDOM_BITS | random & ((1 << RANDOM_BITS) - 1)
}

/// Who a peer is that said `said` to a node that says `own` (0: nothing). `None`: not one of this implementation, or one that takes us
/// for another kind of node; a kernel gives us back what we said.
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
            // Who says nothing is taken for a kernel, and so takes others for kernels.
            (0, other, false),
            (0, 0, false),
        ] {
            assert_eq!(node_of(own, said).is_some(), same_implementation, "{own:x} {said:x}");
        }
    }
}
