//! The metrics of the interfaces of a node (dbg-010, dbg-015, dbg-070).

use super::traffic::traffic_rows;
use crate::row::{Kind, Row, Source, Unit, by, delays, one, some};
use lnet_dlc::request::{LocalHealth, NiState, NiStatus};

pub(super) const STATE: &[Row] = &[
    Row {
        name: "lnet_ni_up",
        kind: Kind::Gauge,
        unit: None,
        help: "Whether an interface is up: 1 or 0.",
        extra_labels: &[],
        of: Source::Ni(|ni| one(ni.status == NiStatus::Up)),
    },
    Row {
        name: "lnet_ni_health",
        kind: Kind::Gauge,
        unit: None,
        help: "Health value of an interface: 0 to 1000.",
        extra_labels: &[],
        // The loopback has no health.
        of: Source::Ni(|ni| some((!ni.nid.is_loopback()).then_some(ni.health.value))),
    },
    Row {
        name: "lnet_ni_fatal_error",
        kind: Kind::Gauge,
        unit: None,
        help: "Whether the driver reports a fatal error of an interface: 1 or 0.",
        extra_labels: &[],
        of: Source::Ni(|ni| one(ni.health.fatal_error)),
    },
    Row {
        name: "lnet_ni_tx_credits",
        kind: Kind::Gauge,
        unit: None,
        help: "Send credits of an interface that are available; a negative value is the number of messages that wait.",
        extra_labels: &[],
        of: Source::Ni(|ni| one(ni.tx_credits)),
    },
    Row {
        name: "lnet_ni_tx_credits_min",
        kind: Kind::Gauge,
        unit: None,
        help: "The lowest value that the send credits of an interface have reached.",
        extra_labels: &[],
        of: Source::Ni(|ni| one(ni.min_tx_credits)),
    },
    Row {
        name: "lnet_ni_tx_credits_max",
        kind: Kind::Gauge,
        unit: None,
        help: "Send credits of an interface, as configured.",
        extra_labels: &[],
        of: Source::Ni(|ni| some(ni.tunables.credits)),
    },
];

pub(super) const TRAFFIC: [Row; 4] = traffic_rows!("lnet_ni", "an interface", Source::Ni);

pub(super) const LATENCY: &[Row] = &[Row {
    name: "lnet_ni_latency_seconds",
    kind: Kind::Histogram,
    unit: Some(Unit::Seconds),
    help: "Delays of messages of an interface, by the delay. After the first ones, one in 16 is measured.",
    extra_labels: &["delay"],
    of: Source::Ni(|ni| delays(&ni.latencies)),
}];

pub(super) const HEALTH: &[Row] = &[
    Row {
        name: "lnet_ni_failures",
        kind: Kind::Counter,
        unit: None,
        help: "Failures of an interface, by cause.",
        extra_labels: &["cause"],
        of: Source::Ni(|ni| {
            let LocalHealth { interrupts, dropped, aborted, no_route, timeouts, error, .. } = ni.health;
            by([
                ("interrupt", interrupts),
                ("dropped", dropped),
                ("aborted", aborted),
                ("no_route", no_route),
                ("timeout", timeouts),
                ("error", error),
            ])
        }),
    },
    Row {
        name: "lnet_ni_state",
        kind: Kind::Gauge,
        unit: None,
        help: "State of an interface: 1 for the current state, 0 for the others.",
        extra_labels: &["state"],
        of: Source::Ni(|ni| {
            let states = [NiState::Active, NiState::Degraded, NiState::Failed];
            ni.health.state.map_or_else(Vec::new, |its| by(states.map(|state| (state.text(), state == its))))
        }),
    },
    Row {
        name: "lnet_ni_recovery_pings",
        kind: Kind::Gauge,
        unit: None,
        help: "Recovery pings of an interface since it last responded.",
        extra_labels: &[],
        of: Source::Ni(|ni| one(ni.health.ping_count)),
    },
];
