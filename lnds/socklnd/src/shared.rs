//! State that all parts of the driver share: tunables, clock, log, limits and numbers. The module depends on none of the
//! parts.

use crate::config::SocklndConfig;
use crate::spare_memory::SpareMemory;
use crate::sync::lock;
use lnd_common::message_id::ConnSeq;
use lnd_common::permit::Permits;
use lnet_core::{Clock, Time};
use lnet_log::{History, LogClass, RateLimitedLog};
use lnet_wire::Nid;
use std::collections::HashMap;
use std::fmt::{Arguments, Display};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: SocklndConfig,
    clock: Arc<dyn Clock>,
    log: RateLimitedLog,
    /// Permits of inbound connections.
    pub(crate) permits: Permits,
    /// Bytes of deferred payloads, of all peers.
    pub(crate) deferred_bytes: Arc<AtomicUsize>,
    /// The same for each peer NI, as long as it has deferred payloads or is connected.
    deferred_by_peer: Mutex<HashMap<Nid, Weak<AtomicUsize>>>,
    /// Memory for deferred payloads.
    pub(crate) deferred_memory: SpareMemory,
    connection_ids: AtomicU64,
    conn_seqs: AtomicU64,
    last_incarnation: AtomicU64,
    /// Number of NIs that peers may connect to.
    open_nis: AtomicUsize,
}

impl Shared {
    pub(crate) fn new(config: SocklndConfig, clock: Arc<dyn Clock>, history: Option<Arc<History>>) -> Self {
        Self {
            permits: Permits::new(config.conns_per_address),
            config,
            clock,
            log: RateLimitedLog::new().keeping(history),
            deferred_bytes: Arc::default(),
            deferred_by_peer: Mutex::default(),
            deferred_memory: SpareMemory::default(),
            connection_ids: AtomicU64::new(0),
            conn_seqs: AtomicU64::new(0),
            last_incarnation: AtomicU64::new(0),
            open_nis: AtomicUsize::new(0),
        }
    }

    /// The time, by the node's clock.
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Writes a line to the log, at the limited rate of its class and subject. The subject is a peer, an address, a NID.
    pub(crate) fn log(&self, class: LogClass, subject: impl Display, line: Arguments<'_>) {
        self.log.write(self.now(), class, subject, line);
    }

    /// Logs the counts of suppressed lines for the periods that have ended. To be called periodically.
    pub(crate) fn poll_log(&self, now: Time) {
        self.log.poll(now);
    }

    /// Returns the counter of deferred payload bytes of one peer NI, which includes those of its earlier connections.
    pub(crate) fn deferred_bytes_of(&self, peer: Nid) -> Arc<AtomicUsize> {
        let mut by_peer = lock(&self.deferred_by_peer);
        if let Some(its) = by_peer.get(&peer).and_then(Weak::upgrade) {
            return its;
        }
        if by_peer.len() == by_peer.capacity() {
            by_peer.retain(|_, its| its.strong_count() > 0);
        }
        let its = Arc::default();
        by_peer.insert(peer, Arc::downgrade(&its));
        its
    }

    pub(crate) fn next_connection_id(&self) -> u64 {
        self.connection_ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the sequence for the message IDs of a new connection.
    pub(crate) fn next_conn_seq(&self) -> ConnSeq {
        ConnSeq::nth(self.conn_seqs.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns an incarnation for an NI: the wall clock's time, but never the same twice.
    pub(crate) fn next_incarnation(&self) -> u64 {
        let now = (self.config.incarnation)();
        let before = self
            .last_incarnation
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |last| Some(now.max(last + 1)))
            .unwrap_or(0);
        now.max(before + 1)
    }

    pub(crate) fn note_ni_open(&self) {
        self.open_nis.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn note_ni_closed(&self) {
        self.open_nis.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether peers can connect to any NI.
    pub(crate) fn has_open_ni(&self) -> bool {
        self.open_nis.load(Ordering::SeqCst) > 0
    }
}
