//! Dynamic peer discovery: learning the NIDs of peers, and sending them those of this node (core-behaviour 5).
//!
//! `Discovery` keeps state and decides, and sends nothing. Events are passed to `Discovery::handle_input` and the
//! `handle_*` methods for the events of its requests; `Run::poll` returns the actions, one `Action` at a time.

mod input;
mod merge;
mod merge_plan;
mod parked;
mod ping_buffer;
mod poll;
mod push_buffers;
mod queue;
mod requests;
mod step;

pub use crate::model::{Difference, Failure, Step};
pub(crate) use input::Input;
pub(crate) use ping_buffer::{PingBuffer, PingTarget};
pub(crate) use poll::Action;
pub(crate) use push_buffers::{PushEvent, push_spec};
pub(crate) use requests::request_spec;

use crate::environment::time::Time;
use crate::environment::{ConfigGuard, Environment, Notify};
use crate::event::in_handler;
use crate::memory::EqHandle;
use crate::model::{DiscoveryState, LocalState, Peer, PeerNi, PeerRevision, PeerState, SendRequest};
use crate::sync::{Condvar, Mutex, lock};
use crate::topology::Topology;
use arc_swap::ArcSwap;
use input::StepAction;
use lnet_settings::{DiscoveryMode, Settings};
use lnet_wire::ping_info::max_kept_len;
use lnet_wire::{Errno, MAX_PAYLOAD, Nid, RESERVED_PORTAL};
use parked::ParkedRequests;
use push_buffers::PushBuffers;
use queue::Queue;
use requests::max_interfaces;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The discovery state of a peer, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveryStatus {
    /// The bits that the kernel's tools show.
    pub state: PeerState,
    /// Whether messages are sent to the peer without waiting for discovery (DI-11).
    pub up_to_date: bool,
    /// The sequence number of the last configuration of this node that the peer acknowledged; 0: none.
    pub node_sequence: u32,
    /// The sequence number of the last configuration received from the peer; 0: none.
    pub peer_sequence: u32,
    /// The number of requests that wait for the discovery.
    pub parked: usize,
    /// The failure of the last discovery, if it failed.
    pub failure: Option<Failure>,
    /// Differences that were found and not merged: by the last discovery of a configured peer, or in
    /// [`DiscoveryMode::Verify`].
    pub differences: Vec<Difference>,
}

/// The discovery of all peers of a node. Any thread may call its methods.
#[derive(Debug)]
pub(crate) struct Discovery {
    /// [`LocalState`] packed in one word, which is read for every message.
    local: AtomicU64,
    /// The largest ping REPLY, in bytes, that is accepted.
    max_reply_len: AtomicU32,
    retries: AtomicU8,
    /// The current ping buffer, which answers pings and is pushed.
    ping_buffer: ArcSwap<PingBuffer>,
    queue: Mutex<Queue>,
    /// Wakes the thread that carries the actions out.
    wakeup: Notify,
    push_buffers: Mutex<PushBuffers>,
    /// Requests that wait for discovery. This lock is taken before that of a discovery state; a message to a
    /// discovered peer does not take it.
    parked: Mutex<ParkedRequests>,
    /// The time until which a push may be older than the information about a peer that has been removed.
    may_be_stale_until: Mutex<Time>,
    /// The lock of the only [`Run`](poll::Run) that may exist at a time.
    running: Mutex<()>,
    /// The lock of threads that wait in [`Discovery::wait_discovered`], from the check until they wait on the condition.
    finished: Mutex<()>,
    one_finished: Condvar,
    /// The event queue of requests and push buffers.
    eq: OnceLock<EqHandle>,
    /// The pause before the next attempt for waiting requests, after this number of failed discoveries in a row.
    retry_pause: fn(u32) -> Duration,
    /// The revision that changes of the state of this node begin.
    revision: PeerRevision,
}

/// Methods about the state of this node that discovery depends on.
impl Discovery {
    pub(crate) fn new(retry_pause: fn(u32) -> Duration, revision: PeerRevision) -> Self {
        Self {
            local: AtomicU64::default(),
            max_reply_len: AtomicU32::default(),
            retries: AtomicU8::default(),
            ping_buffer: ArcSwap::default(),
            queue: Mutex::default(),
            wakeup: Notify::default(),
            push_buffers: Mutex::default(),
            parked: Mutex::default(),
            may_be_stale_until: Mutex::default(),
            running: Mutex::default(),
            finished: Mutex::default(),
            one_finished: Condvar::default(),
            eq: OnceLock::new(),
            retry_pause,
            revision,
        }
    }

