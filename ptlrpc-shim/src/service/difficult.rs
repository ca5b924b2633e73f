//! Answers that hold something until the client has them, their transaction is on disk, or the client is gone (PR-75).

use super::export::Target;
use super::handler::OnDone;
use super::housekeeper::House;
use crate::lnet::{Event, EventKind, Md};
use crate::message::body::ExportCookie;
use crate::sync::lock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

/// Why nothing needs to be held any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// The client has the reply.
    Acked,
    /// The transaction is on disk.
    Committed,
    /// The client has disconnected or was evicted, or the service ends.
    Lost,
}

/// What happens to such an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happened {
    /// LNet has nothing to send any more: it has left, has failed, or cannot be confirmed any more.
    Sent,
    /// For one of these reasons.
    Done(Done),
}

/// Where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Not all of it has left. `committed`: it may end when it has; unlinking it now could keep it from leaving.
    Leaving {
        committed: bool,
    },
    /// It has left.
    Waiting,
    Over,
}

/// The answer, as long as anything is held for it.
pub(super) struct Outstanding {
    key: Key,
    export: ExportCookie,
    target: Weak<Target>,
    house: Arc<House>,
    stage: Mutex<Stage>,
    descriptor: Mutex<Descriptor>,
    on_done: Mutex<Option<OnDone>>,
}

/// That of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Descriptor {
    NotYet,
    Named(Md),
    /// It is over: nothing will unlink one that is made now.
    TakenApart,
}

/// The transaction, and a number of its own.
type Key = (u64, u64);

/// The `transno` of what is no transaction, and so never on disk.
const NO_TRANSACTION: u64 = 0;

/// Those of one target.
#[derive(Default)]
pub(super) struct Ledger(Mutex<(u64, BTreeMap<Key, Arc<Outstanding>>)>);

/// What is next, and why it is over if it is.
fn step(stage: Stage, happened: Happened) -> (Stage, Option<Done>) {
    match (stage, happened) {
        (Stage::Over, _) => (Stage::Over, None),
        (Stage::Leaving { committed: false } | Stage::Waiting, Happened::Sent) => (Stage::Waiting, None),
        (Stage::Leaving { committed: true }, Happened::Sent) => (Stage::Over, Some(Done::Committed)),
        (Stage::Leaving { .. }, Happened::Done(Done::Committed)) => {
            (Stage::Leaving { committed: true }, None)
        }
        (_, Happened::Done(done)) => (Stage::Over, Some(done)),
    }
}

impl Outstanding {
    /// Which descriptor is to be unlinked at the end. False: the end has been, and the caller is to do it.
    pub(super) fn name(&self, md: Md) -> bool {
        let mut descriptor = lock(&self.descriptor);
        let is_in_time = *descriptor != Descriptor::TakenApart;
        if is_in_time {
            *descriptor = Descriptor::Named(md);
        }
        is_in_time
    }

    /// Any thread may say so, event handlers too.
    pub(super) fn happened(self: &Arc<Self>, happened: Happened) {
        let mut stage = lock(&self.stage);
        let (next, over) = step(*stage, happened);
        *stage = next;
        drop(stage);
        if let Some(done) = over {
            self.house.finish(Arc::clone(self), done);
        }
    }

    /// What an event of its descriptor means.
    pub(super) fn event(self: &Arc<Self>, event: &Event) {
        let happened = match (event.kind, event.status) {
            (EventKind::Ack, Ok(())) => Some(Happened::Done(Done::Acked)),
            (EventKind::Send, _) => Some(Happened::Sent),
            _ => event.unlinked.then_some(Happened::Sent),
        };
        if let Some(happened) = happened {
            self.happened(happened);
        }
    }

    /// By the housekeeper, after it is over: what is left of it. The descriptor is to be unlinked, then the program to
    /// be told.
    pub(super) fn take_apart(&self) -> (Option<Md>, Option<OnDone>) {
        if let Some(target) = self.target.upgrade() {
            target.ledger().forget(self.key);
        }
        let md = match std::mem::replace(&mut *lock(&self.descriptor), Descriptor::TakenApart) {
            Descriptor::Named(md) => Some(md),
            Descriptor::NotYet | Descriptor::TakenApart => None,
        };
        (md, lock(&self.on_done).take())
    }
}

