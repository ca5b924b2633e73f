//! The peer NIs that a local NI reaches, as its criteria see them.

use crate::model::{AddressFamily, LOWEST_PRIORITY, Ni, PeerNi};

/// The values that the peer NIs which a local NI reaches have, where not every local NI reaches every peer NI.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// Whether the address of the local NI is of another family than those of the peer NIs.
    pub(super) other_family: bool,
    /// The best health of the peer NIs.
    pub(super) peer_health: u32,
    /// The best priority of the peer NIs by selection rules.
    pub(super) peer_priority: u32,
}

impl Reach {
    /// The values where every local NI reaches every peer NI: the same for all.
    pub(super) const ALL: Self = Self { other_family: false, peer_health: 1, peer_priority: LOWEST_PRIORITY };

    /// The values for one peer NI, which is given.
    pub(super) fn one(ni: &Ni, peer_ni: &PeerNi) -> Self {
        Self { other_family: AddressFamily::of(ni.nid()) != AddressFamily::of(peer_ni.nid()), ..Self::ALL }
    }
}