    /// The current state of this node.
    pub(crate) fn local_state(&self) -> LocalState {
        let word = self.local.load(Ordering::Acquire);
        LocalState {
            mode: match (word >> 32) & 3 {
                1 => DiscoveryMode::On,
                2 => DiscoveryMode::Verify,
                _ => DiscoveryMode::Off,
            },
            first_ping: word >> 34 & 1 == 1,
            sequence: word as u32,
            max_reply_len: self.max_reply_len.load(Ordering::Relaxed),
            retries: self.retries.load(Ordering::Relaxed),
        }
    }

    /// Stores the changed settings and sequence number.
    fn set_local_state(&self, _: &ConfigGuard<'_>, settings: &Settings, sequence: u32) {
        let mode = match settings.discovery {
            DiscoveryMode::Off => 0,
            DiscoveryMode::On => 1,
            DiscoveryMode::Verify => 2,
        };
        let word = u64::from(settings.first_ping) << 34 | mode << 32 | u64::from(sequence);
        let max_reply_len = u32::try_from(max_kept_len(max_interfaces(settings))).unwrap_or(MAX_PAYLOAD);
        self.max_reply_len.store(max_reply_len, Ordering::Relaxed);
        let retries = u8::try_from(settings.retry_count).unwrap_or(u8::MAX);
        self.retries.store(retries, Ordering::Relaxed);
        self.local.store(word, Ordering::Release);
        self.revision.note_change();
    }

    /// Publishes `buffer`: pings are answered with it from now on.
    pub(crate) fn publish(&self, config: &ConfigGuard<'_>, env: &Environment, buffer: Arc<PingBuffer>) {
        self.set_local_state(config, &env.settings(), buffer.sequence());
        self.ping_buffer.store(buffer);
    }

    /// Applies changed settings; called after the ping buffer has been replaced, if the settings change it.
    pub(crate) fn handle_settings(
        &self,
        config: &ConfigGuard<'_>,
        topology: &Topology,
        before: &Settings,
        now: &Settings,
    ) {
        self.set_local_state(config, now, self.local_state().sequence);
        match (before.discovery, now.discovery) {
            (DiscoveryMode::Off, DiscoveryMode::On | DiscoveryMode::Verify)
            | (DiscoveryMode::Verify, DiscoveryMode::On) => {
                // Nothing is sent now: each peer is pinged at its next use.
                for peer in topology.listed_peers() {
                    self.handle_input(&peer.discovery, Input::SwitchedOn);
                }
            }
            (DiscoveryMode::On | DiscoveryMode::Verify, DiscoveryMode::Off) => {
                self.schedule_push(topology, true);
            }
            _ => {}
        }
    }

    /// Pushes this node's configuration to multi-rail peers; with `force` also to those that do not discover.
    pub(crate) fn schedule_push(&self, topology: &Topology, force: bool) {
        for peer in topology.listed_peers().iter().filter(|peer| peer.is_multi_rail()) {
            self.handle_input(&peer.discovery, Input::Changed { force });
        }
    }

    /// Requests a new ping buffer, because the state of an interface has changed.
    pub(crate) fn schedule_republish(&self) {
        lock(&self.queue).republish = true;
        self.wakeup.notify();
    }

    /// Takes the request for a new ping buffer, if there is one.
    pub(crate) fn take_republish(&self) -> bool {
        std::mem::take(&mut lock(&self.queue).republish)
    }
}

/// Methods for the inputs of peers.
impl Discovery {
    /// Runs the step function of a peer, and queues the peer if it asks for that.
    pub(crate) fn handle_input(&self, state: &Arc<DiscoveryState>, input: Input) {
        let local = self.local_state();
        let (queue, urgent) = state.with(|inner| {
            let wanted = matches!(input, Input::Wanted | Input::Examine { .. } | Input::Check { .. });
            let acted = step::step(&mut inner.progress, input, &local);
            let queue = acted == StepAction::Queue && !inner.removed;
            // A peer in the normal queue moves to the urgent one. A discovery with a running time limit is urgent, so that its
            // time does not pass in the queue.
            let urgent = wanted || inner.parked > 0 || inner.deadline.is_some();
            let enter = queue && (!inner.queued || urgent && !inner.urgent);
            inner.queued |= enter;
            inner.urgent |= enter && urgent;
            (enter, urgent)
        });
        if queue {
            lock(&self.queue).push(Arc::clone(state), urgent);
            self.wakeup.notify();
        }
    }

