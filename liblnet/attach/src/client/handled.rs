//! The ACKs of PUTs to a handler of the program: the node sends each when the handler has run.

use super::{AttachedNode, Task};
use crate::record::Operation;
use lnd_common::sync::lock;
use lnet_core::MdHandle;
use std::collections::VecDeque;
use std::sync::Arc;

/// An ACK that the node sends when the program has handled the event of its PUT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WaitingAck {
    /// The number of the operation of this program that the PUT is; 0 for a PUT of another.
    operation: u64,
    request: u64,
}

/// The events of one MD that have come and have been delivered, and the ACKs that wait for them.
#[derive(Debug, Default)]
pub(super) struct Handling {
    come: u64,
    delivered: u64,
    /// Each with the number of events that had come before it.
    waiting: VecDeque<(u64, WaitingAck)>,
}

impl Handling {
    /// Counts an event that has come.
    pub(super) const fn note_event(&mut self) {
        self.come += 1;
    }

    /// Counts an event whose handler has returned.
    pub(super) const fn note_delivery(&mut self) {
        self.delivered += 1;
    }

    /// Lets an ACK wait for the events that have come. Returns it if they have been delivered.
    #[must_use]
    pub(super) fn add(&mut self, ack: WaitingAck) -> Option<WaitingAck> {
        if self.delivered >= self.come {
            return Some(ack);
        }
        self.waiting.push_back((self.come, ack));
        None
    }

    /// Takes the next ACK whose events have been delivered.
    pub(super) fn next(&mut self) -> Option<WaitingAck> {
        let delivered = self.delivered;
        self.waiting.pop_front_if(|(after, _)| *after <= delivered).map(|(_, ack)| ack)
    }
}

impl AttachedNode {
    /// Lets the node send an ACK when the last event of the MD has been delivered.
    pub(super) fn acknowledge_when_handled(&self, operation: u64, request: u64, md: MdHandle) {
        let md = lock(&self.mds).get(&md).map(Arc::clone);
        let ack = WaitingAck { operation, request };
        let handled = match md {
            Some(md) => md.add_ack(ack),
            None => Some(ack),
        };
        if let Some(ack) = handled {
            self.add_task(operation, Task::NoteHandled(ack));
        }
    }

    /// Tells the node that an event has been handled. That of a PUT to itself has the ACK's event when this returns.
    pub(super) fn note_handled(&self, WaitingAck { operation, request }: WaitingAck) {
        let handled = Operation::Handled { request };
        // Without an attachment nobody waits for an ACK.
        _ = match operation {
            0 => self.send(0, &handled),
            _ => self.call(&handled).map(|_| ()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ack(request: u64) -> WaitingAck {
        WaitingAck { operation: 0, request }
    }

    #[test]
    fn an_ack_waits_for_the_events_that_have_come_and_for_no_later_ones() {
        let mut handling = Handling::default();
        assert_eq!(handling.add(ack(1)), Some(ack(1)), "nothing has come");
        handling.note_event();
        assert_eq!(handling.add(ack(2)), None);
        handling.note_event();
        assert_eq!(handling.add(ack(3)), None);
        assert_eq!(handling.next(), None);
        handling.note_delivery();
        assert_eq!([handling.next(), handling.next()], [Some(ack(2)), None]);
        handling.note_delivery();
        assert_eq!([handling.next(), handling.next()], [Some(ack(3)), None]);
        assert_eq!(handling.add(ack(4)), Some(ack(4)), "all have been delivered");
    }
}
