//! Difficult replies: replies for which the program holds resources until the client has them, their transaction is
//! committed, or the client is disconnected (PR-75).

use crate::lnet::{Event, EventKind, Md};
use crate::message::body::ExportCookie;
use lnet_api::sync::lock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

/// The reason why a difficult reply has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyDone {
    /// The client has acknowledged the reply.
    Acked,
    /// The transaction is committed.
    Committed,
    /// The client has disconnected or was evicted, or the service ends.
    Lost,
}

/// The callback of the program, called once at the end.
pub(crate) type OnDone = Box<dyn FnOnce(ReplyDone) + Send>;

/// An event of a difficult reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyEvent {
    /// LNet has finished with the reply: it was sent, or could not be, or there will be no ACK.
    Sent,
    /// The reply is not needed any more.
    Done(ReplyDone),
}

/// The state of a difficult reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DifficultState {
    /// The reply is not completely sent. `committed`: it ends when it is sent; unlinking it now could prevent that.
    Sending {
        committed: bool,
    },
    /// The reply is sent, and waits for its end.
    Waiting,
    Ended,
}

/// Takes difficult replies that have ended, from event handlers.
pub(crate) trait EndedQueue: Send + Sync {
    /// Queues a reply for [`DifficultReply::finish`].
    fn push_ended(&self, reply: Arc<DifficultReply>, done: ReplyDone);
}

/// A difficult reply.
pub(crate) struct DifficultReply {
    key: Key,
    export: ExportCookie,
    replies: Weak<DifficultReplies>,
    ended: Arc<dyn EndedQueue>,
    state: Mutex<DifficultState>,
    md: Mutex<MdState>,
    on_done: Mutex<Option<OnDone>>,
}

/// The descriptor of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MdState {
    NotMade,
    Made(Md),
    /// The reply has been finished: a descriptor that is made later has to be unlinked by its maker.
    Finished,
}

/// The transaction number, and a sequence number.
type Key = (u64, u64);

/// The transaction number of a reply without a transaction, which is never committed.
const NO_TRANSACTION: u64 = 0;

/// The difficult replies of one target.
#[derive(Default)]
pub(crate) struct DifficultReplies(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    last_sequence: u64,
    by_key: BTreeMap<Key, Arc<DifficultReply>>,
}

/// Returns the next state, and the reason why the reply has ended, if it has.
fn next_state(state: DifficultState, event: ReplyEvent) -> (DifficultState, Option<ReplyDone>) {
    use DifficultState::{Ended, Sending, Waiting};
    match (state, event) {
        (Ended, _) => (Ended, None),
        (Sending { committed: false } | Waiting, ReplyEvent::Sent) => (Waiting, None),
        (Sending { committed: true }, ReplyEvent::Sent) => (Ended, Some(ReplyDone::Committed)),
        (Sending { .. }, ReplyEvent::Done(ReplyDone::Committed)) => (Sending { committed: true }, None),
        (_, ReplyEvent::Done(done)) => (Ended, Some(done)),
    }
}

impl DifficultReply {
    /// Stores the descriptor, which [`DifficultReply::finish`] unlinks. False: that was called before, and the caller has to
    /// unlink it.
    pub(crate) fn set_md(&self, made: Md) -> bool {
        let mut md = lock(&self.md);
        let is_in_time = *md != MdState::Finished;
        if is_in_time {
            *md = MdState::Made(made);
        }
        is_in_time
    }

    /// Handles an event of the reply. Any thread may call it, event handlers too.
    pub(crate) fn on_reply_event(self: &Arc<Self>, event: ReplyEvent) {
        let mut state = lock(&self.state);
        let (next, done) = next_state(*state, event);
        *state = next;
        drop(state);
        if let Some(done) = done {
            self.ended.push_ended(Arc::clone(self), done);
        }
    }

    /// Handles an event of the reply's descriptor.
    pub(crate) fn on_md_event(self: &Arc<Self>, event: &Event) {
        let reply_event = match (event.kind, event.status) {
            (EventKind::Ack, Ok(())) => Some(ReplyEvent::Done(ReplyDone::Acked)),
            (EventKind::Send, _) => Some(ReplyEvent::Sent),
            _ => event.unlinked.then_some(ReplyEvent::Sent),
        };
        if let Some(reply_event) = reply_event {
            self.on_reply_event(reply_event);
        }
    }

