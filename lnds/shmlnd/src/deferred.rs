//! Messages that wait for a buffer of this node, in memory of the driver.

use crate::ni::ShmNi;
use crate::pipes::{Received, Taken};
use lnd_common::deliverers::Role;
use lnd_common::outputs::PassOutputs;
use lnd_common::sync::lock;
use lnet_core::lnd::{DeferredRx, RxAction, Upcalls};
use lolnd::copy;
use std::sync::{Arc, Mutex, Weak};

/// A deferred message, between the driver and the core.
pub(crate) struct Deferred {
    ni: Weak<ShmNi>,
    me: Weak<Self>,
    slot: Mutex<Slot>,
}

enum Slot {
    /// Neither the message nor the decision is here.
    Empty,
    Kept(Received, Taken),
    /// The decision came before the message.
    Decided(RxAction),
}

impl Deferred {
    pub(crate) fn new(ni: Weak<ShmNi>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self { ni, me: Weak::clone(me), slot: Mutex::new(Slot::Empty) })
    }

    /// Keeps the message until the core has decided, which it may have.
    pub(crate) fn keep(&self, message: Received, taken: Taken) {
        let before = std::mem::replace(&mut *lock(&self.slot), Slot::Kept(message, taken));
        if let Slot::Decided(action) = before {
            self.put_out(action);
        }
    }

    /// Does with the message what the core has decided.
    pub(crate) fn carry_out(&self, upcalls: &dyn Upcalls, action: RxAction) {
        let before = std::mem::replace(&mut *lock(&self.slot), Slot::Empty);
        if let (RxAction::Deliver(arriving), Slot::Kept(message, taken)) = (action, before) {
            copy::fill_payload_of(&arriving, message.payload());
            drop((message, taken));
            upcalls.received(arriving, Ok(()));
        }
    }

    /// Takes the core's decision, and keeps it if the message is not here. Returns whether it is.
    fn decide(&self, action: RxAction) -> bool {
        let mut slot = lock(&self.slot);
        if matches!(*slot, Slot::Kept(..)) {
            drop(slot);
            self.put_out(action);
            return true;
        }
        *slot = Slot::Decided(action);
        false
    }

    fn put_out(&self, action: RxAction) {
        if let (Some(ni), Some(me)) = (self.ni.upgrade(), self.me.upgrade()) {
            ni.resume(me, action);
        }
    }
}

impl DeferredRx for Deferred {
    fn resume(&self, action: RxAction) {
        // No event handler runs on this thread.
        self.decide(action);
    }

    fn is_lost(&self) -> bool {
        self.ni.strong_count() == 0
    }

    fn resume_here(&self, action: RxAction) {
        if self.decide(action)
            && let Some(ni) = self.ni.upgrade()
        {
            ni.pass_outputs(Role::Application);
        }
    }
}
