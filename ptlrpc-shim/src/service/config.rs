//! The configuration of a service.

use crate::Errno;
use crate::message::header::{BODY_ONLY_LEN, MAX_MESSAGE_LEN};
use crate::message::portal::Portals;
use crate::message::{Opcode, Portal, Service as Protocol};
use std::time::Duration;

/// The configuration of a service.
#[derive(Clone, Debug)]
pub struct ServiceConfig {
    /// The service's name, in the log and in the names of its threads.
    pub name: String,
    /// The portal that requests arrive at. No other service uses it.
    pub request_portal: Portal,
    /// The portal at which clients wait for replies.
    pub reply_portal: Portal,
    /// The portal at which clients attach their bulk data.
    pub bulk_portal: Portal,
    /// The protocol that is served, beside the common operations, locks and logs.
    pub version: Protocol,
    /// Bytes of each request buffer.
    pub buffer_size: usize,
    /// Bytes of the longest request; longer ones are dropped.
    pub max_request: u32,
    /// Bytes of the longest reply.
    pub max_reply: usize,
    /// The number of request buffers that are kept attached (PR-32).
    pub buffers: usize,
    /// The maximum number of request buffers, including those with unfinished requests.
    pub buffers_limit: usize,
    /// The number of threads, one of them reserved for urgent requests; at least 2.
    pub threads: usize,
    /// Decides which operations are urgent and do not wait for others. They should be quick: they may occupy all threads.
    pub is_urgent: fn(Opcode) -> bool,
    /// The timing of early replies.
    pub adaptive: Adaptive,
    /// The limit of a client's timeout.
    pub longest_timeout: Duration,
    /// Whether a reply that could not be sent is sent once more, from any NI to the peer's primary NID (PR-41).
    pub reply_fallback: bool,
    /// The time without a request after which a client is evicted (PR-12); `None`: never.
    pub evict_unresponsive_after: Option<Duration>,
    /// The longest time for which [`Service::stop`](super::Service::stop) waits.
    pub stop_timeout: Duration,
}

/// Adaptive timeouts (PR-72, PR-74).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adaptive {
    /// The shortest estimate.
    pub at_min: Duration,
    /// The longest timeout; 0: there are no early replies.
    pub at_max: Duration,
    /// The time by which an early reply extends the deadline.
    pub at_extra: Duration,
    /// The time before the deadline at which an early reply is sent.
    pub at_early_margin: Duration,
    /// The time for which a measurement counts.
    pub at_history: Duration,
}

impl ServiceConfig {
    /// Lustre's defaults: 64 buffers of 32 KiB, requests of at most 16 KiB, replies of at most 9 KiB.
    pub fn new(name: &str, portals: Portals, bulk_portal: Portal, version: Protocol) -> Self {
        Self {
            name: name.to_owned(),
            request_portal: portals.request,
            reply_portal: portals.reply,
            bulk_portal,
            version,
            buffer_size: 32 << 10,
            max_request: 16 << 10,
            max_reply: 9 << 10,
            buffers: 64,
            buffers_limit: 256,
            threads: 4,
            is_urgent: |opcode| opcode == Opcode::PING,
            adaptive: Adaptive::default(),
            longest_timeout: Duration::from_secs(600),
            reply_fallback: true,
            evict_unresponsive_after: None,
            stop_timeout: Duration::from_secs(75),
        }
    }

    /// `EINVAL`: it contradicts itself.
    pub(crate) fn check(&self) -> Result<(), Errno> {
        let portals = [self.request_portal, self.reply_portal, self.bulk_portal];
        let is_right = portals.iter().all(|portal| portal.0 != 0)
            && self.request_portal != self.reply_portal
            && self.request_portal != self.bulk_portal
            && self.max_request as usize >= BODY_ONLY_LEN
            && self.max_request as usize <= self.buffer_size
            && self.buffer_size <= MAX_MESSAGE_LEN
            && self.max_reply >= BODY_ONLY_LEN
            && self.buffers > 0
            && self.buffers_limit >= self.buffers
            && self.threads > 0;
        if is_right { Ok(()) } else { Err(Errno::Invalid) }
    }
}

impl Default for Adaptive {
    fn default() -> Self {
        Self {
            at_min: Duration::ZERO,
            at_max: Duration::from_secs(600),
            at_extra: Duration::from_secs(30),
            at_early_margin: Duration::from_secs(5),
            at_history: Duration::from_secs(600),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_that_contradict_themselves_are_found() {
        let good = || ServiceConfig::new("ost", Portals::OST, Portal::OST_BULK, Protocol::OST);
        assert_eq!(good().check(), Ok(()));
        for (name, bad) in [
            ("LNet's portal", ServiceConfig { request_portal: Portal(0), ..good() }),
            ("requests where replies are", ServiceConfig { request_portal: Portal::OSC_REPLY, ..good() }),
            ("requests where bulk data is", ServiceConfig { bulk_portal: Portal::OST_REQUEST, ..good() }),
            ("no ping fits", ServiceConfig { max_request: 223, ..good() }),
            ("a request longer than a buffer", ServiceConfig { buffer_size: 1000, ..good() }),
            ("a buffer longer than an LNet message", ServiceConfig { buffer_size: (1 << 20) + 1, ..good() }),
            ("no reply fits", ServiceConfig { max_reply: 0, ..good() }),
            ("no buffer", ServiceConfig { buffers: 0, ..good() }),
            ("more buffers than there may be", ServiceConfig { buffers_limit: 63, ..good() }),
            ("no threads", ServiceConfig { threads: 0, ..good() }),
        ] {
            assert_eq!(bad.check(), Err(Errno::Invalid), "{name}");
        }
    }
}
