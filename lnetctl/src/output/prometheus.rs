//! Counters and states in the text exposition format of Prometheus, version 0.0.4 (dbg-005 to dbg-095).
//!
//! Families have the order of this file; within a family, interfaces are listed net by net and peers in the order in which
//! they were added, so that two outputs can be compared. Each family is written once, for all kinds of objects.

use lnet_dlc::ops::sample::Sample;
use lnet_dlc::request::{
    CommCount, ElementStats, Heat, LnetStats, LocalHealth, LocalNi, MessageStats, NiState, NiStatus, Peer,
    PeerHealth, PeerNi, PeerNiState,
};
use lnet_wire::Reachability;
use std::fmt::{Display, Write};

/// The whole text. Numbers of messages are counters, named `..._total`; states are gauges.
pub fn exposition(sample: &Sample) -> String {
    let mut page = Page::default();
    let of_node = Labels::default().with("node", &sample.node.name);
    let version = of_node.clone().with("version", &sample.node.version);
    page.family("lnet_info", GAUGE, "1, with the version of the library.", [(version, 1)]);
    page.family("lnet_peers", GAUGE, "Known peers.", [(of_node.clone(), sample.peer_count)]);
    let help = "Programs that are attached to the node.";
    page.family("lnet_attached_programs", GAUGE, help, [(of_node.clone(), sample.program_count)]);
    node(&mut page, &of_node, &sample.stats);
    nis(&mut page, &of_node, &sample.nis);
    reachability(&mut page, &of_node, sample.other_peers());
    peer_nis(&mut page, &of_node, &sample.peers);
    page.0
}

