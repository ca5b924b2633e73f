//! The metrics of a node as a whole (dbg-005, dbg-020, dbg-045).

use crate::row::{Kind, Row, Source, Unit, by, one, some};

pub(super) const NODE: &[Row] = &[
    Row {
        name: "lnet_node_up",
        kind: Kind::Gauge,
        unit: None,
        help: "Whether the node answers: 1 or 0; without an answer the node has no other metrics.",
        extra_labels: &[],
        of: Source::NodeUp,
    },
    Row {
        name: "lnet",
        kind: Kind::Info,
        unit: None,
        help: "1, with the version of the library.",
        extra_labels: &["version"],
        of: Source::Node(|sample| vec![(vec![sample.node.version.clone().into()], 1_u32.into())]),
    },
    Row {
        name: "lnet_start_time_seconds",
        kind: Kind::Gauge,
        unit: Some(Unit::Seconds),
        help: "Time at which the node started, in seconds since 1970-01-01 UTC.",
        extra_labels: &[],
        of: Source::Node(|sample| some(sample.node.started_ms.map(|ms| ms as f64 / 1000.0))),
    },
    Row {
        name: "lnet_peers",
        kind: Kind::Gauge,
        unit: None,
        help: "Known peers.",
        extra_labels: &[],
        of: Source::Node(|sample| one(sample.peer_count)),
    },
    Row {
        name: "lnet_attached_programs",
        kind: Kind::Gauge,
        unit: None,
        help: "Programs that are attached to the node.",
        extra_labels: &[],
        of: Source::Node(|sample| one(sample.program_count)),
    },
    Row {
        name: "lnet_messages",
        kind: Kind::Counter,
        unit: None,
        help: "Messages, by outcome.",
        extra_labels: &["outcome"],
        of: Source::Node(|sample| {
            by([
                ("sent", sample.stats.send_count),
                ("received", sample.stats.recv_count),
                ("routed", sample.stats.route_count),
                ("dropped", sample.stats.drop_count),
            ])
        }),
    },
    Row {
        name: "lnet_bytes",
        kind: Kind::Counter,
        unit: Some(Unit::Bytes),
        help: "Bytes of payload of messages, by outcome.",
        extra_labels: &["outcome"],
        of: Source::Node(|sample| {
            by([
                ("sent", sample.stats.send_length),
                ("received", sample.stats.recv_length),
                ("routed", sample.stats.route_length),
                ("dropped", sample.stats.drop_length),
            ])
        }),
    },
    Row {
        name: "lnet_resends",
        kind: Kind::Counter,
        unit: None,
        help: "Messages resent.",
        extra_labels: &[],
        of: Source::Node(|sample| one(sample.stats.resend_count)),
    },
    Row {
        name: "lnet_resent_messages",
        kind: Kind::Counter,
        unit: None,
        help: "Messages that were resent at least once, by how they ended.",
        extra_labels: &["outcome"],
        of: Source::Node(|sample| {
            let stats = &sample.stats;
            by([("sent", stats.resend_succeeded_count), ("failed", stats.resend_failed_count)])
        }),
    },
    Row {
        name: "lnet_response_timeouts",
        kind: Kind::Counter,
        unit: None,
        help: "Responses that did not arrive in time.",
        extra_labels: &[],
        of: Source::Node(|sample| one(sample.stats.response_timeout_count)),
    },
    Row {
        name: "lnet_failures",
        kind: Kind::Counter,
        unit: None,
        help: "Failed send attempts, by cause.",
        extra_labels: &["cause"],
        of: Source::Node(|sample| {
            let stats = &sample.stats;
            by([
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
            ])
        }),
    },
    Row {
        name: "lnet_responses_awaited",
        kind: Kind::Gauge,
        unit: None,
        help: "Responses awaited.",
        extra_labels: &[],
        of: Source::Node(|sample| one(sample.stats.rst_alloc)),
    },
    Row {
        name: "lnet_partial_messages",
        kind: Kind::Gauge,
        unit: None,
        help: "Messages that have arrived in part and may be sent again.",
        extra_labels: &[],
        of: Source::Node(|sample| one(sample.stats.partial_count)),
    },
    Row {
        name: "lnet_partial_messages_dropped",
        kind: Kind::Counter,
        unit: None,
        help: "Messages in part that were given up: not sent again in time, or too many.",
        extra_labels: &[],
        of: Source::Node(|sample| one(sample.stats.partial_dropped_count)),
    },
    Row {
        name: "lnet_origins_refused",
        kind: Kind::Counter,
        unit: None,
        help: "Messages with the origin of another node that were not on the way from there.",
        extra_labels: &[],
        of: Source::Node(|sample| one(sample.stats.origin_refused_count)),
    },
    Row {
        name: "lnet_cut_through_messages",
        kind: Kind::Counter,
        unit: None,
        help: "Messages that a router began to send on before they had arrived in full.",
        extra_labels: &[],
        of: Source::Node(|sample| one(sample.stats.cut_through_count)),
    },
    Row {
        name: "lnet_cut_through_bytes",
        kind: Kind::Counter,
        unit: Some(Unit::Bytes),
        help: "Bytes of payload of messages that a router began to send on before they had arrived in full.",
        extra_labels: &[],
        of: Source::Node(|sample| one(sample.stats.cut_through_length)),
    },
    Row {
        name: "lnet_cut_through_abandoned",
        kind: Kind::Counter,
        unit: None,
        help: "Messages begun before they had arrived whose rest did not come, or not in time.",
        extra_labels: &[],
        of: Source::Node(|sample| one(sample.stats.cut_through_abandoned_count)),
    },
];
