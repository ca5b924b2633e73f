//! The thread that does what has its time, and what event handlers may not do.
//!
//! It sends early replies, opens buffers, sends replies once more, tells programs that what they hold may go, and
//! evicts silent clients.

use super::difficult::{Done, Outstanding};
use super::reply::{self, Again};
use super::request::{Admitted, Early};
use super::server::Core;
use super::threads::guarded;
use crate::sync::{lock, wait_until};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// What is to be done.
#[derive(Default)]
pub(super) struct House {
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Default)]
struct State {
    chores: VecDeque<Chore>,
    /// Requests by when an early reply is due.
    early: BTreeMap<(Instant, RequestId), Arc<Admitted>>,
    due: HashMap<RequestId, Instant>,
    replenish: bool,
    is_closing: bool,
    /// Until when the thread sleeps, if nothing comes; what has its time later need not wake it.
    sleeps_until: Option<Instant>,
}

/// Where it is in memory.
type RequestId = usize;

enum Chore {
    Finish(Arc<Outstanding>, Done),
    SendAgain(Again),
}

impl House {
    /// What is held for an answer is let go. Any thread, event handlers too, as the next two.
    pub(super) fn finish(&self, outstanding: Arc<Outstanding>, done: Done) {
        self.push(Chore::Finish(outstanding, done));
    }

    /// A reply could not be sent.
    pub(super) fn send_again(&self, again: Again) {
        self.push(Chore::SendAgain(again));
    }

    /// A buffer is needed, or is idle.
    pub(super) fn replenish(&self) {
        let mut state = lock(&self.state);
        if !state.replenish {
            state.replenish = true;
            self.bell.notify_one();
        }
    }

    /// An early reply for that request is due then.
    pub(super) fn watch(&self, admitted: &Arc<Admitted>, due: Instant) {
        let id = Arc::as_ptr(admitted) as RequestId;
        let mut state = lock(&self.state);
        if let Some(before) = state.due.insert(id, due) {
            state.early.remove(&(before, id));
        }
        state.early.insert((due, id), Arc::clone(admitted));
        if state.sleeps_until.is_none_or(|until| due < until) {
            self.bell.notify_one();
        }
    }

    /// The request needs no early replies any more.
    pub(super) fn forget(&self, admitted: &Admitted) {
        let id = std::ptr::from_ref(admitted) as RequestId;
        let mut state = lock(&self.state);
        if let Some(due) = state.due.remove(&id) {
            state.early.remove(&(due, id));
        }
    }

    /// The thread ends when it has done what there is. What comes later is for [`do_chores`].
    pub(super) fn close(&self) {
        lock(&self.state).is_closing = true;
        self.bell.notify_one();
    }

    /// Whether the thread ends: who adds something sees to it.
    pub(super) fn is_closing(&self) -> bool {
        lock(&self.state).is_closing
    }

    fn push(&self, chore: Chore) {
        lock(&self.state).chores.push_back(chore);
        self.bell.notify_one();
    }

    fn take_due(&self, now: Instant) -> Vec<Arc<Admitted>> {
        let mut state = lock(&self.state);
        let later = state.early.split_off(&(now, RequestId::MAX));
        let due = std::mem::replace(&mut state.early, later);
        due.keys().for_each(|(_, id)| {
            state.due.remove(id);
        });
        drop(state);
        due.into_values().collect()
    }
}

/// From one failure to open a buffer to the next.
const BETWEEN_TRIES: Duration = Duration::from_secs(1);

/// The thread.
pub(super) fn run(core: &Core) {
    let house = &core.house;
    let between = core.config.evict_silent_after.map(|after| after / 4);
    let mut next_look = between.map(|between| Instant::now() + between);
    // When buffers could not be opened it is not tried again at once.
    let mut next_try = Instant::now();
    loop {
        let mut state = lock(&house.state);
        while state.chores.is_empty() && !state.is_closing {
            let first = state.early.first_key_value().map(|(key, _)| key.0);
            let buffers = state.replenish.then_some(next_try);
            let now = Instant::now();
            let until = first.into_iter().chain(next_look).chain(buffers).min();
            if until.is_some_and(|until| until <= now) {
                break;
            }
            // Most requests are over long before their time. If it slept for ever after each, each would wake it.
            let until = until.into_iter().chain(state.sleeps_until.filter(|until| *until > now)).min();
            state.sleeps_until = until;
            state = wait_until(&crate::clock::SystemClock, &house.bell, state, until);
        }
        if state.is_closing && state.chores.is_empty() {
            return;
        }
        let now = Instant::now();
        let replenish = next_try <= now && std::mem::take(&mut state.replenish);
        drop(state);
        do_chores(core);
        if replenish && let Err(errno) = core.replenish() {
            log::warn!("{}: no buffer for requests: {errno}", core.config.name);
            next_try = now + BETWEEN_TRIES;
        }
        house.take_due(now).iter().for_each(|admitted| send_early(core, admitted, now));
        if let (Some(look), Some(between), Some(after)) = (next_look, between, core.config.evict_silent_after)
            && look <= now
        {
            core.tally.evicted.add(core.targets.evict_silent(now, after) as u64);
            next_look = Some(now + between);
        }
    }
}

/// Does what has been left to the housekeeper.
pub(super) fn do_chores(core: &Core) {
    loop {
        let chore = lock(&core.house.state).chores.pop_front();
        match chore {
            None => return,
            Some(Chore::Finish(outstanding, done)) => {
                let (md, on_done) = outstanding.take_apart();
                if let Some(md) = md {
                    core.node.unlink(md);
                }
                if let Some(on_done) = on_done {
                    guarded(core, || on_done(done));
                }
            }
            Some(Chore::SendAgain(again)) => reply::send_again(core, again),
        }
    }
}

fn send_early(core: &Core, admitted: &Arc<Admitted>, now: Instant) {
    let adaptive = &core.config.adaptive;
    match admitted.early(adaptive, now) {
        Early::Never => {}
        Early::Later(due) => admitted.if_open(|| core.house.watch(admitted, due)),
        Early::Send(route, patience) => {
            reply::send_early(core, admitted, route, patience);
            admitted.early_sent(adaptive, |due| core.house.watch(admitted, due));
        }
    }
}
