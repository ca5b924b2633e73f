//! One interface that the driver serves: its peers and connections, and its end.

use crate::config::bulk_conns;
use crate::conn::Connection;
use crate::counters::Counts;
use crate::decide::cause::{BytesSent, ConnError};
use crate::decide::identity::Identity;
use crate::driver::Shared;
use crate::handshake::Own;
use crate::peer::Peer;
use crate::sync::lock;
use lnet_core::lnd::{LndNi, SendOutcome, Upcalls};
use lnet_core::topology::Ni;
use lnet_core::{Cause, Errno, Message};
use lnet_wire::{Nid, Pid, ProcessId};
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

/// The core's share for one attempt may come to nothing (HE-30 divides whole seconds); nothing would work with that.
const SHORTEST_TIMEOUT: Duration = Duration::from_secs(1);
/// Locks of the table of peers, so that senders to different peers seldom meet.
const SHARDS: usize = 32;
/// How long a shut-down sleeps when nobody tells it to look again.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

type PeerMap = HashMap<ProcessId, Arc<Peer>, foldhash::fast::RandomState>;

pub(crate) struct SockNi {
    pub(crate) own: Own,
    /// The core's name of it. Not to keep it alive: it keeps this.
    lnet_ni: Weak<Ni>,
    pub(crate) upcalls: Arc<dyn Upcalls>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) counts: Counts,
    hasher: foldhash::fast::RandomState,
    peers: Box<[Mutex<PeerMap>]>,
    connections: Mutex<HashMap<u64, Arc<Connection>, foldhash::fast::RandomState>>,
    conns_per_peer: AtomicU16,
    /// Peers with another process number than the usual one.
    unusual: AtomicUsize,
    /// Random numbers drawn so far.
    chances: AtomicU64,
    ending: AtomicBool,
    /// Upcalls that are about to be made.
    later: AtomicUsize,
    quiet: (Mutex<()>, Condvar),
}

impl SockNi {
    pub(crate) fn new(
        own: Own,
        lnet_ni: &Arc<Ni>,
        upcalls: Arc<dyn Upcalls>,
        shared: &Arc<Shared>,
    ) -> Arc<Self> {
        let conns_per_peer =
            lnet_ni.tunables().conns_per_peer.map_or(shared.config.conns_per_peer, u32::from);
        Arc::new(Self {
            own,
            lnet_ni: Arc::downgrade(lnet_ni),
            upcalls,
            shared: Arc::clone(shared),
            counts: Counts::default(),
            hasher: foldhash::fast::RandomState::default(),
            peers: (0..SHARDS).map(|_| Mutex::default()).collect(),
            connections: Mutex::default(),
            conns_per_peer: AtomicU16::new(bulk_conns(conns_per_peer)),
            unusual: AtomicUsize::new(0),
            chances: AtomicU64::new(0),
            ending: AtomicBool::new(false),
            later: AtomicUsize::new(0),
            quiet: (Mutex::new(()), Condvar::new()),
        })
    }

    pub(crate) fn lnet_ni(&self) -> Option<Arc<Ni>> {
        self.lnet_ni.upgrade()
    }

    /// How long anything on the network may take.
    pub(crate) fn sock_timeout(&self) -> Duration {
        match self.shared.config.sock_timeout {
            Duration::ZERO => self.upcalls.lnd_timeout().max(SHORTEST_TIMEOUT),
            set => set,
        }
    }

    /// Connections of each bulk type to one peer.
    pub(crate) fn bulk_conns(&self) -> usize {
        self.conns_per_peer.load(Ordering::Relaxed).into()
    }

