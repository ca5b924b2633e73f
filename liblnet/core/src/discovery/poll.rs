//! What discovery has to do next, one [`Action`] after the other.

use super::input::{Input, StepAction};
use super::ping_buffer::PingBuffer;
use super::step::step;
use super::{Discovery, Failure, Step};
use crate::environment::Environment;
use crate::environment::time::Time;
use crate::memory::MdHandle;
use crate::model::{DiscoveryState, Inner, Peer, SendRequest};
use crate::sync::{MutexGuard, lock};
use crate::topology::Topology;
use lnet_log::LogClass;
use lnet_wire::ping_info::PingInfo;
use lnet_wire::{Errno, Nid};
use std::collections::VecDeque;
use std::sync::Arc;

/// Looks at one peer in a row; more would be a fault of the step table.
const MAX_LOOKS: usize = 32;

/// What the node is to do for discovery.
#[derive(Debug)]
pub(crate) enum Action {
    /// Unlink the MD of a request that is over; it may have ended by itself.
    EndMd(MdHandle),
    /// Send requests that need not wait any more.
    Release(Vec<SendRequest>),
    /// End requests that waited, each with an error.
    Fail(Vec<(SendRequest, Errno)>),
    /// Ask a peer for its NIDs, by this path if there is one; the answer gets so many bytes.
    Ping { peer: Arc<Peer>, path: Option<(Nid, Nid)>, reply_len: u32 },
    /// Tell a peer this node's NIDs, by this path if there is one.
    Push { peer: Arc<Peer>, path: Option<(Nid, Nid)>, buffer: Arc<PingBuffer> },
    /// Follow what a peer said of itself.
    Merge(Arc<Peer>, Box<PingInfo>),
    /// Forget a peer that does not discover any more.
    Forget(Arc<Peer>),
}

/// One round of discovery's work. There is one at a time.
pub(crate) struct Run<'a> {
    discovery: &'a Discovery,
    pending: VecDeque<Action>,
    /// The peer that is looked at, and how often that was done.
    current: Option<(Arc<DiscoveryState>, usize)>,
    _one_at_a_time: MutexGuard<'a, ()>,
}

impl Discovery {
    /// Begins a round; waits for the end of another thread's. Not from an event handler.
    pub(crate) fn begin_run(&self) -> Run<'_> {
        let one_at_a_time = lock(&self.running);
        self.wakeup.reset();
        Run { discovery: self, pending: VecDeque::new(), current: None, _one_at_a_time: one_at_a_time }
    }

    /// When something becomes due by itself.
    pub(crate) fn next_poll(&self) -> Option<Time> {
        let due = lock(&self.queue).due();
        due.into_iter().chain(self.next_due()).min()
    }
}

