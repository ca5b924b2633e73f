//! The metrics that lustrefs-exporter has of LNet, under its names, for dashboards that exist. Each also has the label `node`, as
//! every node of a host has a loopback of the same NID.

use crate::row::{Kind, Row, Source, Unit, one};

pub(super) const LUSTRE: &[Row] = &[
    Row {
        name: "lustre_send_count",
        kind: Kind::Counter,
        unit: None,
        help: "Messages that an interface has sent.",
        extra_labels: &[],
        of: Source::NiByNid(|ni| one(ni.stats.sent)),
    },
    Row {
        name: "lustre_receive_count",
        kind: Kind::Counter,
        unit: None,
        help: "Messages that an interface has received.",
        extra_labels: &[],
        of: Source::NiByNid(|ni| one(ni.stats.received)),
    },
    Row {
        name: "lustre_drop_count",
        kind: Kind::Counter,
        unit: None,
        help: "Messages that an interface has dropped.",
        extra_labels: &[],
        of: Source::NiByNid(|ni| one(ni.stats.dropped)),
    },
    Row {
        name: "lustre_send_bytes",
        kind: Kind::Counter,
        unit: Some(Unit::Bytes),
        help: "Bytes of payload that the node has sent.",
        extra_labels: &[],
        of: Source::Node(|sample| one(sample.stats.send_length)),
    },
    Row {
        name: "lustre_receive_bytes",
        kind: Kind::Counter,
        unit: Some(Unit::Bytes),
        help: "Bytes of payload that the node has received.",
        extra_labels: &[],
        of: Source::Node(|sample| one(sample.stats.recv_length)),
    },
    Row {
        name: "lustre_drop_bytes",
        kind: Kind::Counter,
        unit: Some(Unit::Bytes),
        help: "Bytes of payload that the node has dropped.",
        extra_labels: &[],
        of: Source::Node(|sample| one(sample.stats.drop_length)),
    },
];
