//! Counters.

use serde::{Deserialize, Serialize};

/// Counts of all messages, or of the bytes of their payloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElementStats {
    /// Messages or bytes sent.
    pub sent: u64,
    /// Messages or bytes received.
    pub received: u64,
    /// Messages or bytes dropped.
    pub dropped: u64,
}

/// The recent use of an interface or a peer NI (dbg-070, dbg-075), in thousandths: a use counts 1 and decays with a
/// half-life of ten seconds. Selection does not use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heat {
    /// Thousandths of messages, sent and received.
    pub messages: u64,
    /// Thousandths of bytes of payload, sent and received.
    pub bytes: u64,
}

/// Counts of messages by type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommCount {
    /// PUTs.
    pub put: u64,
    /// GETs.
    pub get: u64,
    /// REPLYs.
    pub reply: u64,
    /// ACKs.
    pub ack: u64,
    /// HELLOs.
    pub hello: u64,
}

/// Counts of messages by type, for each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageStats {
    /// The messages sent.
    pub sent: CommCount,
    /// The messages received.
    pub received: CommCount,
    /// The messages dropped.
    pub dropped: CommCount,
}

/// The node's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are those of the statistics (dlc 2.8)")]
pub struct LnetStats {
    pub msgs_alloc: u64,
    pub msgs_max: u64,
    pub rst_alloc: u64,
    pub errors: u64,
    pub send_count: u64,
    pub resend_count: u64,
    pub response_timeout_count: u64,
    pub local_interrupt_count: u64,
    pub local_dropped_count: u64,
    pub local_aborted_count: u64,
    pub local_no_route_count: u64,
    pub local_timeout_count: u64,
    pub local_error_count: u64,
    pub remote_dropped_count: u64,
    pub remote_error_count: u64,
    pub remote_timeout_count: u64,
    pub network_timeout_count: u64,
    pub recv_count: u64,
    pub route_count: u64,
    pub drop_count: u64,
    pub send_length: u64,
    pub recv_length: u64,
    pub route_length: u64,
    pub drop_length: u64,
    /// Messages of which only a part has arrived, and whose rest may follow, at this moment. The kernel does not have this
    /// counter nor the following ones.
    pub partial_count: u64,
    /// Messages of which a part arrived and which were then dropped: not sent again in time, or too many at once.
    pub partial_dropped_count: u64,
    /// Messages that named another node as their origin without having come by a path from that node.
    pub origin_refused_count: u64,
    /// Messages that this node, a router, began to send on before they had arrived in full.
    pub cut_through_count: u64,
    /// The payload of those messages in bytes.
    pub cut_through_length: u64,
    /// Those messages whose rest did not arrive, or not in time.
    pub cut_through_abandoned_count: u64,
    /// Messages that were resent, and were sent in the end.
    #[serde(default)]
    pub resend_succeeded_count: u64,
    /// Messages that were resent, and were given up in the end.
    #[serde(default)]
    pub resend_failed_count: u64,
}
