//! Requests about peers.

use super::discovery;
use super::stats::{self, NextPing};
use crate::node::Node;
use lnet_core::health::{Cause, PeerNiState};
use lnet_core::topology::{PeerNi, PeerState};
use lnet_core::{Core, Errno};
use lnet_dlc::request::{self, AddPeerNi, PeerHealth, SetPeerState};
use lnet_wire::Nid;
use std::sync::Arc;

/// Adds a peer, or a NID to it (cfg-070).
pub(super) fn add(core: &Core, add: AddPeerNi) -> Result<(), Errno> {
    match add.nid {
        None => core.admin().make_peer(add.primary, add.multi_rail, add.lock_primary),
        Some(nid) => core.admin().add_peer_nid(add.primary, nid, add.multi_rail),
    }
}

pub(super) fn set_state(core: &Core, set: SetPeerState) -> Result<(), Errno> {
    core.admin().set_peer_state(set.nid, PeerState(set.state))
}

/// The report on the peer with this NID (dbg-050 to dbg-065).
pub(super) fn get(node: &Node, nid: Nid) -> Result<request::Peer, Errno> {
    let core = node.core();
    let (peer, nis) = core.admin().peer(nid).ok_or(Errno::NotFound)?;
    let status = core.admin().discovery_of(nid);
    Ok(request::Peer {
        primary: peer.primary,
        multi_rail: peer.is_multi_rail(),
        state: peer.state().0,
        discovery: status.as_ref().map(discovery::of_peer),
        nis: nis.iter().map(|ni| peer_ni(node, ni, core.admin().gateway_ni_is_alive(&peer, ni))).collect(),
        reachability: reachability(node, nid),
    })
}

/// The reachability of a peer; `None` for an unknown one.
pub(super) fn reachability(node: &Node, nid: Nid) -> Option<request::PeerReachability> {
    let found = node.core().admin().reachability(nid)?;
    let number = |count| u32::try_from(count).unwrap_or(u32::MAX);
    Some(request::PeerReachability {
        state: found.state,
        seconds: node.now().since(found.since).as_secs(),
        paths: number(found.paths),
        usable_paths: number(found.usable),
    })
}

fn peer_ni(node: &Node, ni: &Arc<PeerNi>, alive: Option<bool>) -> request::PeerNi {
    // Peers on other than local nets have no credits: nothing can be sent to them directly (OM-6).
    let is_local = node.core().nets().net(ni.nid().net()).is_some();
    let of_local = |credits: i32| if is_local { credits } else { 0 };
    let max = of_local(i32::try_from(ni.max_credits()).unwrap_or(i32::MAX));
    let (rtr_credits, min_rtr_credits) = node.core().admin().router_credits(ni).unwrap_or_default();
    request::PeerNi {
        nid: ni.nid(),
        alive,
        reported_down: ni.is_reported_down(),
        max_tx_credits: max,
        tx_credits: of_local(ni.credits().0),
        min_tx_credits: of_local(ni.min_credits().0),
        tx_queued_bytes: u32::try_from(ni.queued_bytes()).unwrap_or(u32::MAX),
        rtr_credits,
        min_rtr_credits,
        // One less for the reference of this function.
        refcount: u32::try_from(Arc::strong_count(ni).saturating_sub(1)).unwrap_or(u32::MAX),
        stats: stats::element(ni.counters()),
        messages: stats::messages(ni.counters()),
        bytes: stats::bytes(ni.counters()),
        heat: node.heat.of_peer_ni(node.now(), ni.nid(), ni.counters()),
        health: health(node, ni),
        latencies: ni.latencies().read(),
    }
}

/// The failure counters, under the kernel's names of the causes.
fn health(node: &Node, ni: &PeerNi) -> PeerHealth {
    let failed = ni.failures().read();
    let NextPing { ping_count, at, seconds } = NextPing::new(node, ni.recovery());
    PeerHealth {
        value: ni.health(),
        dropped: failed.of(Cause::RemoteDropped),
        timeout: failed.of(Cause::RemoteTimeout),
        error: failed.of(Cause::RemoteError),
        network_timeout: failed.of(Cause::NetworkTimeout),
        ping_count,
        next_ping: at,
        next_ping_in: seconds,
        state: Some(match node.core().admin().peer_ni_state(ni) {
            PeerNiState::Created => request::PeerNiState::Created,
            PeerNiState::Activating => request::PeerNiState::Activating,
            PeerNiState::Connected => request::PeerNiState::Connected,
            PeerNiState::Failed => request::PeerNiState::Failed,
        }),
        unresponsive_from: ni.unresponsive_from(),
    }
}