    /// Whether a request to this peer NI of `peer` has to wait for discovery (DI-30). A request without a path does not wait:
    /// it fails at once.
    pub(crate) fn must_wait(&self, topology: &Topology, peer_ni: &PeerNi, peer: &Peer, portal: u32) -> bool {
        let local = self.local_state();
        if portal == RESERVED_PORTAL || !(local.discovers() || local.first_ping) {
            return false;
        }
        let undiscovered = !peer.discovery.is_up_to_date(&local) && !peer.discovery.is_only_checked();
        undiscovered && (peer.is_multi_rail() || topology.leads_to_nid(peer_ni.nid()))
    }

    /// Makes a request wait for the discovery of its peer, which starts if necessary (DI-31). Returns the request, to be sent
    /// again, if it need not wait any more, its MD has been unlinked, or the peer has been removed.
    pub(crate) fn park(
        &self,
        env: &Environment,
        state: &Arc<DiscoveryState>,
        request: SendRequest,
    ) -> Option<SendRequest> {
        let returned = self.keep(env, state, request);
        if returned.is_none() {
            self.handle_input(state, Input::Wanted);
        }
        returned
    }

    /// Notes that peers are about to be removed with their sequence numbers. Older pushes may still be in flight: for
    /// as long as a push and its ACK may take, the first push of an unknown peer is verified by a ping.
    pub(crate) fn note_forgetting(&self, env: &Environment) {
        *lock(&self.may_be_stale_until) = env.now() + env.transaction_timeout().saturating_mul(2);
    }

    /// Whether a push of an unknown peer may be older than the information about the peer before its removal.
    fn may_be_stale(&self, env: &Environment) -> bool {
        env.now() < *lock(&self.may_be_stale_until)
    }
}

/// Methods about the discovery status of peers.
impl Discovery {
    /// The discovery status of the peer with this NID; `None` for an unknown NID.
    pub(crate) fn status(&self, topology: &Topology, nid: Nid) -> Option<DiscoveryStatus> {
        let peer = topology.peer(nid)?;
        let local = self.local_state();
        Some(peer.discovery.with(|inner| DiscoveryStatus {
            state: inner.progress.flags,
            up_to_date: inner.progress.is_up_to_date(&local),
            node_sequence: inner.progress.node_sequence,
            peer_sequence: inner.progress.peer_sequence,
            parked: inner.parked,
            failure: inner.failure,
            differences: inner.differences.clone(),
        }))
    }

    /// Waits until the discovery of the peer with this NID has ended. Fails with [`Errno::TimedOut`] after `timeout`, and with
    /// [`Errno::Busy`] in an event handler.
    pub(crate) fn wait_discovered(
        &self,
        env: &Environment,
        topology: &Topology,
        nid: Nid,
        timeout: Duration,
    ) -> Result<(), Failure> {
        let limit = |errno| (errno == Errno::TimedOut).then(|| env.settings().discovery_timeout);
        let failure = |errno| Failure { step: Step::Ping, nid, errno, limit: limit(errno) };
        if in_handler() {
            return Err(failure(Errno::Busy));
        }
        let deadline = env.now() + timeout;
        let mut finished = lock(&self.finished);
        let mut slept_to_the_end = false;
        loop {
            if env.is_ending() {
                return Err(failure(Errno::Shutdown));
            }
            // Looked up again each time: the NID may have moved to another peer meanwhile (DI-34).
            let Some(peer) = topology.peer(nid) else { return Ok(()) };
            if !peer.state().contains(PeerState::DISCOVERING) {
                return peer.discovery.with(|inner| inner.failure).map_or(Ok(()), Err);
            }
            let left = deadline.since(env.now());
            if left.is_zero() || slept_to_the_end {
                return Err(failure(Errno::TimedOut));
            }
            // A thread can only sleep by the system's clock; the deadline is one of the node's clock.
            let (guard, result) = self
                .one_finished
                .wait_timeout(finished, left)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            (finished, slept_to_the_end) = (guard, result.timed_out());
        }
    }

    /// Wakes threads that wait in [`Discovery::wait_discovered`].
    fn notify_finished(&self) {
        drop(lock(&self.finished));
        self.one_finished.notify_all();
    }

    /// Waits until there may be an [`Action`], or the node shuts down; at most `timeout`.
    pub(crate) fn wait(&self, env: &Environment, timeout: Option<Duration>) {
        self.wakeup.wait(timeout, || env.is_ending());
    }

    /// Wakes the discovery thread, because peers have changed.
    pub(crate) fn wake(&self) {
        self.wakeup.notify();
    }
}
