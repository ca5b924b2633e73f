//! Discovery for programs: the primary NID of a NID, and peers with given NIDs (OM-25, OM-26).

use super::Admin;
use crate::discovery::Input;
use crate::environment::ConfigGuard;
use crate::event::in_handler;
use crate::model::{Peer, PeerState};
use lnet_wire::{Errno, Nid};
use std::sync::Arc;

impl Admin<'_> {
    /// The primary NID of the peer with this NID: `LNetPrimaryNID`. Starts the discovery of a peer that has not been
    /// discovered. If [`crate::Settings::lock_primary`] is on, or in an event handler, returns the one known
    /// now, and discovery does not change it later; if it is off, the one known when the discovery has ended. A
    /// result that no discovery has confirmed is locked in any case: programs match messages by it.
    pub fn primary_nid(&self, nid: Nid) -> Nid {
        if nid.is_loopback() || self.env.is_ending() {
            return nid;
        }
        let local = self.discovery.local_state();
        let is_known =
            || !local.discovers() || self.data_path.peer_ni(nid).peer().discovery.is_up_to_date(&local);
        // Locked before the discovery starts: an earlier call has returned this NID.
        let locked = self.env.settings().lock_primary.then(|| self.locked_primary(nid));
        if !is_known() {
            self.discovery.handle_input(&self.data_path.peer_ni(nid).peer().discovery, Input::Wanted);
        }
        if let Some(primary) = locked {
            return primary;
        }
        if !is_known() && !in_handler() {
            let _ = self.wait_discovered(nid, self.discovery_timeout());
        }
        if is_known() { self.topology.peers().primary(nid) } else { self.locked_primary(nid) }
    }

    /// The primary NID of the peer with this NID, locked against changes by discovery.
    fn locked_primary(&self, nid: Nid) -> Nid {
        let stays = |peer: &Peer| peer.is_configured() || peer.state().contains(PeerState::LOCK_PRIMARY);
        let peer = self.data_path.peer_ni(nid).peer();
        if stays(&peer) {
            return peer.primary;
        }
        // Discovery changes peers under this lock. An event handler must not wait for it, so its call may lock the primary NID
        // too late.
        let _configuration = (!in_handler()).then(|| self.configuration.lock());
        let peer = self.data_path.peer_ni(nid).peer();
        if !stays(&peer) {
            let mark = PeerState::default().with(PeerState::LOCK_PRIMARY, true);
            peer.discovery.with(|inner| inner.progress.set(mark));
        }
        peer.primary
    }

    /// Adds a peer with NIDs that are known by other means to belong to one node: `LNetAddPeer`. The first becomes
    /// its primary NID, which is locked if [`crate::Settings::lock_primary`] is on. Without discovery each NID
    /// becomes a peer of its own. Configured peers are not changed. [`Errno::Invalid`] without any NID but the
    /// loopback's, [`Errno::Busy`] in an event handler, [`Errno::NotPermitted`] for a NID that cannot be given to the
    /// peer; the NIDs before that one have been added.
    pub fn add_peer(&self, nids: &[Nid]) -> Result<(), Errno> {
        let mut nids = nids.iter().copied().filter(|nid| !nid.is_loopback());
        let first = nids.next().ok_or(Errno::Invalid)?;
        let config = self.configuring()?;
        let discovers = self.discovery.local_state().discovers();
        let lock_it = PeerState::default().with(PeerState::LOCK_PRIMARY, self.env.settings().lock_primary);
        let mut peer = self.consumers_peer(&config, first, discovers, lock_it);
        for nid in nids {
            if !discovers {
                self.consumers_peer(&config, nid, false, lock_it);
                continue;
            }
            peer = self.consumers_nid(&config, peer, nid)?;
        }
        self.discovery.wake();
        Ok(())
    }

    /// Whether the peer with this NID has been discovered: `LNetPeerDiscovered`. [`Errno::Already`] during the
    /// discovery, [`Errno::Again`] if this call starts it; [`Errno::HostUnreachable`], once, if it has failed, and
    /// for an unknown NID.
    pub fn peer_discovered(&self, nid: Nid) -> Result<(), Errno> {
        let Some(peer) = self.topology.peer(nid) else {
            return Err(Errno::HostUnreachable);
        };
        let local = self.discovery.local_state();
        if peer.discovery.is_up_to_date(&local) {
            return Ok(());
        }
        if peer.state().contains(PeerState::DISCOVERING) {
            return Err(Errno::Already);
        }
        if peer.discovery.with(|inner| inner.failure.take()).is_some() {
            return Err(Errno::HostUnreachable);
        }
        self.discovery.handle_input(&peer.discovery, Input::Wanted);
        Err(Errno::Again)
    }

    /// The peer with this NID for a program: a new one, unless the NID belongs to a peer that cannot lose it.
    fn consumers_peer(
        &self,
        config: &ConfigGuard<'_>,
        nid: Nid,
        multi_rail: bool,
        lock_it: PeerState,
    ) -> Arc<Peer> {
        let known = self.topology.peer(nid);
        let stays = |peer: &Peer| {
            peer.state().has_any(PeerState::CONFIGURED.union(PeerState::LOCK_PRIMARY)) || peer.primary == nid
        };
        match known.filter(|peer| stays(peer)) {
            Some(peer) => {
                if !peer.is_configured() && peer.primary == nid {
                    let mark = PeerState::default().with(PeerState::MULTI_RAIL, multi_rail).union(lock_it);
                    peer.discovery.with(|inner| inner.progress.set(mark));
                }
                peer
            }
            None => {
                let state = PeerState::default().with(PeerState::MULTI_RAIL, multi_rail).union(lock_it);
                self.topology.peers().make(config, nid, state, self.topology.first_peer_credits(nid));
                self.topology.renew_rules(config);
                self.data_path.peer_ni(nid).peer()
            }
        }
    }

    /// Adds a NID to a peer of a program (OM-28).
    fn consumers_nid(&self, config: &ConfigGuard<'_>, peer: Arc<Peer>, nid: Nid) -> Result<Arc<Peer>, Errno> {
        if peer.nids.contains(&nid) {
            return Ok(peer);
        }
        if peer.is_configured() {
            return Err(Errno::NotPermitted);
        }
        let owner = self.topology.peer(nid);
        if owner.is_some_and(|owner| {
            owner.is_configured() || owner.state().contains(PeerState::LOCK_PRIMARY) && owner.primary == nid
        }) {
            return Err(Errno::Exists);
        }
        self.topology.peers().attach(config, &peer, nid, self.topology.first_peer_credits(nid));
        self.topology.renew_rules(config);
        Ok(self.topology.peer_ni(peer.primary).map_or(peer, |peer_ni| peer_ni.peer()))
    }
}
