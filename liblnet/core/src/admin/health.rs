//! Health for operators and drivers, and the recovery pings.

use crate::core::Core;
use crate::event::{Event, EventKind};
use crate::health::{self, HealthTotals, NiKind, PeerNiState, PeerReachability, UnresponsivePath};
use crate::memory::{EqHandle, MdHandle, MdOptions, MdSpec, RecvBuffer};
use crate::model::{PeerNi, Target};
use lnet_settings::MAX_HEALTH;
use lnet_wire::ping_info::{PING_ENTRY_LEN, PING_HEADER_LEN};
use lnet_wire::{Errno, Nid, Pid, ProcessId};
use std::sync::Arc;

/// The number of NIDs that the reply buffer holds; the reply is not read (HE-51).
const NIDS: usize = 16;
/// The size of the reply buffer in bytes.
const REPLY_LEN: u32 = (PING_HEADER_LEN + NIDS * PING_ENTRY_LEN) as u32;

impl Core {
    /// The failure counters of the node.
    pub fn health_totals(&self) -> HealthTotals {
        let responses_awaited = self.objects.mds().iter().filter(|md| md.is_tracked()).count();
        self.health.totals(responses_awaited as u64)
    }

    /// The NIDs in the recovery queue (`lnetctl debug recovery`).
    pub fn recovery_queue(&self, kind: NiKind) -> Vec<Nid> {
        self.health.recovery_queue(kind)
    }

    /// The reachability of the peer with this NID; `None` for an unknown NID.
    pub fn reachability(&self, nid: Nid) -> Option<PeerReachability> {
        let peer = self.topology.peer(nid)?;
        Some(PeerReachability::of(&peer, &self.env, &self.topology))
    }

    /// The state of a peer NI.
    pub fn peer_ni_state(&self, peer_ni: &PeerNi) -> PeerNiState {
        health::peer_ni_state(&self.env, &self.topology, peer_ni)
    }

    /// The unresponsive paths to the peer with this NID, in the order of its NIDs. A peer whose paths are all
    /// unresponsive is unreachable. Empty for an unknown NID.
    pub fn unresponsive_paths(&self, peer: Nid) -> Vec<UnresponsivePath> {
        let Some(peer) = self.topology.peer(peer) else { return Vec::new() };
        let peer_nis = peer.nids.iter().filter_map(|nid| self.topology.peer_ni(*nid)).collect::<Vec<_>>();
        let of_one = |peer_ni: &Arc<PeerNi>| {
            let peer = peer_ni.nid();
            let all = peer_ni.unresponsive().all().into_iter();
            all.map(move |(local, since)| UnresponsivePath { local, peer, since })
        };
        peer_nis.iter().flat_map(of_one).collect()
    }

    /// Sets the health value of one local NI, or of all but the loopback. An unknown NID changes nothing.
    pub fn set_ni_health(&self, nid: Option<Nid>, value: u32) {
        self.topology.with_nets(|nets| {
            let concerned =
                nets.nis().filter(|ni| nid.map_or_else(|| !ni.nid().is_loopback(), |nid| ni.nid() == nid));
            concerned.for_each(|ni| self.health.change_ni_health(&self.env, ni, value.min(MAX_HEALTH)));
        });
    }

    /// Sets the health value of one peer NI, or of all. An unknown NID changes nothing.
    pub fn set_peer_ni_health(&self, nid: Option<Nid>, value: u32) {
        let concerned = match nid {
            Some(nid) => self.topology.peer_ni(nid).into_iter().collect(),
            None => self.topology.peers().all(),
        };
        let value = value.min(MAX_HEALTH);
        concerned.iter().for_each(|peer_ni| self.health.change_peer_ni_health(&self.env, peer_ni, value));
    }

    /// Pings the node at `peer` from `local`; only the arrival of the reply matters, as it shows that the path works.
    pub(crate) fn send_recovery_ping(&self, local: Nid, peer: Nid) -> Result<MdHandle, Errno> {
        let room = RecvBuffer::new(REPLY_LEN);
        let memory = room.memory();
        let spec = MdSpec {
            start: memory.first().unwrap_or_default(),
            length: memory.len(),
            threshold: 2,
            max_size: 0,
            options: MdOptions(MdOptions::TRUNCATE.0 | MdOptions::NO_TRACK_RESPONSE.0),
            user_ptr: 0,
            eq: Some(self.recovery_eq()?),
        };
        let md = self.bind_owned(spec, memory, true, Arc::new(room))?;
        let target = Target::of_pings(ProcessId { nid: peer, pid: Pid::LUSTRE });
        self.get_for_recovery(local, md, target).map(|()| md).inspect_err(|_| {
            let _ = self.md_unlink(md);
        })
    }

    fn recovery_eq(&self) -> Result<EqHandle, Errno> {
        if let Some(eq) = self.recovery_eq.get() {
            return Ok(*eq);
        }
        let this = self.this().ok_or(Errno::Shutdown)?;
        let this = Arc::downgrade(&this);
        let handler = move |event: &Event| {
            if let (EventKind::Send | EventKind::Reply, Err(errno), Some(core)) =
                (event.kind, event.status, this.upgrade())
                && let Some(nid) = event.target.nid
                && errno != Errno::Cancelled
            {
                core.health.recovery_ping_failed(&core.env, &core.topology, nid, errno);
            }
        };
        let eq = self.eq_alloc(0, Some(Box::new(handler)))?;
        Ok(*self.recovery_eq.get_or_init(|| eq))
    }
}
