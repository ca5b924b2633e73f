//! Messages that wait to be resent.

use crate::environment::time::Time;
use crate::model::Peer;
use crate::model::message::{OutgoingMessage, Pooled};
use crate::sync::{Mutex, lock};
use lnet_wire::Nid;

/// The messages, each with the time at which it is due.
#[derive(Debug, Default)]
pub(super) struct ResendQueue(Mutex<Vec<(Time, Pooled<OutgoingMessage>)>>);

impl ResendQueue {
    pub(super) fn push(&self, at: Time, message: Pooled<OutgoingMessage>) {
        lock(&self.0).push((at, message));
    }

    pub(super) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Makes messages to a peer due now, those to nodes behind it too.
    pub(super) fn expedite(&self, peer: &Peer, now: Time) {
        let is_to = |nid: Nid| peer.nids.contains(&nid);
        self.expedite_where(now, |message| is_to(message.header.dest_nid) || is_to(message.next_hop.nid));
    }

    /// Makes some messages due now.
    pub(super) fn expedite_where(&self, now: Time, is_meant: impl Fn(&OutgoingMessage) -> bool) {
        for (at, _) in lock(&self.0).iter_mut().filter(|(_, message)| is_meant(message)) {
            *at = now;
        }
    }

    /// Takes the messages that are due; returns when the next one is.
    pub(super) fn take_due(&self, now: Time) -> (Vec<Pooled<OutgoingMessage>>, Option<Time>) {
        let mut queue = lock(&self.0);
        let (due, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut *queue).into_iter().partition(|(at, _)| *at <= now);
        *queue = rest;
        let next = queue.iter().map(|(at, _)| *at).min();
        (due.into_iter().map(|(_, message)| message).collect(), next)
    }

    pub(super) fn take_all(&self) -> Vec<Pooled<OutgoingMessage>> {
        let queue = std::mem::take(&mut *lock(&self.0));
        queue.into_iter().map(|(_, message)| message).collect()
    }
}