impl Run<'_> {
    /// What is to be done next: the action has been carried out when this is called again. `None`: nothing until
    /// [`Discovery::next_poll`], or the next notification.
    pub(crate) fn poll(&mut self, env: &Environment, topology: &Topology) -> Option<Action> {
        loop {
            if let Some((state, looks)) = self.current.take_if(|_| self.pending.is_empty()) {
                self.look(env, topology, state, looks);
            }
            if let Some(action) = self.pending.pop_front() {
                return Some(action);
            }
            if self.current.is_some() {
                continue;
            }
            let now = env.now();
            self.end_expired(now);
            self.clear_removed(topology);
            self.take_due(now);
            if self.pending.is_empty() {
                let next = lock(&self.discovery.queue).pop(now);
                match next {
                    Some(state) => self.begin_look(env, state),
                    None => return None,
                }
            }
        }
    }

    /// Requests that have waited too long for their answer have failed; the MDs of failed ones are to end.
    fn end_expired(&mut self, now: Time) {
        loop {
            let expired = lock(&self.discovery.queue).expired(now);
            match expired {
                Some(request) => self.discovery.fail_request(request, Errno::TimedOut),
                None => break,
            }
        }
        let stale = std::mem::take(&mut lock(&self.discovery.queue).stale);
        self.pending.extend(stale.into_iter().map(Action::EndMd));
    }

    /// What waited for peers that are gone begins anew (OM-5), and what was under way to them is over.
    fn clear_removed(&mut self, topology: &Topology) {
        for state in topology.peers().take_removed() {
            let ended = lock(&self.discovery.queue).ended_of(&state);
            self.pending.extend(ended.into_iter().filter_map(|request| request.md).map(Action::EndMd));
            self.release(self.discovery.unpark(&state));
            self.discovery.notify_finished();
        }
    }

    /// Begins anew the discoveries that have failed while something waits for them, and ends what has waited too long.
    fn take_due(&mut self, now: Time) {
        let (again, late) = self.discovery.take_due(now);
        for state in again {
            if state.with(|inner| inner.parked > 0) {
                self.discovery.handle_input(&state, Input::Wanted);
            }
        }
        if !late.is_empty() {
            self.pending.push_back(Action::Fail(late));
        }
    }

    fn begin_look(&mut self, env: &Environment, state: Arc<DiscoveryState>) {
        let is_to_come = state.with(|inner| {
            let is_to_come = inner.queued && !inner.removed;
            (inner.queued, inner.urgent) = (false, false);
            is_to_come
        });
        if is_to_come && !env.is_ending() {
            self.current = Some((state, 0));
        }
    }

    fn look(&mut self, env: &Environment, topology: &Topology, state: Arc<DiscoveryState>, looks: usize) {
        let Some(peer) = topology.peer_of(&state) else { return };
        if looks == MAX_LOOKS {
            let primary = peer.primary;
            let line = format_args!("peer {primary}: discovery does not end; stopped until the next event");
            return env.log(LogClass::DiscoveryLoop, primary, line);
        }
        let local = self.discovery.local_state();
        let action = state.with(|inner| {
            let action = step(&mut inner.progress, Input::Look, &local);
            // With the end of the discovery: who waits for that looks at both.
            match action {
                StepAction::Finish => inner.failure = None,
                StepAction::GiveUp(step, errno) => inner.failure = failure(inner, step, errno),
                _ => {}
            }
            action
        });
        match action {
            StepAction::Again => self.current = Some((state, looks + 1)),
            StepAction::Nothing | StepAction::Queue | StepAction::Wait => {}
            StepAction::Merge(info) => {
                self.pending.push_back(Action::Merge(peer, info));
                self.current = Some((state, looks + 1));
            }
            StepAction::Ping => {
                let (path, reply_len) = self.discovery.ping_path(topology, &peer);
                self.pending.push_back(Action::Ping { peer, path, reply_len });
            }
            StepAction::Push => {
                let buffer = self.discovery.ping_buffer.load_full();
                let path = self.discovery.push_path(topology, &peer);
                self.pending.push_back(Action::Push { peer, path, buffer });
            }
            StepAction::Forget => self.pending.push_back(Action::Forget(peer)),
            StepAction::Finish => self.finish(&state),
            StepAction::GiveUp(_, errno) => self.give_up(env, topology, &state, errno),
        }
    }

    /// What waited for a peer is sent (DI-20).
    fn finish(&mut self, state: &DiscoveryState) {
        let parked = self.discovery.unpark(state);
        self.discovery.notify_finished();
        state.with(|inner| inner.rounds = 0);
        self.release(parked);
    }

    /// What waited for a peer fails (DI-20). It waits on until its own time is over if the peer was ever
    /// heard, or is not known not to be there: what failed is no more than a ping or a push.
    fn give_up(&mut self, env: &Environment, topology: &Topology, state: &Arc<DiscoveryState>, errno: Errno) {
        let parked = self.discovery.unpark(state);
        let waits_on = !parked.is_empty()
            && (matches!(errno, Errno::TimedOut | Errno::ConnectionReset)
                || topology.peer_of(state).is_some_and(|peer| topology.was_heard(&peer)));
        if let Some(failure) = state.with(|inner| inner.failure) {
            let consequence = match (parked.is_empty(), waits_on) {
                (true, _) => "",
                (false, true) => "; retrying for the messages that wait for it",
                (false, false) => "; the messages that waited for it fail",
            };
            env.log(
                LogClass::DiscoveryFailed,
                failure.nid,
                format_args!(
                    "discovery {} to {} failed: {}{consequence}",
                    failure.step,
                    failure.nid,
                    failure.errno.text()
                ),
            );
        }
        self.discovery.notify_finished();
        let rounds = state.with(|inner| {
            let rounds = inner.rounds;
            inner.rounds = if waits_on { rounds.saturating_add(1) } else { 0 };
            rounds
        });
        let now = env.now();
        for request in parked {
            if waits_on && now < request.deadline {
                self.release(self.discovery.keep(env, state, request).into_iter().collect());
            } else {
                self.pending.push_back(Action::Fail(vec![(request, errno)]));
            }
        }
        if waits_on {
            self.discovery.begin_again(state, now + (self.discovery.retry_pause)(rounds));
        }
    }

    fn release(&mut self, requests: Vec<SendRequest>) {
        if !requests.is_empty() {
            self.pending.push_back(Action::Release(requests));
        }
    }
}

fn failure(inner: &Inner, step: Step, errno: Errno) -> Option<Failure> {
    Some(Failure { step, nid: inner.failing.or(inner.primary)?, errno })
}

#[cfg(all(test, not(loom)))]
#[path = "poll_tests.rs"]
mod tests;
