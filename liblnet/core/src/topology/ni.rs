//! A network interface of this node.

use crate::credit::{CreditPool, Credits, ni_credits_per_cpt};
use crate::lnd::LndNi;
use crate::message::Message;
use crate::stats::Counters;
use crate::sync::{Mutex, lock};
use lnet_wire::Nid;
use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// What can be set for a net's interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NiTunables {
    /// Messages with the driver at once, per interface (`credits`).
    pub credits: u32,
    /// Messages with the driver at once, per peer NI (`peer_credits`).
    pub peer_credits: u32,
}

impl Default for NiTunables {
    fn default() -> Self {
        Self { credits: 256, peer_credits: 8 }
    }
}

/// One network interface of this node.
pub struct Ni {
    nid: Nid,
    tunables: NiTunables,
    lnd: OnceLock<std::sync::Arc<dyn LndNi>>,
    down: AtomicBool,
    tx: Box<[Mutex<CreditPool<Box<Message>>>]>,
    counters: Counters,
}

impl Ni {
    /// An interface that no driver serves yet. [`crate::Errno::Invalid`] for no credits at all (CR-2).
    pub(crate) fn new(nid: Nid, tunables: NiTunables, cpts: NonZeroUsize) -> Result<Self, crate::Errno> {
        if tunables.credits == 0 || tunables.peer_credits == 0 {
            return Err(crate::Errno::Invalid);
        }
        let per_cpt = ni_credits_per_cpt(tunables.credits, tunables.peer_credits, cpts);
        let tx = (0..cpts.get()).map(|_| Mutex::new(CreditPool::new(per_cpt))).collect();
        Ok(Self {
            nid,
            tunables,
            lnd: OnceLock::new(),
            down: AtomicBool::new(false),
            tx,
            counters: Counters::default(),
        })
    }

    /// Its identity. For TCP the address part is the IP address to bind.
    pub const fn nid(&self) -> Nid {
        self.nid
    }

    /// What was set for it.
    pub const fn tunables(&self) -> NiTunables {
        self.tunables
    }

    /// What went through it.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Send credits left, over all CPU partitions.
    pub fn credits(&self) -> Credits {
        Credits(self.tx.iter().map(|pool| lock(pool).credits().0).sum())
    }

    /// Its driver, once that has been started and until it is shut down.
    pub(crate) fn lnd(&self) -> Option<&dyn LndNi> {
        if self.down.load(Ordering::Acquire) { None } else { self.lnd.get().map(|lnd| &**lnd) }
    }

    pub(crate) fn set_lnd(&self, lnd: std::sync::Arc<dyn LndNi>) {
        // Only the thread that starts an interface calls this, once.
        let _ = self.lnd.set(lnd);
    }

    /// No more sends; the driver, to be shut down.
    pub(crate) fn take_down(&self) -> Option<&dyn LndNi> {
        self.down.store(true, Ordering::Release);
        self.lnd.get().map(|lnd| &**lnd)
    }

    pub(crate) fn tx(&self, cpt: usize) -> &Mutex<CreditPool<Box<Message>>> {
        &self.tx[cpt % self.tx.len()]
    }

    pub(crate) fn all_tx(&self) -> &[Mutex<CreditPool<Box<Message>>>] {
        &self.tx
    }
}

impl std::fmt::Debug for Ni {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ni").field("nid", &self.nid).finish_non_exhaustive()
    }
}