    /// A random number.
    pub(crate) fn chance(&self) -> u32 {
        self.hasher.hash_one(self.chances.fetch_add(1, Ordering::Relaxed)) as u32
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    /// The peer with this identity, made if it is not known; `None` when the interface is ending.
    pub(crate) fn peer(self: &Arc<Self>, identity: Identity) -> Option<Arc<Peer>> {
        let mut peers = lock(self.shard(identity.id));
        // Under the lock: the end empties the table after it has set the mark.
        if self.is_ending() {
            return None;
        }
        let peer = peers.entry(identity.id).or_insert_with(|| {
            self.unusual.fetch_add(usize::from(identity.id.pid != Pid::LUSTRE), Ordering::Relaxed);
            Peer::new(identity, self)
        });
        Some(Arc::clone(peer))
    }

    /// The same, and it stays in the table until [`Peer::release`].
    pub(crate) fn peer_to_keep(self: &Arc<Self>, identity: Identity) -> Option<Arc<Peer>> {
        loop {
            let peer = self.peer(identity)?;
            if peer.keep() {
                return Some(peer);
            }
        }
    }

    pub(crate) fn forget_peer(&self, peer: &Peer) {
        let mut peers = lock(self.shard(peer.id));
        if peers.get(&peer.id).is_some_and(|known| std::ptr::eq(&**known, peer)) {
            peers.remove(&peer.id);
            self.unusual.fetch_sub(usize::from(peer.id.pid != Pid::LUSTRE), Ordering::Relaxed);
        }
    }

    pub(crate) fn all_peers(&self) -> Vec<Arc<Peer>> {
        self.peers.iter().flat_map(|shard| lock(shard).values().cloned().collect::<Vec<_>>()).collect()
    }

    pub(crate) fn remember_connection(&self, connection: &Arc<Connection>) -> Result<(), Errno> {
        let mut connections = lock(&self.connections);
        if self.is_ending() {
            return Err(Errno::Shutdown);
        }
        connections.insert(connection.id, Arc::clone(connection));
        Ok(())
    }

    pub(crate) fn forget_connection(&self, id: u64) {
        let gone = lock(&self.connections).remove(&id);
        drop(gone);
    }

    pub(crate) fn all_connections(&self) -> Vec<Arc<Connection>> {
        lock(&self.connections).values().cloned().collect()
    }

    /// An upcall will be made soon; false when the interface is ending. Its end waits for [`SockNi::end_upcall`].
    pub(crate) fn begin_upcall(&self) -> bool {
        self.later.fetch_add(1, Ordering::SeqCst);
        let goes_on = !self.is_ending();
        if !goes_on {
            self.end_upcall();
        }
        goes_on
    }

    pub(crate) fn end_upcall(&self) {
        self.later.fetch_sub(1, Ordering::SeqCst);
        if self.is_ending() {
            self.note_quiet();
        }
    }

    /// A thread has left a closed connection.
    pub(crate) fn note_quiet(&self) {
        let _guard = lock(&self.quiet.0);
        self.quiet.1.notify_all();
    }

    fn shard(&self, id: ProcessId) -> &Mutex<PeerMap> {
        let hash = self.hasher.hash_one(id) as usize;
        &self.peers[hash % self.peers.len()]
    }

    /// Sends `message` to its next hop.
    pub(crate) fn send(self: &Arc<Self>, mut message: Box<Message>) -> SendOutcome {
        let identity = Identity { id: message.next_hop(), synthetic: message.next_hop().pid.is_user() };
        loop {
            let Some(peer) = self.peer(identity) else {
                return SendOutcome::Done(message, Err(ConnError::Shutdown.failure(BytesSent::Nothing)));
            };
            message = match peer.send(message) {
                Ok(outcome) => return outcome,
                Err(message) => message,
            };
        }
    }

    fn abort_tx(&self, peer: Option<Nid>, cause: Cause) {
        let all = || self.all_peers();
        let named = |nid| {
            let id = ProcessId { nid, pid: Pid::LUSTRE };
            let usual = lock(self.shard(id)).get(&id).cloned();
            // A NID has several processes only where connecting peers are known by names of our making.
            let others = self.unusual.load(Ordering::Relaxed) > 0;
            let others = others.then(all).unwrap_or_default().into_iter();
            usual.into_iter().chain(others.filter(move |peer| peer.id.nid == nid && peer.id != id)).collect()
        };
        for known in peer.map_or_else(all, named) {
            known.abort_tx(ConnError::Aborted(cause));
        }
    }

    fn shutdown(self: &Arc<Self>) {
        if self.ending.swap(true, Ordering::SeqCst) {
            return;
        }
        self.shared.connd.remove_ni(self);
        self.shared.forget_ni(self);
        let connections = self.all_connections();
        for shard in &self.peers {
            let peers = std::mem::take(&mut *lock(shard));
            for peer in peers.into_values() {
                peer.shutdown();
            }
        }
        // Those that their peers have left behind, too.
        for connection in &connections {
            connection.close(ConnError::Shutdown);
        }
        self.wait_until_quiet(&connections);
        self.shared.nodes.forget_ni(self, self.shared.has_ni());
    }

    /// Whether a message that has arrived in part by this interface, and has found its memory, may come again: by this
    /// interface or, where it ends, by another.
    pub(crate) fn may_come_again(&self) -> bool {
        !self.is_ending() || self.shared.has_ni()
    }

    /// Waits for the threads that were at work on a connection: they make the last upcalls.
    fn wait_until_quiet(&self, connections: &[Arc<Connection>]) {
        if crate::driver::is_driver_thread() {
            // A handler ends the interface that called it: waiting for itself would be for ever.
            return;
        }
        let mut guard = lock(&self.quiet.0);
        let is_quiet = || {
            self.later.load(Ordering::SeqCst) == 0
                && connections.iter().all(|connection| connection.is_quiet())
        };
        while !is_quiet() {
            guard = self.quiet.1.wait_timeout(guard, LOOK_AGAIN).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// What the core holds of an interface.
pub(crate) struct NiHandle(pub(crate) Arc<SockNi>);

impl LndNi for NiHandle {
    fn open(&self) {
        self.0.shared.open_ni(&self.0);
    }

    fn send(&self, message: Box<Message>) -> SendOutcome {
        self.0.send(message)
    }

    fn conns_per_peer(&self) -> Option<u16> {
        Some(self.0.conns_per_peer.load(Ordering::Relaxed))
    }

    fn set_conns_per_peer(&self, connections: u16) {
        self.0.conns_per_peer.store(bulk_conns(connections.into()), Ordering::Relaxed);
    }

    fn abort_tx(&self, peer: Option<Nid>, cause: Cause) {
        self.0.abort_tx(peer, cause);
    }

    fn shutdown(&self) {
        self.0.shutdown();
    }
}
