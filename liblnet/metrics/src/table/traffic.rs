//! The metrics that interfaces and peer NIs have in common.

use crate::row::{Point, one};
use lnet_dlc::request::{CommCount, ElementStats, MessageStats};

/// Makes the rows of traffic of one kind of object. The names begin with `$prefix`; `$what` is the object in the help texts; `$source`
/// is the variant of [`Source`](crate::row::Source).
macro_rules! traffic_rows {
    ($prefix:literal, $what:literal, $source:path) => {
        [
            $crate::row::Row {
                name: concat!($prefix, "_messages"),
                kind: $crate::row::Kind::Counter,
                unit: None,
                help: concat!("Messages of ", $what, ", by outcome and by type."),
                extra_labels: &["outcome", "type"],
                of: $source(|ni| $crate::table::traffic::messages(&ni.messages)),
            },
            $crate::row::Row {
                name: concat!($prefix, "_bytes"),
                kind: $crate::row::Kind::Counter,
                unit: Some($crate::row::Unit::Bytes),
                help: concat!("Bytes of payload of messages of ", $what, ", by outcome."),
                extra_labels: &["outcome"],
                of: $source(|ni| $crate::table::traffic::bytes(&ni.bytes)),
            },
            $crate::row::Row {
                name: concat!($prefix, "_heat_messages"),
                kind: $crate::row::Kind::Gauge,
                unit: None,
                help: concat!("Recent messages of ", $what, ": the weight of each halves every 10 seconds."),
                extra_labels: &[],
                of: $source(|ni| $crate::table::traffic::heat(ni.heat.messages)),
            },
            $crate::row::Row {
                name: concat!($prefix, "_heat_bytes"),
                kind: $crate::row::Kind::Gauge,
                unit: Some($crate::row::Unit::Bytes),
                help: concat!("Recent bytes of ", $what, ": the weight of each halves every 10 seconds."),
                extra_labels: &[],
                of: $source(|ni| $crate::table::traffic::heat(ni.heat.bytes)),
            },
        ]
    };
}
pub(super) use traffic_rows;

pub(super) fn messages(messages: &MessageStats) -> Vec<Point> {
    let outcomes = [("sent", messages.sent), ("received", messages.received), ("dropped", messages.dropped)];
    let points = outcomes.into_iter().flat_map(|(outcome, CommCount { put, get, reply, ack, hello })| {
        [("put", put), ("get", get), ("reply", reply), ("ack", ack), ("hello", hello)]
            .map(|(kind, count)| (vec![outcome.into(), kind.into()], count.into()))
    });
    points.collect()
}

pub(super) fn bytes(&ElementStats { sent, received, dropped }: &ElementStats) -> Vec<Point> {
    crate::row::by([("sent", sent), ("received", received), ("dropped", dropped)])
}

/// The heat, which requests have in thousandths.
pub(super) fn heat(thousandths: u64) -> Vec<Point> {
    one(thousandths as f64 / 1000.0)
}
