//! A spy that records the driver's reports to the core, and responds to its questions in place of the core.

use super::forwarding::{Hooks, SendResult, node_with};
use super::{Node, running_clock};
use lnet_core::lnd::{LndNi, Upcalls};
use lnet_core::topology::Ni;
use lnet_core::{Clock, OutgoingMessage, Pooled, SendFailure};
use lnet_wire::Nid;
use socklnd::SocklndConfig;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Default)]
pub struct Spy {
    /// The driver's NI, while it is up.
    pub ni: Mutex<Option<Arc<dyn LndNi>>>,
    /// The response to the driver's question whether there is another path.
    pub other_path: AtomicBool,
    /// Number of reports of a late path, and the number of those before the first report of an unresponsive
    /// path.
    pub late: AtomicU32,
    pub late_before: AtomicU32,
    /// Number of reports of an unresponsive path.
    pub unresponsive: AtomicU32,
    /// Number of reports that a path is responsive again.
    pub responsive: AtomicU32,
    /// Failures of the messages that came back.
    pub failures: Mutex<Vec<SendFailure>>,
}

impl Spy {
    /// Makes a node whose driver and core talk through this spy.
    pub fn node(self: &Arc<Self>, nid: Nid, config: SocklndConfig) -> Node {
        self.node_with_clock(nid, config, running_clock())
    }

    /// Makes such a node with a driver that reads the time from `clock`.
    pub fn node_with_clock(self: &Arc<Self>, nid: Nid, config: SocklndConfig, clock: Arc<dyn Clock>) -> Node {
        node_with(self, nid, config, clock)
    }

    pub fn failures(&self) -> Vec<SendFailure> {
        self.failures.lock().unwrap().clone()
    }
}

impl Hooks for Spy {
    fn started(self: Arc<Self>, ni: &Arc<dyn LndNi>, _: &Arc<dyn Upcalls>) {
        *self.ni.lock().unwrap() = Some(Arc::clone(ni));
    }

    fn ended(&self) {
        *self.ni.lock().unwrap() = None;
    }

    fn completed(
        &self,
        message: Pooled<OutgoingMessage>,
        result: SendResult,
    ) -> Option<(Pooled<OutgoingMessage>, SendResult)> {
        self.failures.lock().unwrap().extend(result.err());
        Some((message, result))
    }

    fn path_is_late(&self, _: &dyn Upcalls, _: &Arc<Ni>, _: Nid) -> bool {
        self.late.fetch_add(1, Ordering::SeqCst);
        self.other_path.load(Ordering::SeqCst)
    }

    fn path_is_unresponsive(&self, _: &dyn Upcalls, _: &Arc<Ni>, _: Nid) -> bool {
        if self.unresponsive.fetch_add(1, Ordering::SeqCst) == 0 {
            self.late_before.store(self.late.load(Ordering::SeqCst), Ordering::SeqCst);
        }
        self.other_path.load(Ordering::SeqCst)
    }

    fn path_is_responsive(&self, _: &dyn Upcalls, _: &Arc<Ni>, _: Nid) {
        self.responsive.fetch_add(1, Ordering::SeqCst);
    }

    fn may_change_path(&self, _: &dyn Upcalls, _: &OutgoingMessage) -> bool {
        self.other_path.load(Ordering::SeqCst)
    }
}