fn node(page: &mut Page, of_node: &Labels, stats: &LnetStats) {
    let by = |key, values: &[(&'static str, u64)]| -> Vec<_> {
        values.iter().map(|(value, count)| (of_node.clone().with(key, value), *count)).collect()
    };
    let messages = [
        ("sent", stats.send_count),
        ("received", stats.recv_count),
        ("routed", stats.route_count),
        ("dropped", stats.drop_count),
    ];
    page.family("lnet_messages_total", COUNTER, "Messages, by outcome.", by("outcome", &messages));
    let bytes = [
        ("sent", stats.send_length),
        ("received", stats.recv_length),
        ("routed", stats.route_length),
        ("dropped", stats.drop_length),
    ];
    let help = "Bytes of payload of messages, by outcome.";
    page.family("lnet_bytes_total", COUNTER, help, by("outcome", &bytes));
    let one = |count| [(of_node.clone(), count)];
    page.family("lnet_resends_total", COUNTER, "Messages resent.", one(stats.resend_count));
    let help = "Responses that did not arrive in time.";
    page.family("lnet_response_timeouts_total", COUNTER, help, one(stats.response_timeout_count));
    let failures = [
        ("local_interrupt", stats.local_interrupt_count),
        ("local_dropped", stats.local_dropped_count),
        ("local_aborted", stats.local_aborted_count),
        ("local_no_route", stats.local_no_route_count),
        ("local_timeout", stats.local_timeout_count),
        ("local_error", stats.local_error_count),
        ("remote_dropped", stats.remote_dropped_count),
        ("remote_error", stats.remote_error_count),
        ("remote_timeout", stats.remote_timeout_count),
        ("network_timeout", stats.network_timeout_count),
    ];
    page.family("lnet_failures_total", COUNTER, "Failed send attempts, by cause.", by("cause", &failures));
    page.family("lnet_responses_awaited", GAUGE, "Responses awaited.", one(stats.rst_alloc));
    let help = "Messages that have arrived in part and may be sent again.";
    page.family("lnet_partial_messages", GAUGE, help, one(stats.partial_count));
    let help = "Messages in part that were given up: not sent again in time, or too many.";
    page.family("lnet_partial_messages_dropped_total", COUNTER, help, one(stats.partial_dropped_count));
    let help = "Messages with the origin of another node that were not on the way from there.";
    page.family("lnet_origins_refused_total", COUNTER, help, one(stats.origin_refused_count));
}

/// The families of the local NIs.
fn nis(page: &mut Page, of_node: &Labels, nis: &[LocalNi]) {
    let all: Vec<(Labels, &LocalNi)> = nis
        .iter()
        .map(|ni| {
            let labels = of_node.clone().with("net", ni.nid.net()).with("nid", ni.nid);
            (labels.with("interface", ni.interface.as_deref().unwrap_or_default()), ni)
        })
        .collect();
    let mut gauge = |name, help, value: &dyn Fn(&LocalNi) -> Option<i64>| {
        let values = all.iter().filter_map(|(labels, ni)| Some((labels.clone(), value(ni)?)));
        page.family(name, GAUGE, help, values);
    };
    gauge("lnet_ni_up", "Whether an interface is up: 1 or 0.", &|ni| {
        Some((ni.status == NiStatus::Up).into())
    });
    gauge("lnet_ni_health", "Health value of an interface: 0 to 1000.", &|ni| {
        // The loopback has no health.
        (!ni.nid.is_loopback()).then_some(ni.health.value.into())
    });
    let help = "Whether the driver reports a fatal error of an interface: 1 or 0.";
    gauge("lnet_ni_fatal_error", help, &|ni| Some(ni.health.fatal_error.into()));
    let help = "Send credits of an interface that are available; a negative value is the number of messages that wait.";
    gauge("lnet_ni_tx_credits", help, &|ni| Some(ni.tx_credits));
    gauge(
        "lnet_ni_tx_credits_min",
        "The lowest value that the send credits of an interface have reached.",
        &|ni| Some(ni.min_tx_credits),
    );
    gauge("lnet_ni_tx_credits_max", "Send credits of an interface, as configured.", &|ni| {
        ni.tunables.credits.map(i64::from)
    });
    traffic(page, "lnet_ni", "an interface", &all, |ni| (&ni.messages, &ni.bytes, &ni.heat));
    let failures = all.iter().flat_map(|(labels, ni)| {
        let LocalHealth { interrupts, dropped, aborted, no_route, timeouts, error, .. } = ni.health;
        let causes = [
            ("interrupt", interrupts),
            ("dropped", dropped),
            ("aborted", aborted),
            ("no_route", no_route),
            ("timeout", timeouts),
            ("error", error),
        ];
        causes.map(|(cause, count)| (labels.clone().with("cause", cause), count))
    });
    page.family("lnet_ni_failures_total", COUNTER, "Failures of an interface, by cause.", failures);
    let states = all.iter().filter_map(|(labels, ni)| Some((labels, ni.health.state?)));
    let values = states.flat_map(|(labels, its)| {
        [NiState::Active, NiState::Degraded, NiState::Failed]
            .map(|state| (labels.clone().with("state", state.text()), u32::from(state == its)))
    });
    page.family(
        "lnet_ni_state",
        GAUGE,
        "State of an interface: 1 for the current state, 0 for the others.",
        values,
    );
    let pings = all.iter().map(|(labels, ni)| (labels.clone(), ni.health.ping_count));
    let help = "Recovery pings of an interface since it last responded.";
    page.family("lnet_ni_recovery_pings", GAUGE, help, pings);
}

/// Writes the reachability of peers. A peer of unknown reachability has no samples: an alert on the value 0 concerns
/// unreachable peers only.
fn reachability<'a>(page: &mut Page, of_node: &Labels, peers: impl Iterator<Item = &'a Peer>) {
    let known = peers.filter_map(|peer| {
        let its = peer.reachability.filter(|its| its.state != Reachability::Unknown)?;
        Some((of_node.clone().with("peer", peer.primary), its))
    });
    let known: Vec<_> = known.collect();
    let reachable =
        known.iter().map(|(labels, its)| (labels.clone(), u32::from(its.state != Reachability::Unreachable)));
    let help = "Whether a peer is reachable: 1 or 0; absent for a peer from which nothing was received.";
    page.family("lnet_peer_reachable", GAUGE, help, reachable);
    let paths = known.iter().map(|(labels, its)| (labels.clone(), its.paths));
    page.family("lnet_peer_paths", GAUGE, "Paths to a peer: pairs of a local NI and a peer NI.", paths);
    let usable = known.iter().map(|(labels, its)| (labels.clone(), its.usable_paths));
    page.family("lnet_peer_paths_usable", GAUGE, "Paths to a peer that can be used.", usable);
}

