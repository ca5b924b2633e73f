//! The rows of the driver's tunables.

use crate::config::{AcceptFrom, SocklndConfig};
use crate::decide::delivery_acks::DeliveryAcks;
use crate::proto::Version;
use lnet_settings::ni_ranges::{CONNS_PER_PEER, CREDITS, PEER_BUFFER_CREDITS, PEER_CREDITS, TOS};
use lnet_settings::{Access, MAX_INT, MAX_WORD, Row, Spec, Unit, Value, Values, Variable};
use lnet_settings::{choice, duration, field};

/// A tunable of this driver.
const SOCKLND: Spec = Spec { module: "socklnd", ..Spec::LNET };
/// The numbers of 32 bits from 0 on.
const FROM_0: Values = Values::Numbers(0, MAX_WORD);
/// The numbers of 32 bits from 1 on.
const FROM_1: Values = Values::Numbers(1, MAX_WORD);

/// The tunables, with the names of the kernel modules' parameters. Those of the acceptor belong to the module `lnet` there.
pub(crate) const TUNABLES: &[Row<SocklndConfig>] = &[
    Row {
        spec: Spec {
            name: "credits",
            sentence: "Messages under way at once on one interface",
            values: Values::Numbers(1, CREDITS.most),
            variables: &[Variable::new("SOCKLND_CREDITS")],
            ..SOCKLND
        },
        access: field!(ni.credits),
    },
    Row {
        spec: Spec {
            name: "peer_credits",
            sentence: "Messages under way at once to one peer's interface",
            values: Values::Numbers(1, PEER_CREDITS.most),
            variables: &[Variable::new("SOCKLND_PEER_CREDITS")],
            ..SOCKLND
        },
        access: field!(ni.peer_credits),
    },
    Row {
        spec: Spec {
            name: "peer_buffer_credits",
            sentence: "Router buffers of each CPT that one peer's interface may occupy; 0: as many as SOCKLND_PEER_CREDITS",
            values: Values::Numbers(PEER_BUFFER_CREDITS.least, PEER_BUFFER_CREDITS.most),
            variables: &[Variable::new("SOCKLND_PEER_BUFFER_CREDITS")],
            ..SOCKLND
        },
        access: field!(ni.peer_buffer_credits),
    },
    Row {
        spec: Spec {
            name: "implementation_id",
            sentence: "1: nodes of this implementation recognise each other, and messages that are resent; 0: this node \
                       hides that: it and its peers take each other for kernel nodes, for tests",
            values: Values::Switch,
            variables: &[Variable::new("SOCKLND_IMPLEMENTATION_ID")],
            ..SOCKLND
        },
        access: field!(says_implementation),
    },
    Row {
        spec: Spec {
            name: "accept",
            sentence: "Who may connect: secure (source ports below 1024 only), all, none",
            values: Values::Words(&["secure", "all", "none"]),
            variables: &[Variable::new("LNET_ACCEPT")],
            ..Spec::LNET
        },
        access: choice!(accept, [AcceptFrom::Secure, AcceptFrom::All, AcceptFrom::None]),
    },
    Row {
        spec: Spec {
            name: "accept_port",
            sentence: "The TCP port to listen on and to connect to",
            values: Values::Numbers(1, 65_535),
            variables: &[Variable::new("LNET_ACCEPT_PORT")],
            ..Spec::LNET
        },
        access: field!(accept_port),
    },
    Row {
        spec: Spec {
            name: "accept_port_bulk",
            sentence: "The TCP port that this node's bulk connections are made to, and that it listens on, too; peers have to listen \
                       there, or bulk goes by the connection for small messages; 0: LNET_ACCEPT_PORT",
            values: Values::Numbers(0, 65_535),
            variables: &[Variable::new("LNET_ACCEPT_PORT_BULK")],
            ..Spec::LNET
        },
        access: field!(accept_port_bulk),
    },
    Row {
        spec: Spec {
            name: "accept_backlog",
            sentence: "Inbound connections that the system keeps waiting",
            values: Values::Numbers(1, MAX_INT),
            variables: &[Variable::new("LNET_ACCEPT_BACKLOG")],
            ..Spec::LNET
        },
        access: field!(accept_backlog),
    },
    Row {
        spec: Spec {
            name: "accept_timeout",
            sentence: "Seconds that an inbound connection may take for each piece of its handshake",
            values: FROM_1,
            unit: Unit::Seconds,
            variables: &[Variable::new("LNET_ACCEPT_TIMEOUT")],
            ..Spec::LNET
        },
        access: duration!(from_secs, as_secs, accept_timeout),
    },
    Row {
        spec: Spec {
            name: "sock_timeout",
            sentence: "Seconds that anything on the network may take; 0: as lnetctl's transaction_timeout and retry_count make it",
            values: FROM_0,
            unit: Unit::Seconds,
            variables: &[Variable::new("SOCKLND_SOCK_TIMEOUT")],
            ..SOCKLND
        },
        access: duration!(from_secs, as_secs, sock_timeout),
    },
    Row {
        spec: Spec {
            name: "unresponsive_ms",
            sentence: "Milliseconds that a peer may leave unanswered what is under way to it before the path counts as unresponsive \
                       and another one is used, if there is one; longer if TCP measures a longer round trip and its variation; \
                       0: only SOCKLND_SOCK_TIMEOUT counts",
            values: FROM_0,
            unit: Unit::Milliseconds,
            variables: &[
                Variable::new("SOCKLND_UNRESPONSIVE_MS"),
                Variable {
                    sentence: "The old name of SOCKLND_UNRESPONSIVE_MS, which goes before it",
                    ..Variable::new("SOCKLND_SILENCE")
                },
            ],
            ..SOCKLND
        },
        access: duration!(from_millis, as_millis, unresponsive_timeout),
    },
    Row {
        spec: Spec {
            name: "min_reconnectms",
            sentence: "Milliseconds from a failed connection attempt to a peer to the next, at most, as long as something is to be sent \
                       to it and it has no connection; for further connections they double each time; in the kernel 1000",
            values: FROM_1,
            unit: Unit::Milliseconds,
            variables: &[Variable::new("SOCKLND_MIN_RECONNECTMS")],
            ..SOCKLND
        },
        access: duration!(from_millis, as_millis, min_reconnect),
    },
    Row {
        spec: Spec {
            name: "max_reconnectms",
            sentence: "Milliseconds from a failed attempt for a further connection to the next, at most",
            values: FROM_1,
            unit: Unit::Milliseconds,
            variables: &[Variable::new("SOCKLND_MAX_RECONNECTMS")],
            ..SOCKLND
        },
        access: duration!(from_millis, as_millis, max_reconnect),
    },
    Row {
        spec: Spec {
            name: "conns_per_peer",
            sentence: "Connections for bulk in each direction to one peer's interface, 1 to 127; 0: as many as suit the link's speed, \
                       1 below 4 Gbit/s, 2 from there, 3 from 16, 4 from 64 Gbit/s",
            values: Values::Numbers(CONNS_PER_PEER.least, CONNS_PER_PEER.most),
            variables: &[Variable::new("SOCKLND_CONNS_PER_PEER")],
            ..SOCKLND
        },
        access: field!(conns_per_peer),
    },
    Row {
        spec: Spec {
            name: "conns_per_address",
            sentence: "Inbound connections that one address may have, but never more than half of those that there may be in \
                       all, which is three in four of the process's descriptors; 0: as many as there may be in all",
            values: FROM_0,
            variables: &[Variable::new("SOCKLND_CONNS_PER_ADDRESS")],
            ..SOCKLND
        },
        access: field!(conns_per_address),
    },
    Row {
        spec: Spec {
            name: "typed_conns",
            sentence: "1: small messages and bulk have connections of their own; 0: they do not",
            values: Values::Switch,
            variables: &[Variable::new("SOCKLND_TYPED_CONNS")],
            ..SOCKLND
        },
        access: field!(typed_conns),
    },
    Row {
        spec: Spec {
            name: "min_bulk",
            sentence: "Bytes from which on a message goes by a bulk connection; in the kernel 1024",
            values: FROM_0,
            unit: Unit::Bytes,
            variables: &[Variable::new("SOCKLND_MIN_BULK")],
            ..SOCKLND
        },
        access: field!(min_bulk),
    },
    Row {
        spec: Spec {
            name: "keepalive",
            sentence: "Seconds without anything from a peer after which it is sent a keep-alive; 0: never",
            values: FROM_0,
            unit: Unit::Seconds,
            variables: &[Variable::new("SOCKLND_KEEPALIVE")],
            ..SOCKLND
        },
        access: duration!(from_secs, as_secs, keepalive),
    },
    Row {
        spec: Spec {
            name: "enable_csum",
            sentence: "1: messages on version 2 connections carry a checksum",
            values: Values::Switch,
            variables: &[Variable::new("SOCKLND_ENABLE_CSUM")],
            ..SOCKLND
        },
        access: field!(enable_csum),
    },
    Row {
        spec: Spec {
            name: "zc_min_payload",
            sentence: "Bytes of payload from which on a delivery ACK is asked for, at least 2048; 0: never",
            values: Values::ZeroOrNumbers(2048, MAX_WORD),
            unit: Unit::Bytes,
            variables: &[Variable::new("SOCKLND_ZC_MIN_PAYLOAD")],
            ..SOCKLND
        },
        access: field!(zc_min_payload),
    },
    Row {
        spec: Spec {
            name: "delivery_ack",
            sentence: "Which messages ask for a delivery ACK, and are complete only when it has come: all, where the peer can send \
                       one; ours: those to nodes of this implementation; large: those of SOCKLND_ZC_MIN_PAYLOAD, as in the kernel",
            values: Values::Words(&["all", "ours", "large"]),
            variables: &[
                Variable::new("SOCKLND_DELIVERY_ACK"),
                Variable {
                    sentence: "The old name of SOCKLND_DELIVERY_ACK, which goes before it",
                    ..Variable::new("LNET_RECEIPTS")
                },
            ],
            ..SOCKLND
        },
        access: choice!(
            delivery_acks,
            [DeliveryAcks::All, DeliveryAcks::SameImplementation, DeliveryAcks::Large,]
        ),
    },
    Row {
        spec: Spec {
            name: "nagle",
            sentence: "1: TCP may hold small segments back",
            values: Values::Switch,
            variables: &[Variable::new("SOCKLND_NAGLE")],
            ..SOCKLND
        },
        access: field!(nagle),
    },
    Row {
        spec: Spec {
            name: "rx_copy_below",
            sentence: "Bytes of payload below which a message may be received together with others, and is copied to its memory; \
                       larger payload is received there",
            values: FROM_0,
            unit: Unit::Bytes,
            variables: &[Variable::new("SOCKLND_RX_COPY_BELOW")],
            ..SOCKLND
        },
        access: field!(rx_copy_below),
    },
    Row {
        spec: Spec {
            name: "congestion",
            sentence: "The TCP congestion control of all connections, of those that \
                       /proc/sys/net/ipv4/tcp_allowed_congestion_control lists",
            default: Some("the system's own"),
            variables: &[Variable::new("SOCKLND_CONGESTION")],
            ..SOCKLND
        },
        access: field!(congestion),
    },
    Row {
        spec: Spec {
            name: TOS.name,
            sentence: "The IP type of service of all packets of connections, 0 to 255, of IPv6 the traffic class; -1: the system's own",
            values: Values::Numbers(TOS.least, TOS.most),
            variables: &[Variable::new("SOCKLND_TOS")],
            ..SOCKLND
        },
        access: field!(tos),
    },
    Row {
        spec: Spec {
            name: "bind_to_device",
            sentence: "1: connections are bound to the link of their interface, so that they leave by it whatever the machine's routes \
                       say, and take only what arrives by it (set arp_ignore=1 and arp_announce=2 for links in one subnet); before \
                       Linux 5.7 that needs CAP_NET_RAW; 0: they are not",
            values: Values::Switch,
            variables: &[Variable::new("SOCKLND_BIND_TO_DEVICE")],
            ..SOCKLND
        },
        access: field!(bind_to_device),
    },
    Row {
        spec: Spec {
            name: "protocol",
            sentence: "The version proposed to peers, 2 or 3",
            values: Values::Numbers(2, 3),
            variables: &[Variable::new("SOCKLND_PROTOCOL")],
            ..SOCKLND
        },
        access: Access {
            read: |config| Value::Number(config.use_protocol as i64),
            write: |config, value| {
                config.use_protocol = if *value == Value::Number(2) { Version::V2 } else { Version::V3 };
                Ok(())
            },
        },
    },
    Row {
        spec: Spec {
            name: "nscheds",
            sentence: "Threads that read and write connections",
            values: Values::Numbers(1, 64),
            variables: &[Variable::new("SOCKLND_NSCHEDS")],
            ..SOCKLND
        },
        access: field!(schedulers),
    },
];
