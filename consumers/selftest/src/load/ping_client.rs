//! A client of ping (selftest 7).

use crate::wire::{IncomingReply, PingRequest, Reply, Request};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

/// Counts the pings of a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct PingSequence(Arc<AtomicU32>);

impl PingSequence {
    /// Restarts the count at 0, when a client is added to a batch.
    pub(crate) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    pub(crate) fn prepare(&self) -> PingRequest {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        PingRequest {
            sequence: self.0.fetch_add(1, Ordering::Relaxed),
            seconds: now.as_secs(),
            nanoseconds: now.subsec_nanos().into(),
        }
    }
}

/// Whether `reply` is the reply to that ping; its status is ignored.
pub(crate) fn is_good(sent: &Request, reply: &IncomingReply) -> bool {
    match (sent, &reply.reply) {
        (Request::Ping(ping), Reply::Ping(reply)) => reply.sequence == Some(ping.sequence),
        _ => false,
    }
}
