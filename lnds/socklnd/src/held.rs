//! A message that the core wants to decide about later: its connection is not read until then.

use crate::connection::Connection;
use crate::sync::lock;
use lnet_core::lnd::{HeldReceive, Upcalls, Verdict};
use lnet_core::{Errno, Message};
use std::sync::{Arc, Mutex, Weak};

pub(crate) struct Held {
    connection: Weak<Connection>,
    upcalls: Arc<dyn Upcalls>,
    slot: Mutex<Slot>,
}

#[derive(Debug)]
enum Slot {
    Undecided,
    Decided(Verdict),
    /// The verdict has been carried out.
    Taken,
    /// The connection is gone, and the payload with it.
    Lost,
}

impl Held {
    pub(crate) fn new(connection: &Arc<Connection>) -> Arc<Self> {
        Arc::new(Self {
            connection: Arc::downgrade(connection),
            upcalls: Arc::clone(&connection.ni().upcalls),
            slot: Mutex::new(Slot::Undecided),
        })
    }

    /// The verdict, if it is here.
    pub(crate) fn take(&self) -> Option<Verdict> {
        let mut slot = lock(&self.slot);
        match std::mem::replace(&mut *slot, Slot::Taken) {
            Slot::Decided(verdict) => Some(verdict),
            other => {
                *slot = other;
                None
            }
        }
    }

    /// The connection is gone. The message, if the verdict had brought one already.
    pub(crate) fn abandon(&self) -> Option<Box<Message>> {
        match std::mem::replace(&mut *lock(&self.slot), Slot::Lost) {
            Slot::Decided(Verdict::Deliver(message)) => Some(message),
            _ => None,
        }
    }
}

impl HeldReceive for Held {
    /// Stores the verdict and has the connection looked at by its scheduler, so that nothing is read on the
    /// caller's thread, which may be in the middle of anything.
    fn resume(&self, verdict: Verdict) {
        let lost = {
            let mut slot = lock(&self.slot);
            match *slot {
                Slot::Undecided => {
                    *slot = Slot::Decided(verdict);
                    None
                }
                _ => Some(verdict),
            }
        };
        match (lost, self.connection.upgrade()) {
            (None, Some(connection)) => {
                let scheduler = Arc::clone(&connection.scheduler);
                scheduler.schedule(connection);
            }
            (None, None) => {
                if let Some(message) = self.abandon() {
                    self.upcalls.received(message, Err(Errno::Io));
                }
            }
            (Some(Verdict::Deliver(message)), _) => self.upcalls.received(message, Err(Errno::Io)),
            (Some(_), _) => {}
        }
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held").field("slot", &self.slot).finish_non_exhaustive()
    }
}
