//! The states of interfaces (core-behaviour 10.2), derived from health and, for peer NIs, from the exchange of messages. Counters
//! have no part in them, because operators reset these.

use super::exchange::Exchange;
use super::net::Net;
use super::ni::Ni;
use super::peer_ni::PeerNi;
use lnet_settings::MAX_HEALTH;
use std::fmt;

/// The state of a local NI, or of a local net (dbg-030).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NiState {
    /// The interface is healthy.
    Active,
    /// The interface works, but messages have failed recently.
    Degraded,
    /// The interface is down.
    Failed,
}

/// The state of a peer NI, as far as this node has used it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerNiState {
    /// Nothing has been sent to the peer NI.
    Created,
    /// A message was sent to the peer NI, and nothing has arrived from it.
    Activating,
    /// The last exchange succeeded.
    Connected,
    /// Messages have failed, or the peer reports the interface as down.
    Failed,
}

impl NiState {
    /// The state of a local NI.
    pub fn of(ni: &Ni) -> Self {
        match ni.health() {
            0 => Self::Failed,
            _ if ni.is_fatal() => Self::Failed,
            MAX_HEALTH.. => Self::Active,
            _ => Self::Degraded,
        }
    }

    /// The state of a local net: that of its best interface.
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
    /// The state of a peer NI.
    pub fn of(peer_ni: &PeerNi) -> Self {
        Self::from_parts(peer_ni.exchange(), peer_ni.usable_health())
    }

    /// The state for this progress and health. A peer NI that has recovered returns to the state before the failure.
    const fn from_parts(exchange: Exchange, usable_health: u32) -> Self {
        match exchange {
            _ if usable_health < MAX_HEALTH => Self::Failed,
            Exchange::None => Self::Created,
            Exchange::Sent => Self::Activating,
            Exchange::Responded => Self::Connected,
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::exchange::ExchangeCell;
    use super::*;

    /// dbg-030: fails if one of these transitions leads to another state; each row is one.
    #[test]
    fn a_peer_ni_goes_from_created_over_activating_to_connected_and_through_failed_back_to_where_it_was() {
        use Exchange::{Responded, Sent};
        let table = [
            (None, MAX_HEALTH, PeerNiState::Created),
            (None, 900, PeerNiState::Failed),
            (None, MAX_HEALTH, PeerNiState::Created),
            (Some(Sent), MAX_HEALTH, PeerNiState::Activating),
            (None, 0, PeerNiState::Failed),
            (None, MAX_HEALTH, PeerNiState::Activating),
            (Some(Responded), 999, PeerNiState::Failed),
            (None, MAX_HEALTH, PeerNiState::Connected),
            (Some(Sent), MAX_HEALTH, PeerNiState::Connected),
            (None, 0, PeerNiState::Failed),
        ];
        let cell = ExchangeCell::default();
        for (i, (to, health, state)) in table.into_iter().enumerate() {
            if let Some(to) = to {
                cell.advance(to);
            }
            assert_eq!(PeerNiState::from_parts(cell.get(), health), state, "row {i}");
        }
    }
}
