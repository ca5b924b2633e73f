//! Peers.

use crate::discovery;
use crate::heat::HeatTable;
use crate::next_ping::NextPing;
use crate::stats;
use lnet_core::health::{Cause, PeerNiState};
use lnet_core::topology::PeerNi;
use lnet_core::{Core, Errno, Time};
use lnet_dlc::request::{self, PeerHealth};
use lnet_wire::Nid;
use std::sync::Arc;

/// The report on the peer with this NID (dbg-050 to dbg-065).
pub fn peer(core: &Core, now: Time, heat: &HeatTable, nid: Nid) -> Result<request::Peer, Errno> {
    let (peer, nis) = core.admin().peer(nid).ok_or(Errno::NotFound)?;
    let status = core.admin().discovery_of(nid);
    Ok(request::Peer {
        primary: peer.primary,
        multi_rail: peer.is_multi_rail(),
        state: peer.state().0,
        discovery: status.as_ref().map(discovery::of_peer),
        nis: nis
            .iter()
            .map(|ni| peer_ni(core, now, heat, ni, core.admin().gateway_ni_is_alive(&peer, ni)))
            .collect(),
        reachability: reachability(core, now, nid),
    })
}

/// The reachability of a peer; `None` for an unknown one.
pub fn reachability(core: &Core, now: Time, nid: Nid) -> Option<request::PeerReachability> {
    let found = core.admin().reachability(nid)?;
    let number = |count| u32::try_from(count).unwrap_or(u32::MAX);
    Some(request::PeerReachability {
        state: found.state,
        seconds: now.since(found.since).as_secs(),
        paths: number(found.paths),
        usable_paths: number(found.usable),
    })
}

fn peer_ni(
    core: &Core,
    now: Time,
    heat: &HeatTable,
    ni: &Arc<PeerNi>,
    alive: Option<bool>,
) -> request::PeerNi {
    // Peers on other than local nets have no credits: nothing can be sent to them directly (OM-6).
    let is_local = core.nets().net(ni.nid().net()).is_some();
    let of_local = |credits: i32| if is_local { credits } else { 0 };
    let max = of_local(i32::try_from(ni.max_credits()).unwrap_or(i32::MAX));
    let (rtr_credits, min_rtr_credits) = core.admin().router_credits(ni).unwrap_or_default();
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
        heat: heat.of_peer_ni(now, ni.nid(), ni.counters()),
        health: health(core, now, ni),
        latencies: ni.latencies().read(),
    }
}

/// The failure counters, under the kernel's names of the causes.
fn health(core: &Core, now: Time, ni: &PeerNi) -> PeerHealth {
    let failed = ni.failures().read();
    let NextPing { ping_count, at, seconds } = NextPing::new(now, ni.recovery());
    PeerHealth {
        value: ni.health(),
        dropped: failed.of(Cause::RemoteDropped),
        timeout: failed.of(Cause::RemoteTimeout),
        error: failed.of(Cause::RemoteError),
        network_timeout: failed.of(Cause::NetworkTimeout),
        ping_count,
        next_ping: at,
        next_ping_in: seconds,
        state: Some(match core.admin().peer_ni_state(ni) {
            PeerNiState::Created => request::PeerNiState::Created,
            PeerNiState::Activating => request::PeerNiState::Activating,
            PeerNiState::Connected => request::PeerNiState::Connected,
            PeerNiState::Failed => request::PeerNiState::Failed,
        }),
        unresponsive_from: ni.unresponsive_from(),
    }
}
