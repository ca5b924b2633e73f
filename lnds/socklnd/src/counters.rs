//! What happened on an interface.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// How often something happened on one interface since it started.
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
    /// Calls to peers that failed.
    connects_failed,
    /// HELLOs answered with type none.
    refused,
    /// Connecting peers turned away: insecure port, nonsense, a NID that is not ours.
    rejected,
    /// Connecting peers that were too slow with their handshake.
    handshakes_timed_out,
    /// Connecting peers dropped because too many handshakes were under way.
    handshakes_dropped,
    /// Connecting peers turned away because there were too many connections, in all or from their address.
    limit_rejected,
    /// Peers disconnected because they broke the protocol.
    protocol_errors,
    /// Peers disconnected because something took too long.
    timed_out,
    /// Peers disconnected because they were unresponsive and there was another way.
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
