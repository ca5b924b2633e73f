//! The messages and bytes that interfaces send and receive, and the speed at which they do.

use crate::link::InterfaceId;
use lnet_core::Time;
use std::collections::HashMap;
use std::time::Duration;

/// The traffic of an interface since the world began to count it. Bytes are those of payloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages that the interface was given to send, whether or not they arrived.
    pub messages_sent: u64,
    /// Bytes of these messages.
    pub bytes_sent: u64,
    /// Messages that arrived at the interface.
    pub messages_received: u64,
    /// Bytes of these messages.
    pub bytes_received: u64,
}

/// The times at which the interfaces have sent and received all that is under way.
#[derive(Debug, Default)]
pub(crate) struct Busy {
    sending: HashMap<InterfaceId, Time>,
    receiving: HashMap<InterfaceId, Time>,
}

impl Busy {
    /// Reserves both interfaces for a payload; returns the time at which its last byte arrives.
    pub(crate) fn reserve(
        &mut self,
        [from, to]: [InterfaceId; 2],
        now: Time,
        latency: Duration,
        takes: Duration,
    ) -> Time {
        let sending = self.sending.entry(from).or_default();
        let begins = now.max(*sending);
        *sending = begins + takes;
        let receiving = self.receiving.entry(to).or_default();
        let ends = (begins + latency).max(*receiving) + takes;
        *receiving = ends;
        ends
    }
}
