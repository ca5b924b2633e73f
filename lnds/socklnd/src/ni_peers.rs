//! The peers and connections of one NI, and their end with the NI.

use crate::conn::watch::WatchList;
use crate::conn::{Connection, Scheduler};
use crate::connd::commands::Commands;
use crate::decide::identity::Identity;
use crate::driver_thread::is_driver_thread;
use crate::ni::SockNi;
use crate::peer::{Peer, PeerOwner, small_path};
use crate::remote_nodes::RemoteNodes;
use crate::sync::lock;
use lnd_common::conn_error::{BytesSent, ConnError};
use lnet_core::lnd::SendOutcome;
use lnet_core::{Cause, Confirmation, Errno, MessageOrigin, OutgoingMessage, Pooled};
use lnet_wire::nid::part_of_table;
use lnet_wire::{Nid, Pid, ProcessId};
use std::collections::HashMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Number of locks of the table of peers, so that senders to different peers seldom meet: a power of two.
const SHARDS: usize = 32;

/// A part of the table of peers.
#[derive(Default)]
struct PeerShard {
    peers: HashMap<ProcessId, Arc<Peer>, foldhash::fast::RandomState>,
    /// The peer of the table that was last sent to, which most often is the next, too.
    last: Option<Arc<Peer>>,
}

impl PeerShard {
    /// The peer with this identity, if it is in the table: the next one that is sent to, probably.
    #[inline]
    fn known(&mut self, id: ProcessId) -> Option<Arc<Peer>> {
        if let Some(last) = self.last.as_ref().filter(|last| last.id == id) {
            return Some(Arc::clone(last));
        }
        let known = self.peers.get(&id)?;
        self.last = Some(Arc::clone(known));
        Some(Arc::clone(known))
    }
}

pub(crate) struct NiPeers {
    pub(crate) ni: Arc<SockNi>,
    /// Commands to the connecting thread.
    commands: Arc<Commands>,
    schedulers: Arc<[Arc<Scheduler>]>,
    nodes: Arc<RemoteNodes>,
    peers: [Mutex<PeerShard>; SHARDS],
    connections: Mutex<HashMap<u64, Arc<Connection>, foldhash::fast::RandomState>>,
    /// Number of peers with another PID than the usual one.
    unusual_pids: AtomicUsize,
}

impl NiPeers {
    pub(crate) fn new(
        ni: Arc<SockNi>,
        commands: Arc<Commands>,
        schedulers: Arc<[Arc<Scheduler>]>,
        nodes: Arc<RemoteNodes>,
    ) -> Arc<Self> {
        Arc::new(Self {
            ni,
            commands,
            schedulers,
            nodes,
            peers: std::array::from_fn(|_| Mutex::default()),
            connections: Mutex::default(),
            unusual_pids: AtomicUsize::new(0),
        })
    }

