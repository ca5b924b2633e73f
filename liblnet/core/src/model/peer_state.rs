//! The state flags of a peer, as the kernel's tools show them.

/// The state flags of a peer, with the bits that the kernel's tools show (dlc appendix C).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerState(pub u32);

impl PeerState {
    /// Its NIDs are interchangeable.
    pub const MULTI_RAIL: Self = Self(1 << 0);
    /// The peer, or this node, does not discover.
    pub const NO_DISCOVERY: Self = Self(1 << 1);
    /// It forwards messages.
    pub const ROUTER_ENABLED: Self = Self(1 << 2);
    /// It is configured.
    pub const CONFIGURED: Self = Self(1 << 3);
    /// It has been discovered.
    pub const DISCOVERED: Self = Self(1 << 4);
    /// It must be discovered again; UNDISCOVERED in the design's words.
    pub const REDISCOVER: Self = Self(1 << 5);
    /// It is being discovered, or is queued for it.
    pub const DISCOVERING: Self = Self(1 << 6);
    /// Ping information has been received and not merged.
    pub const DATA_PRESENT: Self = Self(1 << 7);
    /// Its NIDs are up to date.
    pub const NIDS_UPTODATE: Self = Self(1 << 8);
    /// A ping is in flight.
    pub const PING_SENT: Self = Self(1 << 9);
    /// A push is in flight.
    pub const PUSH_SENT: Self = Self(1 << 10);
    /// The last ping failed, and that has not been handled.
    pub const PING_FAILED: Self = Self(1 << 11);
    /// The last push failed, and that has not been handled.
    pub const PUSH_FAILED: Self = Self(1 << 12);
    /// It must be pinged in any case; PING_REQUIRED in the design's words.
    pub const FORCE_PING: Self = Self(1 << 13);
    /// It must be pushed to in any case.
    pub const FORCE_PUSH: Self = Self(1 << 14);
    /// It is a gateway, and whether it still answers and forwards is being checked: messages to it do not wait for that (DI-30).
    pub const RTR_DISCOVERY: Self = Self(1 << 16);
    /// It was checked as a gateway, with whatever result.
    pub const RTR_DISCOVERED: Self = Self(1 << 17);
    /// It is to be removed and discovered again.
    pub const MARK_DELETION: Self = Self(1 << 18);
    /// Its primary NID is locked (OM-24).
    pub const LOCK_PRIMARY: Self = Self(1 << 20);
    /// Another peer claims one of its NIDs, and both are locked.
    pub const BAD_CONFIG: Self = Self(1 << 21);

    /// Whether all bits of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// With the bits of `other` if `set`.
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
