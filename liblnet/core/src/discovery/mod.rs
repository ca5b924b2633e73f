//! Who a peer is: finding out which NIDs a node has, and telling it which this one has (core-behaviour 5).

mod consumers;
mod gate;
mod merge;
mod push_target;
mod queue;
mod requests;
mod run;
mod step;
mod trigger;

use crate::core::Core;
use crate::environment::Notify;
use crate::environment::settings::{DiscoveryMode, Settings};
use crate::environment::time::Time;
use crate::event::in_handler;
use crate::memory::{EqHandle, MdMemory};
pub use crate::model::{Difference, Failure, Step};
use crate::model::{DiscoveryState, LocalState};
use crate::sync::{Condvar, Mutex, lock};
use crate::topology::{Peer, PeerState};
use arc_swap::ArcSwap;
use gate::ParkedRequests;
use lnet_wire::ping_info::{PING_ENTRY_LEN, PING_HEADER_LEN, PING_LONG_ENTRY_LEN};
use lnet_wire::{Errno, MAX_PAYLOAD, Nid};
use push_target::PushTarget;
use queue::Queue;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use step::Input;

/// How far the discovery of a peer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveryStatus {
    /// The bits that the kernel's tools show.
    pub state: PeerState,
    /// Whether messages go to it without waiting (DI-11).
    pub up_to_date: bool,
    /// The latest of this node's configurations that it is known to have received; 0: none.
    pub node_sequence: u32,
    /// The latest of its configurations that was received; 0: none.
    pub peer_sequence: u32,
    /// Requests that wait for the discovery.
    pub parked: usize,
    /// Why the last discovery failed, if it did.
    pub failure: Option<Failure>,
    /// What was found and not followed: by the last discovery of a configured peer, or in
    /// [`DiscoveryMode::Verify`].
    pub differences: Vec<Difference>,
}

/// The discovery of a node's peers.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    /// [`LocalState`] in one word, read on the way of every message.
    here: AtomicU64,
    /// Bytes of the largest answer that is believed.
    most_room: AtomicU32,
    retries: AtomicU8,
    /// What pings are answered with, and what is pushed.
    block: ArcSwap<Block>,
    pub(crate) queue: Mutex<Queue>,
    pub(crate) wakeup: Notify,
    pub(crate) push_target: Mutex<PushTarget>,
    /// Where requests wait. Taken before the lock of a record, and not on the way of a message to a known peer.
    parked: Mutex<ParkedRequests>,
    /// Until when what peers push may be older than what has been forgotten of them.
    wary_until: Mutex<Time>,
    /// Held by the thread that is in [`Core::run_discovery`].
    pub(crate) running: Mutex<()>,
    /// Held by who looks whether a discovery has ended, until it waits for that.
    finished: Mutex<()>,
    one_finished: Condvar,
    pub(crate) eq: OnceLock<EqHandle>,
}

/// What this node says of itself.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) sequence: u32,
    pub(crate) bytes: Box<[u8]>,
}

impl Block {
    pub(crate) fn memory(&self) -> MdMemory {
        let len = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        MdMemory::contiguous(self.bytes.as_ptr() as usize, len)
    }
}

impl Core {
    /// Has the peer with this NID examined, whatever is known of it: pinged, and pushed to if it is
    /// multi-rail (DI-35). With `force` it is pushed to even if it has everything. Returns at once.
    /// [`Errno::Shutdown`] when the node is ending, [`Errno::Invalid`] for the loopback.
    pub fn discover(&self, nid: Nid, force: bool) -> Result<(), Errno> {
        if self.is_ending() {
            return Err(Errno::Shutdown);
        }
        if nid.is_loopback() {
            return Err(Errno::Invalid);
        }
        let peer_ni = self.peer_ni(nid);
        peer_ni.note_use(false, false);
        let record = Arc::clone(&peer_ni.peer().record);
        record.with(|inner| inner.failure = None);
        self.tell(&record, Input::Examine { force });
        Ok(())
    }

    /// How long a discovery may take: a ping and a push, each as long as a message and its answer.
    pub fn longest_discovery(&self) -> Duration {
        self.env.transaction_timeout().saturating_mul(2)
    }

    /// Forgets a peer and its NIDs; called under the lock of the configuration.
    pub(crate) fn forget_peer(&self, peer: &Arc<Peer>) {
        self.note_forgetting();
        self.topology.peers().detach(peer, |_| true);
    }

    /// Has those asked who said that they have NIDs that they did not get, but would get now.
    pub(crate) fn question_refused(&self) {
        for peer in self.peers() {
            let refused = peer.record.with(|inner| inner.refused.clone());
            if refused.iter().any(|nid| self.is_free_for(*nid, &peer)) {
                self.tell(&peer.record, Input::Questioned);
            }
        }
    }

