//! The content of the screen: rows of rails and peers, and the states of interfaces.

use super::numbers::{count, mib};
use lnet_dlc::ops::sample::Rate;
use lnet_dlc::request::{LocalNi, NiState, NiStatus};
use lnet_settings::MAX_HEALTH;

/// The content of the screen, as text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The node's name; empty while none was seen.
    pub node: String,
    /// The time since the view began, and the interval between samples.
    pub watching: String,
    /// Whether the picture stands still.
    pub paused: bool,
    /// The node's message counters since it began.
    pub totals: String,
    /// The node's message and byte rates in the last interval.
    pub rates: String,
    /// The delays of requests in the last interval.
    pub delays: String,
    /// Resent messages, unreachable peers, and unhealthy interfaces.
    pub health: String,
    /// The node's interfaces, net by net.
    pub rails: Vec<Row>,
    /// Peers, in order.
    pub peers: Vec<Row>,
    /// The number of all peers, sampled or not.
    pub peer_count: usize,
    /// Peers above the first that is shown.
    pub skipped: usize,
    /// The name of the peers' order.
    pub sort: &'static str,
    /// The reason why the last sample failed.
    pub problem: Option<String>,
}

/// A rail or a peer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The interface's NID; the primary NID of a peer.
    pub nid: String,
    /// The name of an interface; for a peer, the number of its NIDs.
    pub detail: String,
    /// The state of the interface.
    pub state: InterfaceState,
    /// The health value, 0 to 1000.
    pub health: String,
    /// The send credits: now, and the lowest number so far.
    pub credits: String,
    /// Messages per second, in both directions.
    pub messages: String,
    /// MiB sent per second.
    pub sent: String,
    /// MiB received per second.
    pub received: String,
    /// The rate as a part of the fastest row's, 0 to 1.
    pub share: f64,
    pub(super) rate: Rate,
}

impl Row {
    pub(super) fn with_rate(rate: Rate) -> Self {
        Self {
            messages: count(rate.messages()),
            sent: mib(rate.sent_bytes),
            received: mib(rate.received_bytes),
            rate,
            ..Self::default()
        }
    }
}

/// The state of an interface (dbg-030): derived, not stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InterfaceState {
    /// The interface works.
    #[default]
    Active,
    /// The interface works, but its health is below 1000.
    Degraded,
    /// The interface does not work.
    Failed,
    /// A peer to which no path can be used.
    Unreachable,
    /// A peer from which nothing has ever arrived.
    Unknown,
}

impl InterfaceState {
    /// The state of a local interface: as the node reports it, or derived from its health if the node reports none.
    pub(super) fn of(ni: &LocalNi) -> Self {
        match ni.health.state {
            Some(NiState::Active) => Self::Active,
            Some(NiState::Degraded) => Self::Degraded,
            Some(NiState::Failed) => Self::Failed,
            None => {
                let no_health = ni.nid.is_loopback();
                let broken = ni.status == NiStatus::Down || ni.health.fatal_error;
                match no_health {
                    true => Self::new(broken, MAX_HEALTH),
                    false => Self::new(broken || ni.health.value == 0, ni.health.value),
                }
            }
        }
    }

    pub(super) const fn new(broken: bool, health: u32) -> Self {
        match (broken, health) {
            (true, _) => Self::Failed,
            (false, 0..MAX_HEALTH) => Self::Degraded,
            (false, _) => Self::Active,
        }
    }

    /// The state in at most four letters.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Active => "up",
            Self::Degraded => "degr",
            Self::Failed => "fail",
            Self::Unreachable => "down",
            Self::Unknown => "unkn",
        }
    }
}

/// The bar of each row: its part of the fastest one's rate, by bytes, or by messages where no bytes go.
pub(super) fn set_shares(rows: &mut [Row]) {
    let of = |bytes: bool, row: &Row| if bytes { row.rate.bytes() } else { row.rate.messages() };
    let bytes = rows.iter().any(|row| row.rate.bytes() > 0.0);
    let most = rows.iter().map(|row| of(bytes, row)).fold(0.0, f64::max);
    for row in rows {
        row.share = if most > 0.0 { of(bytes, row) / most } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_derived_from_health() {
        let table = [
            ((false, 1000), InterfaceState::Active),
            ((false, 999), InterfaceState::Degraded),
            ((false, 0), InterfaceState::Degraded),
            ((true, 1000), InterfaceState::Failed),
        ];
        for ((broken, health), expected) in table {
            assert_eq!(InterfaceState::new(broken, health), expected, "{broken} {health}");
        }
    }
}
