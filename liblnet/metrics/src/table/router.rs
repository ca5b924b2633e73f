//! The metrics of routes, of gateways, and of a node that forwards.

use crate::row::{Kind, Number, Point, Row, Source, by, one, some};
use lnet_dlc::request::{BufferPool, CptBuffers};

pub(super) const ROUTER: &[Row] = &[
    Row {
        name: "lnet_route_up",
        kind: Kind::Gauge,
        unit: None,
        help: "Whether a route to a net can be used: 1 or 0.",
        extra_labels: &[],
        of: Source::Route(|route| one(route.alive)),
    },
    Row {
        name: "lnet_route_hops",
        kind: Kind::Gauge,
        unit: None,
        help: "Hops of a route, if they are configured.",
        extra_labels: &[],
        of: Source::Route(|route| some(route.hops)),
    },
    Row {
        name: "lnet_route_priority",
        kind: Kind::Gauge,
        unit: None,
        help: "Priority of a route; the smallest number is preferred.",
        extra_labels: &[],
        of: Source::Route(|route| one(route.priority)),
    },
    Row {
        name: "lnet_gateway_up",
        kind: Kind::Gauge,
        unit: None,
        help: "Whether any route by a gateway can be used: 1 or 0.",
        extra_labels: &[],
        of: Source::Gateway(|routes| one(routes.iter().any(|route| route.alive))),
    },
    Row {
        name: "lnet_gateway_routes",
        kind: Kind::Gauge,
        unit: None,
        help: "Routes by a gateway.",
        extra_labels: &[],
        of: Source::Gateway(|routes| one(routes.len())),
    },
    Row {
        name: "lnet_forwarding",
        kind: Kind::Gauge,
        unit: None,
        help: "Whether the node forwards messages of other nodes: 1 or 0.",
        extra_labels: &[],
        of: Source::Node(|sample| one(sample.buffers.iter().any(|cpt| cpt.enabled))),
    },
    Row {
        name: "lnet_router_buffers",
        kind: Kind::Gauge,
        unit: None,
        help: "Router buffers of a CPT, by size.",
        extra_labels: &["size"],
        of: Source::Buffers(|cpt| by_size(cpt, |pool| pool.buffers.into())),
    },
    Row {
        name: "lnet_router_buffer_credits",
        kind: Kind::Gauge,
        unit: None,
        help: "Router buffers of a CPT that are free, by size; a negative value is the number of messages that wait.",
        extra_labels: &["size"],
        of: Source::Buffers(|cpt| by_size(cpt, |pool| pool.credits.into())),
    },
    Row {
        name: "lnet_router_buffer_credits_min",
        kind: Kind::Gauge,
        unit: None,
        help: "The lowest number of free router buffers of a CPT so far, by size.",
        extra_labels: &["size"],
        of: Source::Buffers(|cpt| by_size(cpt, |pool| pool.min_credits.into())),
    },
];

fn by_size(cpt: &CptBuffers, number: fn(&BufferPool) -> Number) -> Vec<Point> {
    by([("tiny", number(&cpt.tiny)), ("small", number(&cpt.small)), ("large", number(&cpt.large))])
}
