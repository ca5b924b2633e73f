//! The state flags of a peer, as the kernel's tools show them.

/// The state flags of a peer, with the bits that the kernel's tools show (dlc appendix C).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerState(pub u32);

impl PeerState {
    /// The peer is multi-rail: its NIDs are interchangeable.
    pub const MULTI_RAIL: Self = Self(1 << 0);
    /// The peer, or this node, does not discover.
    pub const NO_DISCOVERY: Self = Self(1 << 1);
    /// The peer forwards messages.
    pub const ROUTER_ENABLED: Self = Self(1 << 2);
    /// The peer is configured.
    pub const CONFIGURED: Self = Self(1 << 3);
    /// The peer has been discovered.
    pub const DISCOVERED: Self = Self(1 << 4);
    /// The peer must be discovered again; UNDISCOVERED in the design's words.
    pub const REDISCOVER: Self = Self(1 << 5);
    /// The peer is being discovered, or is queued for it.
    pub const DISCOVERING: Self = Self(1 << 6);
    /// Ping information has been received and not merged.
    pub const DATA_PRESENT: Self = Self(1 << 7);
    /// The peer's NIDs are up to date.
    pub const NIDS_UPTODATE: Self = Self(1 << 8);
    /// A ping is in flight.
    pub const PING_SENT: Self = Self(1 << 9);
    /// A push is in flight.
    pub const PUSH_SENT: Self = Self(1 << 10);
    /// The last ping has failed, which has not been handled yet.
    pub const PING_FAILED: Self = Self(1 << 11);
    /// The last push has failed, which has not been handled yet.
    pub const PUSH_FAILED: Self = Self(1 << 12);
    /// A ping is necessary in any case; PING_REQUIRED in the design's words.
    pub const FORCE_PING: Self = Self(1 << 13);
    /// A push is necessary in any case.
    pub const FORCE_PUSH: Self = Self(1 << 14);
    /// The peer is a gateway that is being checked: whether it responds and forwards. Messages to it do not wait for that
    /// (DI-30).
    pub const RTR_DISCOVERY: Self = Self(1 << 16);
    /// The check of the peer as a gateway has ended, with any result.
    pub const RTR_DISCOVERED: Self = Self(1 << 17);
    /// The peer is to be removed and discovered again.
    pub const MARK_DELETION: Self = Self(1 << 18);
    /// The primary NID of the peer is locked (OM-24).
    pub const LOCK_PRIMARY: Self = Self(1 << 20);
    /// Another peer claims one of the peer's NIDs, and both are locked.
    pub const BAD_CONFIG: Self = Self(1 << 21);

    /// Whether all bits of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The state with the bits of `other` set if `set`, else cleared.
    #[must_use]
    pub const fn with(self, other: Self, set: bool) -> Self {
        if set { Self(self.0 | other.0) } else { self }
    }

    pub(crate) const fn has_any(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}
