//! The work of the discovery thread, one [`Action`] at a time.

use super::input::{Input, StepAction};
use super::parked::waits_until;
use super::ping_buffer::PingBuffer;
use super::step::step;
use super::{Discovery, Failure, Step};
use crate::environment::Environment;
use crate::environment::time::Time;
use crate::event::in_handler;
use crate::memory::MdHandle;
use crate::model::{DiscoveryState, DiscoveryWait, Inner, Peer, PeerState, SendRequest};
use crate::sync::{MutexGuard, lock};
use crate::topology::Topology;
use lnet_log::LogClass;
use lnet_wire::ping_info::PingInfo;
use lnet_wire::{Errno, Nid};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;

/// The number of steps of one peer in a row; more would be a defect of the step table.
const MAX_STEPS: usize = 32;

/// An action of the node for discovery.
#[derive(Debug)]
pub(crate) enum Action {
    /// Unlink the MD of a request that has ended; it may have been unlinked already.
    EndMd(MdHandle),
    /// Send requests that need not wait any more.
    Release(Vec<SendRequest>),
    /// Fail waiting requests, each with an error.
    Fail(Vec<(SendRequest, Errno)>),
    /// Ping a peer, by `path` if given, with a REPLY buffer of `reply_len` bytes.
    Ping { peer: Arc<Peer>, path: Option<(Nid, Nid)>, reply_len: u32 },
    /// Push `buffer` to a peer, by `path` if given.
    Push { peer: Arc<Peer>, path: Option<(Nid, Nid)>, buffer: Arc<PingBuffer> },
    /// Merge the ping information of a peer.
    Merge(Arc<Peer>, Box<PingInfo>),
    /// Remove a peer that does not discover any more.
    Forget(Arc<Peer>),
}

/// A round of discovery's work. Only one exists at a time.
pub(crate) struct Run<'a> {
    discovery: &'a Discovery,
    pending: VecDeque<Action>,
    /// The peer whose steps are running, and the number of steps so far.
    current: Option<(Arc<DiscoveryState>, usize)>,
    _one_at_a_time: MutexGuard<'a, ()>,
}

thread_local! {
    /// The address of the [`Discovery`] whose round this thread carries out; 0 without one.
    static RUNS: Cell<usize> = const { Cell::new(0) };
}

impl Discovery {
    /// Begins a round; waits until the round of another thread has ended. Not to be called from an event handler.
    pub(crate) fn begin_run(&self) -> Run<'_> {
        let one_at_a_time = lock(&self.running);
        self.wakeup.reset();
        RUNS.set(std::ptr::from_ref(self).addr());
        Run { discovery: self, pending: VecDeque::new(), current: None, _one_at_a_time: one_at_a_time }
    }

    /// Whether the calling thread is in an event handler that runs inside a round: no discovery advances until it returns, so the
    /// messages of the handler cannot wait for one.
    pub(crate) fn is_kept_by_this_handler(&self) -> bool {
        in_handler() && RUNS.get() == std::ptr::from_ref(self).addr()
    }

    /// The time at which the next round is due without any event.
    pub(crate) fn next_poll(&self) -> Option<Time> {
        let due = lock(&self.queue).due();
        due.into_iter().chain(self.next_due()).min()
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        RUNS.set(0);
    }
}

