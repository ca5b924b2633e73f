//! Descriptors of bulk data that no RPC uses, kept for others: to make one costs as much as to send a message.

use super::incoming::Transfer;
use lnet_api::sync::lock;
use lnet_api::{ProcessId, Region};
use std::sync::{Arc, Mutex};

/// The most descriptors that are kept, and the most bytes of those that fetch, which are looked at if some are long.
const MAX_IDLE: usize = 64;
const MAX_BYTES: usize = 32 << 20;

/// The kind of transfers that a descriptor can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) is_get: bool,
    pub(super) length: usize,
    /// The peer to fetch from: no other one gets to know the descriptor. `None`: the descriptor sends.
    peer: Option<ProcessId>,
    /// The address of the memory to be sent; 0: the descriptor fetches.
    source: usize,
}

impl Shape {
    pub(super) const fn fetch(length: usize, peer: ProcessId) -> Self {
        Self { is_get: true, length, peer: Some(peer), source: 0 }
    }

    pub(super) fn send(length: usize, region: &Arc<Region>) -> Self {
        Self { is_get: false, length, peer: None, source: Arc::as_ptr(region).addr() }
    }

    /// The number of events of a transfer: a GET has one for the request and one for the data.
    pub(super) const fn events(&self) -> u8 {
        if self.is_get { 2 } else { 1 }
    }

    /// The bytes of memory of the descriptor's own.
    const fn own_bytes(&self) -> usize {
        if self.is_get { self.length } else { 0 }
    }
}

/// The descriptors that no RPC uses; the one that was used last is last.
#[derive(Default)]
pub(super) struct IdleTransfers(Mutex<Vec<Arc<Transfer>>>);

impl IdleTransfers {
    /// Takes a descriptor of this shape, which may have been unlinked.
    pub(super) fn take(&self, shape: &Shape) -> Option<Arc<Transfer>> {
        let mut idle = lock(&self.0);
        let at = idle.iter().rposition(|transfer| transfer.shape == *shape)?;
        Some(idle.remove(at))
    }

    /// Removes a descriptor that has had its last event, if it is there.
    pub(super) fn forget(&self, transfer: &Transfer) {
        let mut idle = lock(&self.0);
        let at = idle.iter().position(|known| std::ptr::eq(&raw const **known, transfer));
        let forgotten = at.map(|at| idle.remove(at));
        drop(idle);
        drop(forgotten);
    }

    /// Keeps a descriptor. Returns another one if there are too many, which is to be unlinked.
    pub(super) fn keep(&self, transfer: Arc<Transfer>) -> Option<Arc<Transfer>> {
        let mut idle = lock(&self.0);
        idle.push(transfer);
        let bytes: usize = match idle.last() {
            Some(last) if last.shape.own_bytes() * MAX_IDLE > MAX_BYTES => {
                idle.iter().map(|transfer| transfer.shape.own_bytes()).sum()
            }
            _ => 0,
        };
        (idle.len() > MAX_IDLE || bytes > MAX_BYTES).then(|| idle.remove(0))
    }
}
