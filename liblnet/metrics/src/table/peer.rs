//! The metrics of peers and of their interfaces (dbg-025, dbg-075).

use super::traffic::traffic_rows;
use crate::row::{Kind, Point, Row, Source, Unit, by, delays, one, some};
use lnet_dlc::request::{Peer, PeerHealth, PeerNiState, PeerReachability};
use lnet_wire::Reachability;

pub(super) const PEER: &[Row] = &[
    Row {
        name: "lnet_peer_reachable",
        kind: Kind::Gauge,
        unit: None,
        help: "Whether a peer is reachable: 1 or 0; absent for a peer from which nothing was received.",
        extra_labels: &[],
        of: Source::Peer(|peer| of_known(peer, |its| one(its.state != Reachability::Unreachable))),
    },
    Row {
        name: "lnet_peer_paths",
        kind: Kind::Gauge,
        unit: None,
        help: "Paths to a peer: pairs of a local NI and a peer NI.",
        extra_labels: &[],
        of: Source::Peer(|peer| of_known(peer, |its| one(its.paths))),
    },
    Row {
        name: "lnet_peer_paths_usable",
        kind: Kind::Gauge,
        unit: None,
        help: "Paths to a peer that can be used.",
        extra_labels: &[],
        of: Source::Peer(|peer| of_known(peer, |its| one(its.usable_paths))),
    },
];

/// The samples of the reachability of a peer. A peer of unknown reachability has none: an alert on the value 0 concerns
/// unreachable peers only.
fn of_known(peer: &Peer, points: fn(PeerReachability) -> Vec<Point>) -> Vec<Point> {
    let known = peer.reachability.filter(|its| its.state != Reachability::Unknown);
    known.map_or_else(Vec::new, points)
}

pub(super) const NI_STATE: &[Row] = &[
    Row {
        name: "lnet_peer_ni_up",
        kind: Kind::Gauge,
        unit: None,
        help: "Whether a peer NI responds: 1 or 0; only where that is monitored.",
        extra_labels: &[],
        of: Source::PeerNi(|ni| some(ni.alive)),
    },
    Row {
        name: "lnet_peer_ni_reported_down",
        kind: Kind::Gauge,
        unit: None,
        help: "Whether the node of a peer NI reports it as down: 1 or 0.",
        extra_labels: &[],
        of: Source::PeerNi(|ni| one(ni.reported_down)),
    },
    Row {
        name: "lnet_peer_ni_health",
        kind: Kind::Gauge,
        unit: None,
        help: "Health value of a peer NI: 0 to 1000.",
        extra_labels: &[],
        of: Source::PeerNi(|ni| one(ni.health.value)),
    },
    Row {
        name: "lnet_peer_ni_tx_credits",
        kind: Kind::Gauge,
        unit: None,
        help: "Send credits of a peer NI that are available; a negative value is the number of messages that wait.",
        extra_labels: &[],
        of: Source::PeerNi(|ni| one(ni.tx_credits)),
    },
    Row {
        name: "lnet_peer_ni_tx_credits_min",
        kind: Kind::Gauge,
        unit: None,
        help: "The lowest value that the send credits of a peer NI have reached.",
        extra_labels: &[],
        of: Source::PeerNi(|ni| one(ni.min_tx_credits)),
    },
    Row {
        name: "lnet_peer_ni_tx_credits_max",
        kind: Kind::Gauge,
        unit: None,
        help: "Send credits of a peer NI, as configured.",
        extra_labels: &[],
        of: Source::PeerNi(|ni| one(ni.max_tx_credits)),
    },
    Row {
        name: "lnet_peer_ni_queued_bytes",
        kind: Kind::Gauge,
        unit: Some(Unit::Bytes),
        help: "Bytes queued for a peer NI or in transmission to it.",
        extra_labels: &[],
        of: Source::PeerNi(|ni| one(ni.tx_queued_bytes)),
    },
];

pub(super) const NI_TRAFFIC: [Row; 4] = traffic_rows!("lnet_peer_ni", "a peer NI", Source::PeerNi);

/// A summary, because a histogram of each delay would be 30 samples for each of thousands of peer NIs.
pub(super) const NI_LATENCY: &[Row] = &[Row {
    name: "lnet_peer_ni_latency_seconds",
    kind: Kind::Summary,
    unit: Some(Unit::Seconds),
    help: "Delays of messages to and from a peer NI since the counters were last reset, by the delay. After the first ones, one in 16 is measured.",
    extra_labels: &["delay"],
    of: Source::PeerNi(|ni| delays(&ni.latencies)),
}];

pub(super) const NI_HEALTH: &[Row] = &[
    Row {
        name: "lnet_peer_ni_failures",
        kind: Kind::Counter,
        unit: None,
        help: "Failures of a peer NI, by cause.",
        extra_labels: &["cause"],
        of: Source::PeerNi(|ni| {
            let PeerHealth { dropped, timeout, error, network_timeout, .. } = ni.health;
            by([
                ("dropped", dropped),
                ("timeout", timeout),
                ("error", error),
                ("network_timeout", network_timeout),
            ])
        }),
    },
    Row {
        name: "lnet_peer_ni_state",
        kind: Kind::Gauge,
        unit: None,
        help: "State of a peer NI: 1 for the current state, 0 for the others.",
        extra_labels: &["state"],
        of: Source::PeerNi(|ni| {
            use PeerNiState::{Activating, Connected, Created, Failed};
            let states = [Created, Activating, Connected, Failed];
            ni.health.state.map_or_else(Vec::new, |its| by(states.map(|state| (state.text(), state == its))))
        }),
    },
    Row {
        name: "lnet_peer_ni_unresponsive_paths",
        kind: Kind::Gauge,
        unit: None,
        help: "Paths to a peer NI, one for each interface of this node, that are unresponsive.",
        extra_labels: &[],
        of: Source::PeerNi(|ni| one(ni.health.unresponsive_from.len())),
    },
    Row {
        name: "lnet_peer_ni_recovery_pings",
        kind: Kind::Gauge,
        unit: None,
        help: "Recovery pings to a peer NI since it last responded.",
        extra_labels: &[],
        of: Source::PeerNi(|ni| one(ni.health.ping_count)),
    },
];
