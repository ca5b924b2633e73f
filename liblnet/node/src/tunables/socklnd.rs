//! The tunables of the TCP driver: `SOCKLND_*`.

use super::Tunable;
use super::values::{MAX_WORD, milliseconds, number, ranged, read, seconds, switch};
use crate::start_config::StartConfig;
use lnet_dlc::ranges::{CONNS_PER_PEER, CREDITS, PEER_BUFFER_CREDITS, PEER_CREDITS};
use socklnd::DeliveryAcks;
use socklnd::proto::Version;

pub(super) const SOCKLND: &[Tunable] = &[
    Tunable {
        variable: "SOCKLND_CREDITS",
        help: "messages under way at once on one interface (256)",
        set: |config, text| ranged(&mut config.ni.credits, text, CREDITS, 1),
    },
    Tunable {
        variable: "SOCKLND_PEER_CREDITS",
        help: "messages under way at once to one peer's interface (8)",
        set: |config, text| ranged(&mut config.ni.peer_credits, text, PEER_CREDITS, 1),
    },
    Tunable {
        variable: "SOCKLND_PEER_BUFFER_CREDITS",
        help: "router buffers of each CPT that one peer's interface may occupy; 0: as many as SOCKLND_PEER_CREDITS (0)",
        set: |config, text| ranged(&mut config.ni.peer_buffer_credits, text, PEER_BUFFER_CREDITS, 0),
    },
    Tunable {
        variable: "SOCKLND_SOCK_TIMEOUT",
        help: "seconds that anything on the network may take; 0: as lnetctl's transaction_timeout and retry_count make it (0)",
        set: |config, text| seconds(&mut config.socklnd.sock_timeout, text, 0),
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
        set: |config, text| milliseconds(&mut config.socklnd.min_reconnect, text, 1),
    },
    Tunable {
        variable: "SOCKLND_MAX_RECONNECTMS",
        help: "milliseconds from a failed attempt for a further connection to the next, at most (60000)",
        set: |config, text| milliseconds(&mut config.socklnd.max_reconnect, text, 1),
    },
    Tunable {
        variable: "SOCKLND_CONNS_PER_PEER",
        help: "connections for bulk in each direction to one peer's interface, 1 to 127, or 0 for what suits the link (1)",
        set: |config, text| ranged(&mut config.socklnd.conns_per_peer, text, CONNS_PER_PEER, 0),
    },
    Tunable {
        variable: "SOCKLND_CONNS_PER_ADDRESS",
        help: "inbound connections that one address may have, but never more than half of those that there may be in \
               all, which is three in four of the process's descriptors; 0: as many as there may be in all (1024)",
        set: |config, text| number(&mut config.socklnd.conns_per_address, text, 0..=MAX_WORD),
    },
    Tunable {
        variable: "SOCKLND_TYPED_CONNS",
        help: "1: small messages and bulk have connections of their own (default); 0: they do not",
        set: |config, text| switch(&mut config.socklnd.typed_conns, text),
    },
    Tunable {
        variable: "SOCKLND_IMPLEMENTATION_ID",
        help: "1: nodes of this implementation recognise each other, and messages that are resent (default); 0: this node \
               hides that: it and its peers take each other for kernel nodes, for tests",
        set: |config, text| switch(&mut config.says_implementation, text),
    },
    Tunable {
        variable: "SOCKLND_MIN_BULK",
        help: "bytes from which on a message goes by a bulk connection (12288; the kernel: 1024)",
        set: |config, text| number(&mut config.socklnd.min_bulk, text, 0..=MAX_WORD),
    },
    Tunable {
        variable: "SOCKLND_KEEPALIVE",
        help: "seconds without anything from a peer after which it is sent a keep-alive; 0: never (30)",
        set: |config, text| seconds(&mut config.socklnd.keepalive, text, 0),
    },
    Tunable {
        variable: "SOCKLND_ENABLE_CSUM",
        help: "1: messages on version 2 connections carry a checksum (0)",
        set: |config, text| switch(&mut config.socklnd.enable_csum, text),
    },
    Tunable {
        variable: "SOCKLND_ZC_MIN_PAYLOAD",
        help: "bytes of payload from which on a delivery ACK is asked for, at least 2048; 0: never (0)",
        set: |config, text| {
            let mut bytes = 0;
            let wanted = |_| format!("0, or a number from 2048 to {MAX_WORD}");
            if text != "0" {
                number(&mut bytes, text, 2048..=MAX_WORD).map_err(wanted)?;
            }
            config.socklnd.zc_min_payload = Some(bytes).filter(|bytes| *bytes > 0);
            Ok(())
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
        set: |config, text| switch(&mut config.socklnd.nagle, text),
    },
    Tunable {
        variable: "SOCKLND_RX_COPY_BELOW",
        help: "bytes of payload below which a message may be received together with others, and is copied to its memory; \
               larger payload is received there (12288)",
        set: |config, text| number(&mut config.socklnd.rx_copy_below, text, 0..=MAX_WORD),
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
        variable: "SOCKLND_BIND_TO_DEVICE",
        help: "1: connections are bound to the link of their interface, so that they leave by it whatever the machine's routes say, \
               and take only what arrives by it (set arp_ignore=1 and arp_announce=2 for links in one subnet); before Linux 5.7 \
               that needs CAP_NET_RAW; 0: they are not (0)",
        set: |config, text| switch(&mut config.socklnd.bind_to_device, text),
    },
    Tunable {
        variable: "SOCKLND_PROTOCOL",
        help: "the version proposed to peers, 2 or 3 (3)",
        set: |config, text| {
            config.socklnd.use_protocol = if read(text, 2..=3)? == 2 { Version::V2 } else { Version::V3 };
            Ok(())
        },
    },
    Tunable {
        variable: "SOCKLND_NSCHEDS",
        help: "threads that read and write connections (1)",
        set: |config, text| number(&mut config.socklnd.schedulers, text, 1..=64),
    },
];

fn set_unresponsive_timeout(config: &mut StartConfig, text: &str) -> Result<(), String> {
    milliseconds(&mut config.socklnd.unresponsive_timeout, text, 0)
}

fn set_delivery_acks(config: &mut StartConfig, text: &str) -> Result<(), String> {
    config.socklnd.delivery_acks = match text {
        "all" => DeliveryAcks::All,
        "ours" => DeliveryAcks::SameImplementation,
        "large" => DeliveryAcks::Large,
        _ => return Err("all, ours or large".to_owned()),
    };
    Ok(())
}
