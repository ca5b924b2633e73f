//! The network of this driver: the interfaces that are connected, and those whose link is cut.

use lnet_core::Ni;
use lnet_core::lnd::Upcalls;
use lnet_wire::Nid;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The wire that connects the interfaces of several nodes of one process.
#[derive(Default)]
pub struct Wire {
    ends: Mutex<Ends>,
    idle: Condvar,
}

#[derive(Default)]
struct Ends {
    ports: BTreeMap<Nid, Port>,
    cut: BTreeSet<Nid>,
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("cut", &lock(&self.ends).cut).finish_non_exhaustive()
    }
}

/// An interface on the wire.
pub(crate) struct Port {
    pub(crate) ni: Arc<Ni>,
    pub(crate) upcalls: Arc<dyn Upcalls>,
    pub(crate) is_open: bool,
    /// The number of messages that are being received.
    pub(crate) receiving: usize,
}

impl Wire {
    /// Cuts the link of an interface, over which nothing is sent or received then, or connects it again.
    pub fn cut(&self, nid: Nid, is_cut: bool) {
        let cut = &mut lock(&self.ends).cut;
        _ = if is_cut { cut.insert(nid) } else { cut.remove(&nid) };
    }

    /// Connects an interface; `false` if another has its NID.
    pub(crate) fn plug_in(&self, port: Port) -> bool {
        let ports = &mut lock(&self.ends).ports;
        let nid = port.ni.nid();
        !ports.contains_key(&nid) && ports.insert(nid, port).is_none()
    }

    pub(crate) fn open(&self, nid: Nid) {
        lock(&self.ends).ports.entry(nid).and_modify(|port| port.is_open = true);
    }

    /// Begins to receive a message, if there is a way; [`Wire::end`] follows.
    pub(crate) fn begin(&self, from: Nid, to: Nid) -> Option<(Arc<Ni>, Arc<dyn Upcalls>)> {
        let is_cut = [from, to].iter().any(|nid| lock(&self.ends).cut.contains(nid));
        if is_cut { None } else { self.hold(to) }
    }

    /// Keeps an interface that is open from being disconnected; [`Wire::end`] follows.
    pub(crate) fn hold(&self, nid: Nid) -> Option<(Arc<Ni>, Arc<dyn Upcalls>)> {
        let mut ends = lock(&self.ends);
        let port = ends.ports.get_mut(&nid).filter(|port| port.is_open)?;
        port.receiving += 1;
        Some((Arc::clone(&port.ni), Arc::clone(&port.upcalls)))
    }

    pub(crate) fn end(&self, nid: Nid) {
        lock(&self.ends).ports.entry(nid).and_modify(|port| port.receiving -= 1);
        self.idle.notify_all();
    }

    /// Disconnects an interface when nothing is being received there any more: no upcall for it follows the return.
    pub(crate) fn unplug(&self, nid: Nid) {
        let mut ends = lock(&self.ends);
        ends.ports.entry(nid).and_modify(|port| port.is_open = false);
        while ends.ports.get(&nid).is_some_and(|port| port.receiving > 0) {
            ends = self.idle.wait(ends).unwrap_or_else(PoisonError::into_inner);
        }
        ends.ports.remove(&nid);
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
