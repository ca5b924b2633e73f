//! States of interfaces in one word, derived from what is known (behaviour sheet 10.2; the FSMs of the design).

use crate::settings::MAX_HEALTH;
use crate::topology::{Net, Ni, PeerNi};
use std::fmt;

/// How an interface of this node, or a net of it, is (dbg-030).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NiState {
    /// All is well.
    Active,
    /// It works, but messages have failed lately.
    Degraded,
    /// It does not work.
    Failed,
}

/// How a peer's interface is, as far as this node has used it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerNiState {
    /// Nothing has been sent to it.
    Created,
    /// Something is under way to it, and nothing has been heard of it yet.
    Activating,
    /// The last exchange went well.
    Connected,
    /// Messages have failed, or its node says that it does not work.
    Failed,
}

impl NiState {
    /// Of an interface.
    pub fn of(ni: &Ni) -> Self {
        match ni.health() {
            0 => Self::Failed,
            _ if ni.is_fatal() => Self::Failed,
            MAX_HEALTH.. => Self::Active,
            _ => Self::Degraded,
        }
    }

    /// Of a net: that of its best interface.
    pub fn of_net(net: &Net) -> Self {
        let mut states = net.nis().iter().map(|ni| Self::of(ni));
        let rank = |state: &Self| match state {
            Self::Active => 0,
            Self::Degraded => 1,
            Self::Failed => 2,
        };
        let first = states.next().unwrap_or(Self::Failed);
        states.fold(first, |best, next| if rank(&next) < rank(&best) { next } else { best })
    }
}

impl PeerNiState {
    /// Of a peer NI.
    pub fn of(peer_ni: &PeerNi) -> Self {
        let counters = peer_ni.counters().read_all();
        let heard = counters.received.messages() > 0;
        let sent = counters.sent.messages() > 0 || peer_ni.queued_bytes() > 0;
        match () {
            () if peer_ni.usable_health() < MAX_HEALTH => Self::Failed,
            () if heard => Self::Connected,
            () if sent => Self::Activating,
            () => Self::Created,
        }
    }
}

impl fmt::Display for NiState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Active => "ACTIVE",
            Self::Degraded => "DEGRADED",
            Self::Failed => "FAILED",
        })
    }
}

impl fmt::Display for PeerNiState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Created => "CREATED",
            Self::Activating => "ACTIVATING",
            Self::Connected => "CONNECTED",
            Self::Failed => "FAILED",
        })
    }
}