fn peer_nis(page: &mut Page, of_node: &Labels, peers: &[Peer]) {
    let all: Vec<(Labels, &PeerNi)> = peers
        .iter()
        .flat_map(|peer| peer.nis.iter().map(move |ni| (peer, ni)))
        .map(|(peer, ni)| {
            let labels = of_node.clone().with("net", ni.nid.net()).with("peer", peer.primary);
            (labels.with("nid", ni.nid), ni)
        })
        .collect();
    let mut gauge = |name, help, value: &dyn Fn(&PeerNi) -> Option<i64>| {
        let values = all.iter().filter_map(|(labels, ni)| Some((labels.clone(), value(ni)?)));
        page.family(name, GAUGE, help, values);
    };
    let help = "Whether a peer NI responds: 1 or 0; only where that is monitored.";
    gauge("lnet_peer_ni_up", help, &|ni| ni.alive.map(i64::from));
    let help = "Whether the node of a peer NI reports it as down: 1 or 0.";
    gauge("lnet_peer_ni_reported_down", help, &|ni| Some(ni.reported_down.into()));
    gauge("lnet_peer_ni_health", "Health value of a peer NI: 0 to 1000.", &|ni| Some(ni.health.value.into()));
    let help =
        "Send credits of a peer NI that are available; a negative value is the number of messages that wait.";
    gauge("lnet_peer_ni_tx_credits", help, &|ni| Some(ni.tx_credits.into()));
    gauge(
        "lnet_peer_ni_tx_credits_min",
        "The lowest value that the send credits of a peer NI have reached.",
        &|ni| Some(ni.min_tx_credits.into()),
    );
    let help = "Send credits of a peer NI, as configured.";
    gauge("lnet_peer_ni_tx_credits_max", help, &|ni| Some(ni.max_tx_credits.into()));
    let help = "Bytes queued for a peer NI or in transmission to it.";
    gauge("lnet_peer_ni_queued_bytes", help, &|ni| Some(ni.tx_queued_bytes.into()));
    traffic(page, "lnet_peer_ni", "a peer NI", &all, |ni| (&ni.messages, &ni.bytes, &ni.heat));
    let failures = all.iter().flat_map(|(labels, ni)| {
        let PeerHealth { dropped, timeout, error, network_timeout, .. } = ni.health;
        let causes = [
            ("dropped", dropped),
            ("timeout", timeout),
            ("error", error),
            ("network_timeout", network_timeout),
        ];
        causes.map(|(cause, count)| (labels.clone().with("cause", cause), count))
    });
    page.family("lnet_peer_ni_failures_total", COUNTER, "Failures of a peer NI, by cause.", failures);
    let states = all.iter().filter_map(|(labels, ni)| Some((labels, ni.health.state?)));
    let values = states.flat_map(|(labels, its)| {
        use PeerNiState::{Activating, Connected, Created, Failed};
        [Created, Activating, Connected, Failed]
            .map(|state| (labels.clone().with("state", state.text()), u32::from(state == its)))
    });
    page.family(
        "lnet_peer_ni_state",
        GAUGE,
        "State of a peer NI: 1 for the current state, 0 for the others.",
        values,
    );
    let unresponsive = all.iter().map(|(labels, ni)| (labels.clone(), ni.health.unresponsive_from.len()));
    let help = "Paths to a peer NI, one for each interface of this node, that are unresponsive.";
    page.family("lnet_peer_ni_unresponsive_paths", GAUGE, help, unresponsive);
    let pings = all.iter().map(|(labels, ni)| (labels.clone(), ni.health.ping_count));
    let help = "Recovery pings to a peer NI since it last responded.";
    page.family("lnet_peer_ni_recovery_pings", GAUGE, help, pings);
}

