//! Event counters of an NI.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts of events on one NI since it started.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct SocklndCounters { $($(#[$doc])* pub $name: u64,)* }

        #[derive(Debug, Default)]
        pub(crate) struct NiCounters { $(pub(crate) $name: Count,)* }

        impl NiCounters {
            pub(crate) fn read(&self) -> SocklndCounters {
                SocklndCounters { $($name: self.$name.0.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counters! {
    /// Connections that peers opened.
    accepted,
    /// Connections that this node opened.
    connected,
    /// Connects to peers that failed.
    connects_failed,
    /// HELLOs answered with type none.
    refused,
    /// Inbound connections rejected: insecure port, invalid bytes, a NID that is not one of this node's.
    rejected,
    /// Inbound connections whose handshake timed out.
    handshakes_timed_out,
    /// Inbound connections dropped because there were too many unfinished handshakes.
    handshakes_dropped,
    /// Inbound connections rejected because there were too many, in all or from their address.
    limit_rejected,
    /// Peers disconnected because they broke the protocol.
    protocol_errors,
    /// Peers disconnected because something took too long.
    timed_out,
    /// Peers disconnected because they were unresponsive and there was another path.
    unresponsive,
    /// Connections that peers closed.
    closed_by_peer,
    /// Keep-alives sent.
    keepalives,
    /// Delivery ACKs sent, with messages or by themselves.
    acks,
    /// NOOPs sent that brought delivery ACKs.
    ack_noops,
    /// Messages that were sent again and had arrived before: duplicates.
    duplicates,
    /// Messages that were sent again and had arrived in part before.
    resumed,
}

#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
