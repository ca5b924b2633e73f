//! The tunables of the TCP driver: `SOCKLND_*`.

use super::Tunable;
use super::values::{milliseconds, positive, put, seconds_or_default, switch};
use crate::start_config::StartConfig;
use socklnd::DeliveryAcks;
use socklnd::proto::Version;
use std::time::Duration;

pub(super) const SOCKLND: &[Tunable] = &[
    Tunable {
        variable: "SOCKLND_CREDITS",
        help: "messages under way at once on one interface (256)",
        set: |config, text| put(&mut config.ni.credits, text, positive),
    },
    Tunable {
        variable: "SOCKLND_PEER_CREDITS",
        help: "messages under way at once to one peer's interface (8)",
        set: |config, text| put(&mut config.ni.peer_credits, text, positive),
    },
    Tunable {
        variable: "SOCKLND_PEER_BUFFER_CREDITS",
        help: "router buffers of each CPT that one peer's interface may occupy; 0: as many as SOCKLND_PEER_CREDITS (0)",
        set: |config, text| put(&mut config.ni.peer_buffer_credits, text, Some),
    },
    Tunable {
        variable: "SOCKLND_SOCK_TIMEOUT",
        help: "seconds that anything on the network may take; 0: as lnetctl's transaction_timeout and retry_count make it (0)",
        set: |config, text| put(&mut config.socklnd.sock_timeout, text, seconds_or_default),
    },
    Tunable {
        variable: "SOCKLND_SILENCE",
        help: "the old name of SOCKLND_UNRESPONSIVE_MS, which goes before it",
        set: set_unresponsive_timeout,
    },
    Tunable {
        variable: "SOCKLND_UNRESPONSIVE_MS",
        help: "milliseconds that a peer may leave unanswered what is under way to it before the path counts as unresponsive \
               and another one is used, if there is one; longer if TCP measures a longer round trip and its variation; \
               0: only SOCKLND_SOCK_TIMEOUT counts (600)",
        set: set_unresponsive_timeout,
    },
    Tunable {
        variable: "SOCKLND_MIN_RECONNECTMS",
        help: "milliseconds from a failed connection attempt to a peer to the next, at most, as long as something is to be sent to it and \
               it has no connection; for further connections they double each time (500; in the kernel 1000)",
        set: |config, text| {
            put(&mut config.socklnd.min_reconnect, text, |n: u32| {
                milliseconds(n).filter(|wait| !wait.is_zero())
            })
        },
    },
    Tunable {
        variable: "SOCKLND_MAX_RECONNECTMS",
        help: "milliseconds from a failed attempt for a further connection to the next, at most (60000)",
        set: |config, text| {
            put(&mut config.socklnd.max_reconnect, text, |n: u32| {
                milliseconds(n).filter(|wait| !wait.is_zero())
            })
        },
    },
    Tunable {
        variable: "SOCKLND_CONNS_PER_PEER",
        help: "connections for bulk in each direction to one peer's interface, 1 to 127 (1)",
        set: |config, text| put(&mut config.socklnd.conns_per_peer, text, |n: u32| (n <= 127).then_some(n)),
    },
    Tunable {
        variable: "SOCKLND_CONNS_PER_ADDRESS",
        help: "inbound connections that one address may have, but never more than half of those that there may be in \
               all, which is three in four of the process's descriptors; 0: as many as there may be in all (1024)",
        set: |config, text| put(&mut config.socklnd.conns_per_address, text, Some),
    },
    Tunable {
        variable: "SOCKLND_TYPED_CONNS",
        help: "1: small messages and bulk have connections of their own (default); 0: they do not",
        set: |config, text| put(&mut config.socklnd.typed_conns, text, switch),
    },
    Tunable {
        variable: "SOCKLND_IMPLEMENTATION_ID",
        help: "1: nodes of this implementation recognise each other, and messages that are resent (default); 0: this node \
               hides that: it and its peers take each other for kernel nodes, for tests",
        set: |config, text| put(&mut config.says_implementation, text, switch),
    },
    Tunable {
        variable: "SOCKLND_MIN_BULK",
        help: "bytes from which on a message goes by a bulk connection (12288; the kernel: 1024)",
        set: |config, text| put(&mut config.socklnd.min_bulk, text, Some),
    },
    Tunable {
        variable: "SOCKLND_KEEPALIVE",
        help: "seconds without anything from a peer after which it is sent a keep-alive; 0: never (30)",
        set: |config, text| {
            put(&mut config.socklnd.keepalive, text, |n: u32| Some(Duration::from_secs(n.into())))
        },
    },
    Tunable {
        variable: "SOCKLND_ENABLE_CSUM",
        help: "1: messages on version 2 connections carry a checksum (0)",
        set: |config, text| put(&mut config.socklnd.enable_csum, text, switch),
    },
    Tunable {
        variable: "SOCKLND_ZC_MIN_PAYLOAD",
        help: "bytes of payload from which on a delivery ACK is asked for, at least 2048; 0: never (0)",
        set: |config, text| {
            put(&mut config.socklnd.zc_min_payload, text, |n: u32| match n {
                0 => Some(None),
                n => Some(Some(n.max(2048))),
            })
        },
    },
    Tunable {
        variable: "LNET_RECEIPTS",
        help: "the old name of SOCKLND_DELIVERY_ACK, which goes before it",
        set: set_delivery_acks,
    },
    Tunable {
        variable: "SOCKLND_DELIVERY_ACK",
        help: "which messages ask for a delivery ACK, and are complete only when it has come: all, where the peer can send \
               one (default); ours: those to nodes of this implementation; large: those of SOCKLND_ZC_MIN_PAYLOAD, as in \
               the kernel",
        set: set_delivery_acks,
    },
    Tunable {
        variable: "SOCKLND_NAGLE",
        help: "1: TCP may hold small segments back (0)",
        set: |config, text| put(&mut config.socklnd.nagle, text, switch),
    },
    Tunable {
        variable: "SOCKLND_RX_COPY_BELOW",
        help: "bytes of payload below which a message may be received together with others, and is copied to its memory; \
               larger payload is received there (12288)",
        set: |config, text| put(&mut config.socklnd.rx_copy_below, text, |n: u32| Some(n as usize)),
    },
    Tunable {
        variable: "SOCKLND_CONGESTION",
        help: "the TCP congestion control of all connections, of those that /proc/sys/net/ipv4/tcp_allowed_congestion_control \
               lists (the system's own)",
        set: |config, text| {
            config.socklnd.congestion = Some(text.to_owned());
            Ok(())
        },
    },
    Tunable {
        variable: "SOCKLND_PROTOCOL",
        help: "the version proposed to peers, 2 or 3 (3)",
        set: |config, text| {
            put(&mut config.socklnd.use_protocol, text, |n: u32| match n {
                2 => Some(Version::V2),
                3 => Some(Version::V3),
                _ => None,
            })
        },
    },
    Tunable {
        variable: "SOCKLND_NSCHEDS",
        help: "threads that read and write connections (1)",
        set: |config, text| {
            put(&mut config.socklnd.schedulers, text, |n: usize| (1..=64).contains(&n).then_some(n))
        },
    },
];

fn set_unresponsive_timeout(config: &mut StartConfig, text: &str) -> Result<(), &'static str> {
    put(&mut config.socklnd.unresponsive_timeout, text, milliseconds)
}

fn set_delivery_acks(config: &mut StartConfig, text: &str) -> Result<(), &'static str> {
    config.socklnd.delivery_acks = match text {
        "all" => DeliveryAcks::All,
        "ours" => DeliveryAcks::SameImplementation,
        "large" => DeliveryAcks::Large,
        _ => return Err("all, ours or large"),
    };
    Ok(())
}
