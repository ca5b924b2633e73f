//! The rows of the driver's tunables.

use crate::config::{MAX_CONCURRENT_SENDS, O2iblndConfig};
use crate::memory::OnDemandPaging;
use lnet_settings::ni_ranges::{CONNS_PER_PEER, CREDITS, PEER_BUFFER_CREDITS, PEER_CREDITS};
use lnet_settings::{MAX_WORD, Row, Spec, Unit, Values, Variable, choice, duration, field};

/// A tunable of this driver.
const O2IBLND: Spec = Spec { module: "o2iblnd", ..Spec::LNET };
const FROM_0: Values = Values::Numbers(0, MAX_WORD);

/// A row whose value is a field of the configuration.
macro_rules! row {
    ($name:literal, $variable:literal, $values:expr, $sentence:literal, $($field:tt)+) => {
        Row {
            spec: Spec {
                name: $name,
                sentence: $sentence,
                values: $values,
                variables: &[Variable::new($variable)],
                ..O2IBLND
            },
            access: field!($($field)+),
        }
    };
}

/// A row whose value is a number of seconds.
macro_rules! seconds {
    ($name:literal, $variable:literal, $sentence:literal, $field:ident) => {
        Row {
            spec: Spec {
                name: $name,
                sentence: $sentence,
                values: FROM_0,
                unit: Unit::Seconds,
                variables: &[Variable::new($variable)],
                ..O2IBLND
            },
            access: duration!(from_secs, as_secs, $field),
        }
    };
}