impl Run<'_> {
    /// Returns the next action; the previous one must have been carried out. `None`: no action until [`Discovery::next_poll`]
    /// or the next notification.
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
            self.take_due(topology, now);
            if self.pending.is_empty() {
                let next = lock(&self.discovery.queue).pop(now);
                match next {
                    Some(state) => self.begin_look(env, state),
                    None => return None,
                }
            }
        }
    }

    /// Fails the pings and pushes that have expired, and unlinks the MDs of failed ones.
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

    /// Restarts the requests that wait for a removed peer (OM-5), and ends pings and pushes to it.
    fn clear_removed(&mut self, topology: &Topology) {
        for state in topology.peers().take_removed() {
            let ended = lock(&self.discovery.queue).ended_of(&state);
            self.pending.extend(ended.into_iter().filter_map(|request| request.md).map(Action::EndMd));
            self.release(self.discovery.unpark(&state));
            self.discovery.notify_finished();
        }
    }

    /// Retries failed discoveries for which requests wait, and ends the waits that are over.
    fn take_due(&mut self, topology: &Topology, now: Time) {
        let (retries, expired) = self.discovery.take_due(now);
        for state in retries {
            if state.with(|inner| inner.parked > 0) {
                self.discovery.handle_input(&state, Input::Wanted);
            }
        }
        for (request, state, errno) in expired {
            let goes_on = now < request.terms.deadline && may_be_there(topology, &state);
            self.end_wait(request, goes_on, errno);
        }
    }

    /// Ends the wait of a request whose peer is not discovered: the request is sent as named (`goes_on`), or fails.
    fn end_wait(&mut self, mut request: SendRequest, goes_on: bool, errno: Errno) {
        if goes_on {
            request.terms.wait = DiscoveryWait::Over;
            self.release(vec![request]);
        } else {
            self.pending.push_back(Action::Fail(vec![(request, errno)]));
        }
    }

    fn begin_look(&mut self, env: &Environment, state: Arc<DiscoveryState>) {
        let is_to_come = state.with(|inner| {
            let is_to_come = inner.queued && !inner.removed;
            (inner.queued, inner.urgent) = (false, false);
            if is_to_come && inner.progress.has(PeerState::DISCOVERING) {
                inner.deadline.get_or_insert_with(|| env.now() + env.discovery_timeout());
            }
            is_to_come
        });
        if is_to_come && !env.is_ending() {
            self.current = Some((state, 0));
        }
    }

    fn look(&mut self, env: &Environment, topology: &Topology, state: Arc<DiscoveryState>, looks: usize) {
        let Some(peer) = topology.peer_of(&state) else { return };
        if looks == MAX_STEPS {
            let primary = peer.primary;
            let line = format_args!("peer {primary}: discovery does not end; stopped until the next event");
            return env.log(LogClass::DiscoveryLoop, primary, line);
        }
        let local = self.discovery.local_state();
        let mut is_news = true;
        let action = state.with(|inner| {
            let action = step(&mut inner.progress, Input::Look, &local);
            // Together with the end of the discovery, because a waiting thread reads both.
            match action {
                StepAction::Finish => (inner.failure, inner.deadline) = (None, None),
                StepAction::GiveUp(step, errno) => {
                    is_news = inner.failure.is_none();
                    inner.failure = failure(inner, step, errno, env);
                    inner.deadline = None;
                }
                _ => {}
            }
            action
        });
        match action {
            StepAction::Repeat => self.current = Some((state, looks + 1)),
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
            StepAction::GiveUp(_, errno) => self.give_up(env, topology, &state, errno, is_news),
        }
    }

    /// Sends the requests that wait for a discovered peer (DI-20).
    fn finish(&mut self, state: &DiscoveryState) {
        let parked = self.discovery.unpark(state);
        self.discovery.notify_finished();
        state.with(|inner| inner.rounds = 0);
        self.release(parked);
    }

    /// Ends the wait of the requests for a peer (DI-20). They keep waiting, as long as they may, if the peer has responded
    /// before or is not known to be unreachable: only a ping or push has failed.
    ///
    /// `is_news`: the discovery before this one did not fail. Where no request waits, as with the checks of a gateway, only the
    /// first failure is logged.
    fn give_up(
        &mut self,
        env: &Environment,
        topology: &Topology,
        state: &Arc<DiscoveryState>,
        errno: Errno,
        is_news: bool,
    ) {
        let parked = self.discovery.unpark(state);
        let may_be_there = may_be_there(topology, state);
        let may_respond = may_be_there || matches!(errno, Errno::TimedOut | Errno::ConnectionReset);
        let now = env.now();
        let waits_on = |request: &SendRequest| may_respond && now < waits_until(request);
        let keeps_waiting = parked.iter().any(waits_on);
        if let Some(failure) = state.with(|inner| inner.failure).filter(|_| is_news || !parked.is_empty()) {
            let consequence = match (parked.is_empty(), keeps_waiting, may_be_there) {
                (true, ..) => "",
                (false, true, _) => "; retrying for the messages that wait for it",
                (false, false, true) => "; the messages that waited for it are sent by what is known of it",
                (false, false, false) => "; the messages that waited for it fail",
            };
            env.log(LogClass::DiscoveryFailed, failure.nid, format_args!("{failure}{consequence}"));
        }
        self.discovery.notify_finished();
        let rounds = state.with(|inner| {
            let rounds = inner.rounds;
            inner.rounds = if keeps_waiting { rounds.saturating_add(1) } else { 0 };
            rounds
        });
        for request in parked {
            if waits_on(&request) {
                self.release(self.discovery.keep(env, state, request).into_iter().collect());
            } else {
                let goes_on = may_be_there && now < request.terms.deadline;
                self.end_wait(request, goes_on, errno);
            }
        }
        if keeps_waiting {
            self.discovery.schedule_retry(state, now + (self.discovery.retry_pause)(rounds));
        }
    }

    fn release(&mut self, requests: Vec<SendRequest>) {
        if !requests.is_empty() {
            self.pending.push_back(Action::Release(requests));
        }
    }
}

/// Whether a peer that was not discovered may be reached nevertheless: it has responded before, or a route leads to it.
fn may_be_there(topology: &Topology, state: &DiscoveryState) -> bool {
    topology.peer_of(state).is_some_and(|peer| topology.was_heard(&peer) || topology.is_routed(&peer))
}

fn failure(inner: &Inner, step: Step, errno: Errno, env: &Environment) -> Option<Failure> {
    let is_over = errno == Errno::TimedOut && inner.deadline.is_some_and(|deadline| deadline <= env.now());
    let limit = is_over.then(|| env.settings().discovery_timeout);
    Some(Failure { step, nid: inner.failing.or(inner.primary)?, errno, limit })
}

#[cfg(all(test, not(loom)))]
#[path = "poll_tests.rs"]
mod tests;
