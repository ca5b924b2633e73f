//! An interface as the core sees it.

use super::{Command, Message, O2ibNi};
use crate::config::conns;
use crate::conn::RxId;
use lnd_common::deliverers::Role;
use lnd_common::engine_ni::{EngineNi, Look};
use lnd_common::outputs::PassOutputs;
use lnet_core::lnd::{DeferredRx, LndNi, RxAction, SendOutcome};
use lnet_core::{Cause, Errno};
use lnet_log::LogClass;
use lnet_wire::Nid;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

/// An interface as the core sees it.
pub(crate) struct NiHandle {
    ni: Arc<O2ibNi>,
    numbers: Vec<(&'static str, u32)>,
}

impl NiHandle {
    pub(crate) const fn new(ni: Arc<O2ibNi>, numbers: Vec<(&'static str, u32)>) -> Self {
        Self { ni, numbers }
    }
}

impl LndNi for NiHandle {
    fn open(&self) {
        if let Err(error) = self.ni.start_threads() {
            lnet_log::write_line!(
                LogClass::ThreadFailed,
                "NI {}: its thread cannot start ({error}); no message arrives",
                self.ni.nid
            );
        }
    }

    fn send(&self, message: Message) -> SendOutcome {
        match self.ni.submit(Command::Send(message)) {
            Err(Command::Send(message)) => SendOutcome::Done(message, Err(Errno::Shutdown.into())),
            _ => SendOutcome::Pending,
        }
    }

    fn conns_per_peer(&self) -> Option<u16> {
        Some(self.ni.conns_per_peer.load(Ordering::Relaxed))
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        self.numbers.clone()
    }

    fn set_conns_per_peer(&self, connections: u16) {
        let connections = conns(connections.into());
        self.ni.conns_per_peer.store(connections, Ordering::Relaxed);
        self.ni.tell(Command::ConnsPerPeer(connections));
    }

    fn abort_tx(&self, peer: Option<Nid>, cause: Cause) {
        self.ni.tell(Command::Abort(peer, cause));
    }

    fn incarnation(&self, peer: Nid) -> Option<u64> {
        self.ni.shared.lock().engine.engine.incarnation(peer)
    }

    fn shutdown(&self) {
        self.ni.shut_down();
    }
}

/// A message of a peer that waits for a buffer of this node.
pub(super) struct Deferred {
    pub(super) ni: Weak<O2ibNi>,
    pub(super) rx: RxId,
}

impl DeferredRx for Deferred {
    fn resume(&self, action: RxAction) {
        let Some(ni) = self.ni.upgrade() else { return };
        ni.decide(self.rx, action);
        // No event handler runs on this thread.
        ni.shared.wake();
    }

    fn is_lost(&self) -> bool {
        self.ni.upgrade().is_none_or(|ni| ni.shared.lock().engine.engine.is_lost(self.rx))
    }

    fn resume_here(&self, action: RxAction) {
        let Some(ni) = self.ni.upgrade() else { return };
        ni.decide(self.rx, action);
        let mut state = ni.shared.lock();
        ni.step_with(&mut state, Look::Nowhere);
        drop(state);
        ni.pass_outputs(Role::Application);
    }
}
