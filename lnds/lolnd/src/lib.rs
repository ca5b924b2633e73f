//! The loopback driver: a message to `0@lo` arrives within the call that sends it.
//!
//! Order of events (c-abi 3.9): a PUT's target event, its ACK, its SEND; a GET's SEND, its REPLY, its
//! target event.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod copy;

use lnet_core::Errno;
use lnet_core::lnd::{DeferredRx, Driver, LndNi, RxAction, SendOutcome, StartError, Upcalls, Violation};
use lnet_core::topology::Ni;
use lnet_core::{OutgoingMessage, Pooled, Provenance};
use lnet_wire::{Body, NetType, Nid};
use std::cell::OnceCell;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The driver; it has no state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lolnd;

impl Driver for Lolnd {
    fn net_type(&self) -> NetType {
        NetType::LO
    }

    fn start_ni(&self, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, StartError> {
        Ok(Arc::new(Loopback { ni: Arc::downgrade(ni), upcalls }))
    }
}

struct Loopback {
    ni: Weak<Ni>,
    upcalls: Arc<dyn Upcalls>,
}

impl LndNi for Loopback {
    fn send(&self, message: Pooled<OutgoingMessage>) -> SendOutcome {
        let Some(ni) = self.ni.upgrade() else {
            return SendOutcome::Done(message, Err(Errno::Shutdown.into()));
        };
        let header = *message.header();
        let held = OnceCell::new();
        let hold =
            || Arc::clone(held.get_or_init(|| DeferredMessage::new(&self.upcalls))) as Arc<dyn DeferredRx>;
        let action = self.upcalls.receive(&ni, Nid::LOOPBACK, &header, &Provenance::default(), &hold);
        match (action, held.into_inner()) {
            (RxAction::Defer, Some(held)) => {
                held.keep(message);
                SendOutcome::Pending
            }
            (action, _) => deliver(&*self.upcalls, message, action),
        }
    }

    fn shutdown(&self) {}
}

/// Carries out an action on a message that this node sent itself.
fn deliver(upcalls: &dyn Upcalls, sent: Pooled<OutgoingMessage>, action: RxAction) -> SendOutcome {
    match action {
        RxAction::Deliver(arriving) if matches!(sent.header().body, Body::Get { .. }) => {
            // The SEND event of a request comes before the event of its response.
            upcalls.finalize(sent, Ok(()));
            upcalls.received(arriving, Ok(()));
            SendOutcome::Pending
        }
        RxAction::Deliver(arriving) => {
            copy::copy(sent.payload(), arriving.payload());
            upcalls.received(arriving, Ok(()));
            SendOutcome::Done(sent, Ok(()))
        }
        RxAction::Discard => SendOutcome::Done(sent, Ok(())),
        RxAction::Reject(Violation::ShuttingDown) => SendOutcome::Done(sent, Err(Errno::Shutdown.into())),
        // A message is deferred at most once, and this node sends no invalid messages.
        RxAction::Defer | RxAction::Reject(_) => SendOutcome::Done(sent, Err(Errno::Protocol.into())),
    }
}

/// A message that waits for a buffer of this node (a lazy portal). The memory of its sender stays in use.
struct DeferredMessage {
    upcalls: Arc<dyn Upcalls>,
    state: Mutex<DeferredState>,
}

enum DeferredState {
    /// Neither the message nor the action is known yet.
    Empty,
    Waiting(Pooled<OutgoingMessage>),
    /// The action came before the message.
    Decided(RxAction),
}

impl DeferredMessage {
    fn new(upcalls: &Arc<dyn Upcalls>) -> Arc<Self> {
        Arc::new(Self { upcalls: Arc::clone(upcalls), state: Mutex::new(DeferredState::Empty) })
    }

    fn keep(&self, message: Pooled<OutgoingMessage>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, DeferredState::Empty) {
            DeferredState::Decided(action) => {
                drop(state);
                self.finish(message, action);
            }
            _ => *state = DeferredState::Waiting(message),
        }
    }

    fn finish(&self, message: Pooled<OutgoingMessage>, action: RxAction) {
        if let SendOutcome::Done(message, result) = deliver(&*self.upcalls, message, action) {
            self.upcalls.finalize(message, result);
        }
    }
}

impl DeferredRx for DeferredMessage {
    fn resume(&self, action: RxAction) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, DeferredState::Empty) {
            DeferredState::Waiting(message) => {
                drop(state);
                self.finish(message, action);
            }
            _ => *state = DeferredState::Decided(action),
        }
    }
}