impl Ledger {
    /// Enters an answer. What ends it may have happened by now: the caller looks after this.
    pub(super) fn enter(
        &self,
        target: &Arc<Target>,
        export: ExportCookie,
        transno: u64,
        house: &Arc<House>,
        on_done: OnDone,
    ) -> Arc<Outstanding> {
        let mut ledger = lock(&self.0);
        ledger.0 += 1;
        let key = (transno, ledger.0);
        let outstanding = Arc::new(Outstanding {
            key,
            export,
            target: Arc::downgrade(target),
            house: Arc::clone(house),
            stage: Mutex::new(Stage::Leaving { committed: false }),
            descriptor: Mutex::new(Descriptor::NotYet),
            on_done: Mutex::new(Some(on_done)),
        });
        ledger.1.insert(key, Arc::clone(&outstanding));
        outstanding
    }

    /// All transactions up to this one are on disk.
    pub(super) fn committed(&self, transno: u64) {
        let is_committed = |key: &Key| key.0 != NO_TRANSACTION && key.0 <= transno;
        let ledger = lock(&self.0);
        let first = ledger.1.range((NO_TRANSACTION + 1, 0)..).take_while(|(key, _)| is_committed(key));
        let done: Vec<_> = first.map(|(_, it)| Arc::clone(it)).collect();
        drop(ledger);
        done.iter().for_each(|it| it.happened(Happened::Done(Done::Committed)));
    }

    /// Nobody waits for those of this client any more.
    pub(super) fn lost_client(&self, export: ExportCookie) {
        self.lost(|it| it.export == export);
    }

    /// The service ends whose housekeeper this is.
    pub(super) fn lost_service(&self, house: &Arc<House>) {
        self.lost(|it| Arc::ptr_eq(&it.house, house));
    }

    fn lost(&self, which: impl Fn(&Outstanding) -> bool) {
        let lost: Vec<_> = lock(&self.0).1.values().filter(|it| which(it)).map(Arc::clone).collect();
        lost.iter().for_each(|it| it.happened(Happened::Done(Done::Lost)));
    }

    fn forget(&self, key: Key) {
        lock(&self.0).1.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_let_go_once() {
        const SENT: Happened = Happened::Sent;
        const ACKED: Happened = Happened::Done(Done::Acked);
        const COMMITTED: Happened = Happened::Done(Done::Committed);
        const LOST: Happened = Happened::Done(Done::Lost);
        // What happens; after which of it what is held is let go, and why.
        for (name, happens, want) in [
            ("an ACK", &[SENT, ACKED][..], Some((1, Done::Acked))),
            ("an ACK before the SEND", &[ACKED, SENT], Some((0, Done::Acked))),
            ("no ACK", &[SENT, COMMITTED], Some((1, Done::Committed))),
            ("the ACK cannot come", &[SENT, SENT, COMMITTED], Some((2, Done::Committed))),
            ("on disk before it has left", &[COMMITTED, SENT], Some((1, Done::Committed))),
            ("on disk, and the ACK is quicker", &[COMMITTED, ACKED, SENT], Some((1, Done::Acked))),
            ("the client is gone", &[SENT, LOST], Some((1, Done::Lost))),
            ("gone before it has left", &[LOST, SENT, ACKED], Some((0, Done::Lost))),
            ("everything", &[SENT, COMMITTED, ACKED, LOST], Some((1, Done::Committed))),
            ("nothing yet", &[SENT], None),
        ] {
            let mut stage = Stage::Leaving { committed: false };
            let mut over = Vec::new();
            for (index, happened) in happens.iter().enumerate() {
                let (next, done) = step(stage, *happened);
                stage = next;
                over.extend(done.map(|done| (index, done)));
            }
            assert_eq!(over, Vec::from_iter(want), "{name}");
        }
    }
}