/// Writes the metric families that interfaces and peer NIs have in common. Their names begin with `prefix`; `what` is the
/// kind of object in the help texts.
fn traffic<T>(
    page: &mut Page,
    prefix: &str,
    what: &str,
    all: &[(Labels, &T)],
    of: impl Fn(&T) -> (&MessageStats, &ElementStats, &Heat),
) {
    let messages = all.iter().flat_map(|(labels, it)| {
        let (messages, ..) = of(it);
        let outcomes =
            [("sent", messages.sent), ("received", messages.received), ("dropped", messages.dropped)];
        outcomes.into_iter().flat_map(move |(outcome, CommCount { put, get, reply, ack, hello })| {
            let labels = labels.clone().with("outcome", outcome);
            [("put", put), ("get", get), ("reply", reply), ("ack", ack), ("hello", hello)]
                .map(|(kind, count)| (labels.clone().with("type", kind), count))
        })
    });
    let help = format!("Messages of {what}, by outcome and by type.");
    page.family(&format!("{prefix}_messages_total"), COUNTER, &help, messages);
    let bytes = all.iter().flat_map(|(labels, it)| {
        let (_, &ElementStats { sent, received, dropped }, _) = of(it);
        [("sent", sent), ("received", received), ("dropped", dropped)]
            .map(|(outcome, count)| (labels.clone().with("outcome", outcome), count))
    });
    let help = format!("Bytes of payload of messages of {what}, by outcome.");
    page.family(&format!("{prefix}_bytes_total"), COUNTER, &help, bytes);
    let heat = |of_heat: fn(&Heat) -> u64| {
        all.iter().map(|(labels, it)| (labels.clone(), of_heat(of(it).2) as f64 / 1000.0)).collect::<Vec<_>>()
    };
    let help = format!("Recent messages of {what}: the weight of each halves every 10 seconds.");
    page.family(&format!("{prefix}_heat_messages"), GAUGE, &help, heat(|it| it.messages));
    let help = format!("Recent bytes of {what}: the weight of each halves every 10 seconds.");
    page.family(&format!("{prefix}_heat_bytes"), GAUGE, &help, heat(|it| it.bytes));
}

const COUNTER: &str = "counter";
const GAUGE: &str = "gauge";

/// `a="1",b="2"`, escaped.
#[derive(Clone, Debug, Default)]
struct Labels(String);

impl Labels {
    fn with(mut self, name: &str, value: impl Display) -> Self {
        let comma = if self.0.is_empty() { "" } else { "," };
        let value = escape(&value.to_string()).replace('"', "\\\"");
        let _ = write!(self.0, "{comma}{name}=\"{value}\"");
        self
    }
}

/// Escapes the text of a HELP line.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

#[derive(Default)]
struct Page(String);

impl Page {
    /// Writes a family, or nothing if it has no values.
    fn family<V: Display>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels, V)>,
    ) {
        let mut values = values.into_iter().peekable();
        if values.peek().is_some() {
            let _ = writeln!(self.0, "# HELP {name} {}\n# TYPE {name} {kind}", escape(help));
        }
        for (Labels(labels), value) in values {
            let _ = writeln!(self.0, "{name}{{{labels}}} {value}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_values_are_escaped() {
        let labels = Labels::default().with("a", "x\"y\\z\nw").with("b", 1);
        assert_eq!(labels.0, r#"a="x\"y\\z\nw",b="1""#);
    }

    #[test]
    fn a_family_without_values_is_not_announced() {
        let mut page = Page::default();
        page.family("x", GAUGE, "a \\ b", Vec::<(Labels, u64)>::new());
        assert_eq!(page.0, "");
        page.family("x", GAUGE, "a \\ b", [(Labels::default().with("l", ""), -1)]);
        assert_eq!(page.0, "# HELP x a \\\\ b\n# TYPE x gauge\nx{l=\"\"} -1\n");
    }
}