    /// Finishes a reply that has ended: the caller is to unlink the descriptor, then to call the program.
    pub(crate) fn finish(&self) -> (Option<Md>, Option<OnDone>) {
        if let Some(replies) = self.replies.upgrade() {
            replies.remove(self.key);
        }
        let md = match std::mem::replace(&mut *lock(&self.md), MdState::Finished) {
            MdState::Made(md) => Some(md),
            MdState::NotMade | MdState::Finished => None,
        };
        (md, lock(&self.on_done).take())
    }
}

impl DifficultReplies {
    /// Adds a reply. The event that ends it may have happened before: the caller checks that afterwards.
    pub(crate) fn add(
        self: &Arc<Self>,
        export: ExportCookie,
        transno: u64,
        ended: Arc<dyn EndedQueue>,
        on_done: OnDone,
    ) -> Arc<DifficultReply> {
        let mut entries = lock(&self.0);
        entries.last_sequence += 1;
        let key = (transno, entries.last_sequence);
        let reply = Arc::new(DifficultReply {
            key,
            export,
            replies: Arc::downgrade(self),
            ended,
            state: Mutex::new(DifficultState::Sending { committed: false }),
            md: Mutex::new(MdState::NotMade),
            on_done: Mutex::new(Some(on_done)),
        });
        entries.by_key.insert(key, Arc::clone(&reply));
        reply
    }

    /// Ends the replies whose transactions are up to this one: they are committed.
    pub(crate) fn on_committed(&self, transno: u64) {
        let is_committed = |key: &Key| key.0 <= transno;
        let entries = lock(&self.0);
        let transactions = entries.by_key.range((NO_TRANSACTION + 1, 0)..);
        let committed: Vec<_> = transactions
            .take_while(|(key, _)| is_committed(key))
            .map(|(_, reply)| Arc::clone(reply))
            .collect();
        drop(entries);
        let event = ReplyEvent::Done(ReplyDone::Committed);
        committed.iter().for_each(|reply| reply.on_reply_event(event));
    }

    /// Ends the replies of a client that has disconnected or was evicted.
    pub(crate) fn on_client_lost(&self, export: ExportCookie) {
        self.on_lost(|reply| reply.export == export);
    }

    /// Ends the replies of a service that is ending, which is identified by its queue of ended replies.
    pub(crate) fn on_service_ending(&self, ended: &Arc<dyn EndedQueue>) {
        self.on_lost(|reply| std::ptr::addr_eq(Arc::as_ptr(&reply.ended), Arc::as_ptr(ended)));
    }

    fn on_lost(&self, is_lost: impl Fn(&DifficultReply) -> bool) {
        let lost: Vec<_> =
            lock(&self.0).by_key.values().filter(|reply| is_lost(reply)).map(Arc::clone).collect();
        lost.iter().for_each(|reply| reply.on_reply_event(ReplyEvent::Done(ReplyDone::Lost)));
    }

    fn remove(&self, key: Key) {
        lock(&self.0).by_key.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difficult_reply_ends_once() {
        const SENT: ReplyEvent = ReplyEvent::Sent;
        const ACKED: ReplyEvent = ReplyEvent::Done(ReplyDone::Acked);
        const COMMITTED: ReplyEvent = ReplyEvent::Done(ReplyDone::Committed);
        const LOST: ReplyEvent = ReplyEvent::Done(ReplyDone::Lost);
        // The events; the index of the event that ends the reply, and why it ends.
        for (name, events, want) in [
            ("an ACK", &[SENT, ACKED][..], Some((1, ReplyDone::Acked))),
            ("an ACK before the SEND", &[ACKED, SENT], Some((0, ReplyDone::Acked))),
            ("no ACK", &[SENT, COMMITTED], Some((1, ReplyDone::Committed))),
            ("there will be no ACK", &[SENT, SENT, COMMITTED], Some((2, ReplyDone::Committed))),
            ("committed before it is sent", &[COMMITTED, SENT], Some((1, ReplyDone::Committed))),
            ("committed, and the ACK is earlier", &[COMMITTED, ACKED, SENT], Some((1, ReplyDone::Acked))),
            ("the client has disconnected", &[SENT, LOST], Some((1, ReplyDone::Lost))),
            ("disconnected before it is sent", &[LOST, SENT, ACKED], Some((0, ReplyDone::Lost))),
            ("everything", &[SENT, COMMITTED, ACKED, LOST], Some((1, ReplyDone::Committed))),
            ("nothing yet", &[SENT], None),
        ] {
            let mut state = DifficultState::Sending { committed: false };
            let mut ended = Vec::new();
            for (index, event) in events.iter().enumerate() {
                let (next, done) = next_state(state, *event);
                state = next;
                ended.extend(done.map(|done| (index, done)));
            }
            assert_eq!(ended, Vec::from_iter(want), "{name}");
        }
    }
}
