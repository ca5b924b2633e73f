//! What a service is told.

use crate::errno::Errno;
use crate::message::header::{BODY_ONLY_LEN, MAX_MESSAGE_LEN};
use crate::message::portal::Portals;
use crate::message::{Opcode, Portal, Service as Protocol};
use std::time::Duration;

/// How a service is made.
#[derive(Clone, Debug)]
pub struct ServiceConfig {
    /// In the log, and of its threads.
    pub name: String,
    /// Where requests come to. One service has it for itself.
    pub request_portal: Portal,
    /// Where clients wait for replies.
    pub reply_portal: Portal,
    /// Where clients have their bulk data.
    pub bulk_portal: Portal,
    /// The protocol that is served, beside what all have in common, locks and logs.
    pub version: Protocol,
    /// Bytes of each buffer for requests.
    pub buffer_size: usize,
    /// Bytes of the longest request; longer ones are dropped.
    pub max_request: u32,
    /// Bytes of the longest reply.
    pub max_reply: usize,
    /// How many buffers are kept open for requests (PR-32).
    pub buffers: usize,
    /// How many there may be at once, with those in which there are unfinished requests.
    pub buffers_limit: usize,
    /// How many requests may be served at once, one of them reserved for urgent ones; at least 2.
    pub threads: usize,
    /// Which requests do not wait for others: those that are quick, for they may have every thread.
    pub is_urgent: fn(Opcode) -> bool,
    /// How clients are kept waiting.
    pub adaptive: Adaptive,
    /// No client's word makes a request live longer.
    pub longest_timeout: Duration,
    /// A reply that could not be sent is sent once more, by any interface to the peer's primary NID (PR-41).
    pub reply_fallback: bool,
    /// Clients of which nothing was heard for so long are evicted (PR-12); `None`: they are not.
    pub evict_silent_after: Option<Duration>,
    /// For how long [`Service::stop`](super::Service::stop) waits at most.
    pub stop_timeout: Duration,
}

/// Adaptive time-outs (PR-72, PR-74).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adaptive {
    /// No estimate is shorter.
    pub at_min: Duration,
    /// No request lasts longer; 0: there are no early replies.
    pub at_max: Duration,
    /// By how much an early reply puts the deadline off.
    pub at_extra: Duration,
    /// How long before its deadline the client is sent one.
    pub at_early_margin: Duration,
    /// For how long a request that took long is remembered.
    pub at_history: Duration,
}

impl ServiceConfig {
    /// As Lustre has it by default: 64 buffers of 32 KiB, requests of at most 16 KiB, replies of at most 9 KiB.
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
            evict_silent_after: None,
            stop_timeout: Duration::from_secs(75),
        }
    }

    /// `EINVAL` where no service can be like that.
    pub(super) fn check(&self) -> Result<(), Errno> {
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
        if is_right { Ok(()) } else { Err(Errno::INVALID) }
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
    fn what_no_service_can_be_like() {
        let good = || ServiceConfig::new("ost", Portals::OST, Portal::OST_BULK, Protocol::OST);
        assert_eq!(good().check(), Ok(()));
        for (name, bad) in [
            ("LNet's portal", ServiceConfig { request_portal: Portal(0), ..good() }),
            ("requests where replies are", ServiceConfig { request_portal: Portal::OSC_REPLY, ..good() }),
            ("requests where bulk data is", ServiceConfig { bulk_portal: Portal::OST_REQUEST, ..good() }),
            ("no ping fits", ServiceConfig { max_request: 223, ..good() }),
            ("a request longer than a buffer", ServiceConfig { buffer_size: 1000, ..good() }),
            ("a buffer that LNet would cut", ServiceConfig { buffer_size: (1 << 20) + 1, ..good() }),
            ("no reply fits", ServiceConfig { max_reply: 0, ..good() }),
            ("no buffer", ServiceConfig { buffers: 0, ..good() }),
            ("more buffers than there may be", ServiceConfig { buffers_limit: 63, ..good() }),
            ("nobody who serves", ServiceConfig { threads: 0, ..good() }),
        ] {
            assert_eq!(bad.check(), Err(Errno::INVALID), "{name}");
        }
    }
}