    /// Sends `message` to its next hop.
    pub(crate) fn send(self: &Arc<Self>, mut message: Pooled<OutgoingMessage>) -> SendOutcome {
        let identity = Identity { id: message.next_hop(), synthetic: message.next_hop().pid.is_user() };
        if !self.ni.is_ending() {
            message = match small_path::send_like_last(&self.ni, identity.id, message) {
                Ok(outcome) => return outcome,
                Err(message) => message,
            };
        }
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

    /// See [`lnet_core::lnd::LndNi::may_cut_through`].
    pub(crate) fn may_cut_through(&self, to: ProcessId, length: usize) -> bool {
        let peer = lock(self.shard(to)).peers.get(&to).cloned();
        peer.is_some_and(|peer| peer.may_cut_through(length))
    }

    /// Gives back messages that may take another path: the core knows that nothing reaches `peer`, or any peer, for `cause`.
    pub(crate) fn abort_tx(&self, peer: Option<Nid>, cause: Cause) {
        let targets = peer.map_or_else(|| self.all_peers(), |nid| self.peers_of(nid).collect());
        for target in targets {
            target.abort_tx(ConnError::Aborted(cause));
        }
    }

    /// Sends `to` the confirmation of a message that came from there.
    pub(crate) fn confirm(&self, to: Nid, named: MessageOrigin, confirmation: Confirmation) {
        if self.unusual_pids.load(Ordering::Relaxed) > 0 {
            return self.peers_of(to).for_each(|peer| peer.confirm(named, confirmation));
        }
        let id = ProcessId { nid: to, pid: Pid::LUSTRE };
        let usual = lock(self.shard(id)).known(id);
        if let Some(peer) = usual {
            peer.confirm(named, confirmation);
        }
    }

    /// The incarnation of the peer with this NID, if it has connections.
    pub(crate) fn incarnation(&self, nid: Nid) -> Option<u64> {
        self.peers_of(nid).find_map(|peer| peer.incarnation())
    }

    /// The peers with this NID: one, except where peers have synthetic identities.
    fn peers_of(&self, nid: Nid) -> impl Iterator<Item = Arc<Peer>> + use<> {
        let id = ProcessId { nid, pid: Pid::LUSTRE };
        let usual = lock(self.shard(id)).peers.get(&id).cloned();
        let has_others = self.unusual_pids.load(Ordering::Relaxed) > 0;
        let others = if has_others { self.all_peers() } else { Vec::new() };
        let its = others.into_iter().filter(move |peer| peer.id.nid == nid && peer.id != id);
        usual.into_iter().chain(its)
    }

    /// Returns the peer with this identity, which stays in the table until [`Peer::unpin`]; creates it if it is not
    /// known. `None` when the NI is ending.
    pub(crate) fn peer_to_keep(self: &Arc<Self>, identity: Identity) -> Option<Arc<Peer>> {
        loop {
            let peer = self.peer(identity)?;
            if peer.pin() {
                return Some(peer);
            }
        }
    }

    pub(crate) fn all_peers(&self) -> Vec<Arc<Peer>> {
        self.peers.iter().flat_map(|shard| lock(shard).peers.values().cloned().collect::<Vec<_>>()).collect()
    }

    pub(crate) fn all_connections(&self) -> Vec<Arc<Connection>> {
        lock(&self.connections).values().cloned().collect()
    }

    /// Ends all peers and connections, once the NI is ending. When this returns no upcall follows, unless a thread of the
    /// driver has called it.
    pub(crate) fn shutdown(&self) {
        let connections = self.all_connections();
        for shard in &self.peers {
            let PeerShard { peers, last } = std::mem::take(&mut *lock(shard));
            drop(last);
            for peer in peers.into_values() {
                peer.shutdown();
            }
        }
        // Connections that their peers have abandoned are included.
        for connection in &connections {
            connection.close(ConnError::Shutdown);
        }
        // A handler that ends the NI by which it was called must not wait for itself.
        if !is_driver_thread() {
            self.ni.wait_until_quiet(|| connections.iter().all(|connection| connection.is_quiet()));
        }
        self.nodes.forget_ni(&self.ni, self.ni.shared.has_open_ni());
    }

    /// Returns the peer with this identity; creates it if it is not known. `None` when the NI is ending.
    #[inline]
    fn peer(self: &Arc<Self>, identity: Identity) -> Option<Arc<Peer>> {
        let shard = &mut *lock(self.shard(identity.id));
        // Checked under the lock: the end of the NI empties the table after it has set the mark.
        if self.ni.is_ending() {
            return None;
        }
        if let Some(known) = shard.known(identity.id) {
            return Some(known);
        }
        self.unusual_pids.fetch_add(usize::from(identity.id.pid != Pid::LUSTRE), Ordering::Relaxed);
        let peer = Peer::new(identity, &self.ni, Arc::clone(self) as Arc<dyn PeerOwner>);
        shard.peers.insert(identity.id, Arc::clone(&peer));
        Some(peer)
    }

    #[inline]
    fn shard(&self, id: ProcessId) -> &Mutex<PeerShard> {
        &self.peers[part_of_table(id.nid, SHARDS) % SHARDS]
    }
}

impl PeerOwner for NiPeers {
    fn forget_peer(&self, peer: &Peer) {
        let PeerShard { peers, last } = &mut *lock(self.shard(peer.id));
        if peers.get(&peer.id).is_some_and(|known| std::ptr::eq(&**known, peer)) {
            peers.remove(&peer.id);
            last.take_if(|last| last.id == peer.id);
            self.unusual_pids.fetch_sub(usize::from(peer.id.pid != Pid::LUSTRE), Ordering::Relaxed);
        }
    }

    fn send_again(self: Arc<Self>, message: Pooled<OutgoingMessage>) -> SendOutcome {
        self.send(message)
    }

    fn connect(&self, peer: Arc<Peer>) {
        self.commands.connect(peer);
    }

    fn abandon_connect(&self, peer: Arc<Peer>) {
        self.commands.abandon(peer);
    }

    fn remember_connection(&self, connection: &Arc<Connection>) -> Result<(), Errno> {
        let mut connections = lock(&self.connections);
        if self.ni.is_ending() {
            return Err(Errno::Shutdown);
        }
        connections.insert(connection.id, Arc::clone(connection));
        Ok(())
    }

    fn forget_connection(&self, id: u64) {
        let removed = lock(&self.connections).remove(&id);
        drop(removed);
    }

    fn scheduler_of(&self, peer: Nid) -> Arc<Scheduler> {
        let count = NonZero::new(self.schedulers.len()).unwrap_or(NonZero::<usize>::MIN);
        let at = lnet_wire::nid::cpt_of_nid(peer, count);
        // There is always at least one scheduler.
        Arc::clone(self.schedulers.get(at).unwrap_or_else(|| &self.schedulers[0]))
    }

    fn nodes(&self) -> &RemoteNodes {
        &self.nodes
    }

    fn watch_list(&self) -> &Arc<WatchList<Connection>> {
        self.commands.watch_list()
    }
}