    /// Peers are about to be forgotten, and with them which of their configurations is the latest. Pushes of earlier ones
    /// may still be under way: for as long as a discovery may take, what is pushed first is asked about.
    pub(crate) fn note_forgetting(&self) {
        *lock(&self.discovery.wary_until) = self.env.now() + self.longest_discovery();
    }

    /// Whether what a peer of which nothing is known pushes may have been overtaken by what has been forgotten.
    pub(crate) fn is_wary(&self) -> bool {
        self.env.now() < *lock(&self.discovery.wary_until)
    }

    /// Waits until the discovery of the peer with this NID has ended, at most so long: [`Errno::TimedOut`]. Not
    /// from an event handler ([`Errno::Busy`]).
    pub fn wait_discovered(&self, nid: Nid, timeout: Duration) -> Result<(), Failure> {
        let failure = |errno| Failure { step: Step::Ping, nid, errno };
        if in_handler() {
            return Err(failure(Errno::Busy));
        }
        let give_up = Instant::now() + timeout;
        let mut finished = lock(&self.discovery.finished);
        loop {
            if self.is_ending() {
                return Err(failure(Errno::Shutdown));
            }
            // Looked up again each time: the NID may have become another peer's meanwhile (DI-34).
            let Some(peer) = self.topology.peer(nid) else { return Ok(()) };
            if !peer.state().contains(PeerState::DISCOVERING) {
                return peer.record.with(|inner| inner.failure).map_or(Ok(()), Err);
            }
            let left = give_up.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(failure(Errno::TimedOut));
            }
            let waited = self.discovery.one_finished.wait_timeout(finished, left);
            (finished, _) = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// How far the discovery of the peer with this NID is; `None` for a NID that is not known.
    pub fn discovery_of(&self, nid: Nid) -> Option<DiscoveryStatus> {
        let peer = self.topology.peer_ni(nid)?.peer();
        let local = self.discovery.local_state();
        Some(peer.record.with(|inner| DiscoveryStatus {
            state: inner.progress.flags,
            up_to_date: inner.progress.is_up_to_date(&local),
            node_sequence: inner.progress.node_sequence,
            peer_sequence: inner.progress.peer_sequence,
            parked: inner.parked,
            failure: inner.failure,
            differences: inner.differences.clone(),
        }))
    }

    /// Counts this node's configurations: what peers confirm in [`DiscoveryStatus::node_sequence`].
    pub fn node_sequence(&self) -> u32 {
        self.discovery.local_state().sequence
    }

    /// Waits until there is something for [`Core::run_discovery`] to do, or the node ends, at most so long.
    pub fn wait_for_discovery(&self, timeout: Option<Duration>) {
        self.discovery.wakeup.wait(timeout, || self.is_ending());
    }
}

impl Discovery {
    /// This node as it is now.
    pub(crate) fn local_state(&self) -> LocalState {
        let word = self.here.load(Ordering::Acquire);
        LocalState {
            mode: match (word >> 32) & 3 {
                1 => DiscoveryMode::On,
                2 => DiscoveryMode::Verify,
                _ => DiscoveryMode::Off,
            },
            first_ping: word >> 34 & 1 == 1,
            sequence: word as u32,
            most_room: self.most_room.load(Ordering::Relaxed),
            retries: self.retries.load(Ordering::Relaxed),
        }
    }

    /// Notes what has changed of it; under the lock of the configuration.
    pub(crate) fn set_local_state(&self, settings: &Settings, sequence: u32) {
        let mode = match settings.discovery {
            DiscoveryMode::Off => 0,
            DiscoveryMode::On => 1,
            DiscoveryMode::Verify => 2,
        };
        let word = u64::from(settings.first_ping) << 34 | mode << 32 | u64::from(sequence);
        let most = (settings.max_interfaces as usize).saturating_mul(PING_ENTRY_LEN + PING_LONG_ENTRY_LEN);
        let most_room = u32::try_from(PING_HEADER_LEN + most).unwrap_or(u32::MAX).min(MAX_PAYLOAD);
        self.most_room.store(most_room, Ordering::Relaxed);
        let retries = u8::try_from(settings.retry_count).unwrap_or(u8::MAX);
        self.retries.store(retries, Ordering::Relaxed);
        self.here.store(word, Ordering::Release);
    }

    pub(crate) fn block(&self) -> Arc<Block> {
        self.block.load_full()
    }

    pub(crate) fn set_block(&self, block: Arc<Block>) {
        self.block.store(block);
    }

    pub(crate) fn push(&self, record: Arc<DiscoveryState>, urgent: bool) {
        lock(&self.queue).push(record, urgent);
        self.wakeup.notify();
    }

    /// Takes out a request that has come to its end.
    pub(crate) fn ended(&self, id: usize) -> Option<queue::Sent> {
        let sent = lock(&self.queue).ended(id);
        self.wakeup.notify();
        sent
    }

    /// Tells who waits in [`Core::wait_discovered`].
    pub(crate) fn tell_finished(&self) {
        drop(lock(&self.finished));
        self.one_finished.notify_all();
    }
}
