//! The ACKs of PUTs to a handler of the program: the node sends each when the handler has run.

use super::{AttachedNode, Task};
use crate::record::Operation;
use lnd_common::sync::lock;
use lnet_core::MdHandle;
use std::collections::VecDeque;
use std::sync::Arc;

/// The events of one MD that have come and have been delivered, without those that are delivered as they come, and the ACKs that wait for
/// them.
#[derive(Debug, Default)]
pub(super) struct Handling {
    come: u64,
    delivered: u64,
    /// The numbers of the requests for them, each with the number of events that had come before it.
    waiting: VecDeque<(u64, u64)>,
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

    /// Lets the ACK of a request wait for the events that have come. `false` if they have been delivered.
    pub(super) fn add(&mut self, request: u64) -> bool {
        let waits = self.delivered < self.come;
        if waits {
            self.waiting.push_back((self.come, request));
        }
        waits
    }

    /// Takes the next ACK whose events have been delivered.
    pub(super) fn next(&mut self) -> Option<u64> {
        let delivered = self.delivered;
        self.waiting.pop_front_if(|(after, _)| *after <= delivered).map(|(_, request)| request)
    }
}

impl AttachedNode {
    /// Lets the node send an ACK when the last event of the MD has been delivered. `operation` is that during which it has come, or 0.
    pub(super) fn acknowledge_when_handled(&self, operation: u64, request: u64, md: MdHandle) {
        let md = lock(&self.mds).get(&md).map(Arc::clone);
        if !md.is_some_and(|md| md.add_ack(request)) {
            self.add_task(operation, Task::NoteHandled(request));
        }
    }

    /// Tells the node that an event has been handled.
    pub(super) fn note_handled(&self, request: u64) {
        // Without an attachment nobody waits for an ACK.
        _ = self.send(0, &Operation::Handled { request });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_waits_for_the_events_that_have_come_and_for_no_later_ones() {
        let mut handling = Handling::default();
        assert!(!handling.add(1), "nothing has come");
        handling.note_event();
        assert!(handling.add(2));
        handling.note_event();
        assert!(handling.add(3));
        assert_eq!(handling.next(), None);
        handling.note_delivery();
        assert_eq!([handling.next(), handling.next()], [Some(2), None]);
        handling.note_delivery();
        assert_eq!([handling.next(), handling.next()], [Some(3), None]);
        assert!(!handling.add(4), "all have been delivered");
    }
}
