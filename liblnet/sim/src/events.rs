//! The queue of events that are due at a time.

use crate::link::{InterfaceId, LinkKey};
use crate::trace::NodeId;
use lnet_core::Time;
use lnet_wire::Nid;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// An event of the simulated network.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SimEvent {
    /// The first message of a connection arrives, if the link is still armed with this token.
    Arrival(LinkKey, u64),
    /// The result of this message is reported to its sender.
    Finish(u64),
    /// The ACK for this message arrives at its sender.
    Ack(u64),
    /// A gateway's confirmation arrives.
    Confirmation(u64),
    /// A driver checks a message that it sends while it arrives.
    StarvedCheck(u64),
    /// A driver learns that a message which it sends will not arrive.
    ArrivalFailed(u64),
    /// A driver learns that the rest of a message which it receives will not arrive.
    ReceptionLost(u64),
    /// An interface is told that its connections to a peer NI have ended.
    ConnectionsEnded(InterfaceId, Nid),
    /// An interface connects again to a peer NI that did not respond.
    Connect(InterfaceId, Nid),
    /// The path from an interface to a peer NI is checked.
    PathCheck(InterfaceId, Nid),
    /// A node wakes up.
    Wake(NodeId),
}

impl SimEvent {
    /// Whether the event is a report to a driver about messages that it has sent.
    const fn is_notice(self) -> bool {
        matches!(self, Self::Ack(_) | Self::Confirmation(_) | Self::ConnectionsEnded(..))
    }
}

/// Events in the order of time; those due at the same time in the order in which they were planned.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<QueuedEvent>>,
    planned: u64,
}

#[derive(Clone, Copy, Debug)]
struct QueuedEvent {
    at: Time,
    number: u64,
    due: SimEvent,
}

impl EventQueue {
    /// Plans the event that `due` makes of the plan's number, which is never used twice.
    pub(crate) fn plan(&mut self, at: Time, due: impl FnOnce(u64) -> SimEvent) -> u64 {
        self.planned += 1;
        let number = self.planned;
        self.heap.push(Reverse(QueuedEvent { at, number, due: due(number) }));
        number
    }

    pub(crate) fn next_at(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    pub(crate) fn take_next(&mut self) -> Option<(Time, SimEvent)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.due))
    }

    /// Returns the notices, whose order the caller may choose: the earliest first, each with the number of its plan.
    pub(crate) fn notices(&self) -> Vec<(u64, SimEvent)> {
        let mut all: Vec<QueuedEvent> =
            self.heap.iter().map(|Reverse(entry)| *entry).filter(|it| it.due.is_notice()).collect();
        all.sort_unstable();
        all.into_iter().map(|entry| (entry.number, entry.due)).collect()
    }

    /// Takes the event that was planned with this number.
    pub(crate) fn take(&mut self, number: u64) -> Option<SimEvent> {
        let due = self.heap.iter().find(|Reverse(entry)| entry.number == number)?.0.due;
        self.heap.retain(|Reverse(entry)| entry.number != number);
        Some(due)
    }

    pub(crate) fn peek(&self) -> Option<&SimEvent> {
        self.heap.peek().map(|Reverse(entry)| &entry.due)
    }
}

impl QueuedEvent {
    const fn key(&self) -> (Time, u64) {
        (self.at, self.number)
    }
}

impl PartialEq for QueuedEvent {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for QueuedEvent {}

impl PartialOrd for QueuedEvent {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for QueuedEvent {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}
