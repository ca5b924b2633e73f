//! Counters of RPCs (selftest 4.1). They count from the start of the engine on, over all sessions.

use crate::wire::RpcCounters;
use lnet_api::Errno;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

#[derive(Debug, Default)]
pub(crate) struct Counters {
    errors: AtomicU32,
    sent: AtomicU32,
    received: AtomicU32,
    dropped: AtomicU32,
    expired: AtomicU32,
    bulk_get: AtomicU64,
    bulk_put: AtomicU64,
}

impl Counters {
    /// Counts an event of a descriptor if it is an error; the end of a cancelled transfer is not.
    pub(crate) fn event(&self, status: Result<(), Errno>) {
        if status.is_err_and(|errno| errno != Errno::Cancelled) {
            self.errors.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn request_sent(&self) {
        self.sent.fetch_add(1, Relaxed);
    }

    pub(crate) fn request_received(&self) {
        self.received.fetch_add(1, Relaxed);
    }

    /// An incoming RPC ended without a reply, or the reply could not be sent.
    pub(crate) fn dropped(&self) {
        self.dropped.fetch_add(1, Relaxed);
    }

    pub(crate) fn expired(&self) {
        self.expired.fetch_add(1, Relaxed);
    }

    /// Counts bytes that a server has fetched.
    pub(crate) fn bulk_got(&self, bytes: usize) {
        self.bulk_get.fetch_add(bytes as u64, Relaxed);
    }

    /// Counts bytes that a server has sent.
    pub(crate) fn bulk_put(&self, bytes: usize) {
        self.bulk_put.fetch_add(bytes as u64, Relaxed);
    }

    pub(crate) fn now(&self) -> RpcCounters {
        RpcCounters {
            errors: self.errors.load(Relaxed),
            rpcs_sent: self.sent.load(Relaxed),
            rpcs_rcvd: self.received.load(Relaxed),
            rpcs_dropped: self.dropped.load(Relaxed),
            rpcs_expired: self.expired.load(Relaxed),
            bulk_get: self.bulk_get.load(Relaxed),
            bulk_put: self.bulk_put.load(Relaxed),
        }
    }
}
