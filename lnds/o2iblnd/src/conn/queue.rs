//! The messages of a connection that wait to be posted (wire-o2ib 9: what costs no credit goes first).

use super::credits::Cost;
use crate::device::Write;
use crate::memory::Prepared;
use crate::proto::Descriptor;
use lnet_core::Time;
use std::collections::VecDeque;

/// A message that waits to be posted.
#[derive(Debug)]
pub(super) enum Queued<M> {
    Noop,
    Immediate(M),
    PutRequest { message: M, memory: Prepared },
    GetRequest { message: M, memory: Prepared },
    PutNak { cookie: u64, status: i32 },
    PutAck { cookie: u64, sink: u64, descriptor: Descriptor },
    PutDone { cookie: u64, status: i32, writes: Vec<Write>, payload: Option<(M, Prepared)> },
    GetDone { cookie: u64, status: i32, writes: Vec<Write>, payload: Option<(M, Prepared)> },
}

impl<M> Queued<M> {
    /// What the message costs.
    pub(super) const fn cost(&self) -> Cost {
        match self {
            Self::Noop => Cost::Noop,
            Self::Immediate(_) => Cost::Credit,
            Self::PutRequest { .. } | Self::GetRequest { .. } => Cost::Reservation,
            Self::PutNak { .. } | Self::PutAck { .. } | Self::PutDone { .. } | Self::GetDone { .. } => {
                Cost::Free
            }
        }
    }
}

/// The queues of one connection.
#[derive(Debug)]
pub(super) struct Queue<M> {
    free: VecDeque<(Queued<M>, Time)>,
    costly: VecDeque<(Queued<M>, Time)>,
}

impl<M> Default for Queue<M> {
    fn default() -> Self {
        Self { free: VecDeque::new(), costly: VecDeque::new() }
    }
}

impl<M> Queue<M> {
    pub(super) fn push(&mut self, queued: Queued<M>, now: Time) {
        let queue = if queued.cost() == Cost::Free { &mut self.free } else { &mut self.costly };
        queue.push_back((queued, now));
    }

    /// A NOOP goes before everything else, as nothing else waits for it.
    pub(super) fn push_noop(&mut self, now: Time) {
        self.free.push_front((Queued::Noop, now));
    }

    /// What the next message costs, if there is one that `may` be posted; else what the first of those that wait costs.
    pub(super) fn next_cost(&self, may: impl Fn(Cost) -> bool) -> Option<Cost> {
        let costs =
            || [&self.free, &self.costly].into_iter().filter_map(|q| q.front()).map(|(q, _)| q.cost());
        costs().find(|cost| may(*cost)).or_else(|| costs().next())
    }

    /// Takes the next message that `may` be posted.
    pub(super) fn pop(&mut self, may: impl Fn(Cost) -> bool) -> Option<(Queued<M>, Time)> {
        for queue in [&mut self.free, &mut self.costly] {
            if queue.front().is_some_and(|(queued, _)| may(queued.cost())) {
                return queue.pop_front();
            }
        }
        None
    }

    /// Takes the messages of the core that have not been sent at all, if they satisfy `goes`.
    pub(super) fn take_unsent(&mut self, goes: impl Fn(&M) -> bool) -> Vec<(M, Option<Prepared>)> {
        let mut taken = Vec::new();
        for (queued, since) in std::mem::take(&mut self.costly) {
            match queued {
                Queued::Immediate(message) if goes(&message) => taken.push((message, None)),
                Queued::PutRequest { message, memory } | Queued::GetRequest { message, memory }
                    if goes(&message) =>
                {
                    taken.push((message, Some(memory)));
                }
                stays => self.costly.push_back((stays, since)),
            }
        }
        taken
    }

    /// Takes all messages, in the order in which they would have been posted.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Queued<M>> + '_ {
        self.free.drain(..).chain(self.costly.drain(..)).map(|(queued, _)| queued)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.free.is_empty() && self.costly.is_empty()
    }

    /// The time since which the oldest message waits.
    pub(super) fn oldest(&self) -> Option<Time> {
        [&self.free, &self.costly]
            .into_iter()
            .filter_map(|queue| queue.front())
            .map(|(_, since)| *since)
            .min()
    }
}