/// The tunables, with the names of the kernel module's parameters.
pub(crate) const TUNABLES: &[Row<O2iblndConfig>] = &[
    row!(
        "credits",
        "O2IBLND_CREDITS",
        Values::Numbers(1, CREDITS.most),
        "Messages under way at once on one interface",
        ni.credits
    ),
    row!(
        "peer_credits",
        "O2IBLND_PEER_CREDITS",
        Values::Numbers(1, PEER_CREDITS.most),
        "Messages under way at once to one peer's interface, and the queue depth of a connection, which is 8 to 255",
        ni.peer_credits
    ),
    row!(
        "peer_buffer_credits",
        "O2IBLND_PEER_BUFFER_CREDITS",
        Values::Numbers(PEER_BUFFER_CREDITS.least, PEER_BUFFER_CREDITS.most),
        "Router buffers of each CPT that one peer's interface may occupy; 0: as many as O2IBLND_PEER_CREDITS",
        ni.peer_buffer_credits
    ),
    row!(
        "peer_timeout",
        "O2IBLND_PEER_TIMEOUT",
        FROM_0,
        "Seconds without a message from a peer after which a router treats it as down; 0: never",
        ni.peer_timeout
    ),
    row!(
        "peer_credits_hiw",
        "O2IBLND_PEER_CREDITS_HIW",
        Values::Numbers(0, 254),
        "Credits owed to a peer from which on they are returned at once; 0: half of the peer credits",
        peer_credits_hiw
    ),
    row!(
        "concurrent_sends",
        "O2IBLND_CONCURRENT_SENDS",
        Values::Numbers(0, MAX_CONCURRENT_SENDS as i64),
        "Messages posted at once on a connection, at most two more than its peer credits; 0: as many as those",
        concurrent_sends
    ),
    row!(
        "conns_per_peer",
        "O2IBLND_CONNS_PER_PEER",
        Values::Numbers(0, CONNS_PER_PEER.most),
        "Connections to each peer's interface; 0: 1",
        conns_per_peer
    ),
    row!(
        "wrq_sge",
        "O2IBLND_WRQ_SGE",
        Values::Numbers(1, 32),
        "Pieces of memory of one RDMA WRITE, as far as the device takes them",
        wrq_sge
    ),
    row!(
        "retry_count",
        "O2IBLND_RETRY_COUNT",
        Values::Numbers(0, 7),
        "Transmissions of a packet that is not acknowledged, after the first",
        retry_count
    ),
    row!(
        "rnr_retry_count",
        "O2IBLND_RNR_RETRY_COUNT",
        Values::Numbers(0, 7),
        "Transmissions of a message for which the peer has no buffer, after the first; 7: without end",
        rnr_retry_count
    ),
    Row {
        spec: Spec {
            name: "unresponsive_ms",
            sentence: "Milliseconds in which a peer must acknowledge something that is under way to it; after that the path counts as \
                       unresponsive, and another one is used, if there is one; 0: only O2IBLND_TIMEOUT counts",
            values: FROM_0,
            unit: Unit::Milliseconds,
            variables: &[Variable::new("O2IBLND_UNRESPONSIVE_MS")],
            ..O2IBLND
        },
        access: duration!(from_millis, as_millis, unresponsive),
    },
    seconds!(
        "keepalive",
        "O2IBLND_KEEPALIVE",
        "Seconds without a message after which a peer is sent a NOOP; 0: never",
        keepalive
    ),
    seconds!(
        "timeout",
        "O2IBLND_TIMEOUT",
        "Seconds that anything on the network may take; 0: as lnetctl's transaction_timeout and retry_count make it",
        timeout
    ),
    row!(
        "cksum",
        "O2IBLND_CKSUM",
        Values::Switch,
        "1: messages carry a checksum; kernel nodes close connections with it (see docs/o2ib.md)",
        cksum
    ),
    row!(
        "service",
        "O2IBLND_SERVICE",
        Values::Numbers(1, 65_535),
        "The service number, which is the RDMA connection manager's port, on all nodes the same",
        service
    ),
    row!(
        "use_privileged_port",
        "O2IBLND_USE_PRIVILEGED_PORT",
        Values::Switch,
        "1: connections come from a port below 1024 where the process may use one",
        use_privileged_port
    ),
    row!(
        "require_privileged_port",
        "O2IBLND_REQUIRE_PRIVILEGED_PORT",
        Values::Switch,
        "1: connections from ports from 1024 on are refused",
        require_privileged_port
    ),
    row!(
        "bounce_below",
        "O2IBLND_BOUNCE_BELOW",
        Values::Numbers(0, 1 << 20),
        "Bytes of a transfer by RDMA below which it is copied through a buffer of the driver; from there on the user's \
         memory is registered",
        bounce_below
    ),
    Row {
        spec: Spec {
            name: "on_demand_paging",
            sentence: "Memory that the device pages in when it accesses it, in place of locked memory, where the device can do that: \
                       none, what cannot be locked, or all memory of programs",
            values: Values::Words(&["never", "fallback", "always"]),
            variables: &[Variable::new("O2IBLND_ON_DEMAND_PAGING")],
            ..O2IBLND
        },
        access: choice!(
            on_demand_paging,
            [OnDemandPaging::Never, OnDemandPaging::Fallback, OnDemandPaging::Always]
        ),
    },
    row!(
        "fmr_pool_size",
        "O2IBLND_FMR_POOL_SIZE",
        FROM_0,
        "Registrations of memory that are kept for their MDs' next transfers",
        fmr_pool_size
    ),
    row!(
        "fmr_flush_trigger",
        "O2IBLND_FMR_FLUSH_TRIGGER",
        FROM_0,
        "Accepted as in the kernel module, without effect",
        shown.fmr_flush_trigger
    ),
    row!(
        "fmr_cache",
        "O2IBLND_FMR_CACHE",
        FROM_0,
        "Accepted as in the kernel module, without effect",
        shown.fmr_cache
    ),
    row!(
        "map_on_demand",
        "O2IBLND_MAP_ON_DEMAND",
        FROM_0,
        "Accepted as in the kernel module, without effect: memory is always registered in one piece",
        shown.map_on_demand
    ),
    row!("ntx", "O2IBLND_NTX", FROM_0, "Accepted as in the kernel module, without effect", shown.ntx),
    row!(
        "ib_mtu",
        "O2IBLND_IB_MTU",
        FROM_0,
        "Accepted as in the kernel module, without effect: the path MTU is the port's",
        shown.ib_mtu
    ),
];
