//! Configured peers that differ.

use super::change::Change;
use super::now::Now;
use super::wanted::WantedPeer;
use crate::peer_state::CONFIGURED;
use crate::request::{AddPeerNi, DelPeerNi, Peer, Request};
use lnet_wire::{NetId, Nid};
use std::collections::{HashMap, HashSet};

/// The changes of peers.
#[derive(Debug, Default)]
pub(super) struct PeerPlan {
    pub(super) remove: Vec<Change>,
    /// Gateways with several NIDs: routes make their gateways as peers that cannot get more NIDs, so these come before the routes.
    pub(super) add_gateways: Vec<Change>,
    pub(super) add: Vec<Change>,
}

/// Plans the changes. Peers that were only discovered stay, unless they have a NID that a wanted peer shall have; `gateways` are
/// made by their routes and stay as they are. Configured peers all of whose NIDs are on the nets `emptied` are lost with these, and
/// added again.
pub(super) fn plan(
    now: &Now,
    wanted: Option<&[WantedPeer]>,
    gateways: &HashSet<Nid>,
    emptied: &[NetId],
) -> PeerPlan {
    let mut plan = PeerPlan::default();
    let is_gateway = |peer: &Peer| peer.nis.iter().any(|ni| gateways.contains(&ni.nid));
    let is_lost =
        |peer: &Peer| !emptied.is_empty() && peer.nis.iter().all(|ni| emptied.contains(&ni.nid.net()));
    let owners: HashMap<Nid, &Peer> =
        now.peers.iter().flat_map(|peer| peer.nis.iter().map(move |ni| (ni.nid, peer))).collect();
    let mut matched: HashSet<Nid> = HashSet::new();
    for asked in wanted.unwrap_or_default() {
        let is_via = asked.nids.iter().any(|nid| gateways.contains(nid));
        match asked.names().iter().find_map(|nid| owners.get(nid)) {
            Some(peer) if is_gateway(peer) => drop(matched.insert(peer.primary)),
            Some(peer) if agrees(asked, peer) && !is_lost(peer) => {
                matched.insert(peer.primary);
                adjust(&mut plan, asked, peer);
            }
            // A gateway with one NID is made by its route.
            _ if is_via && asked.nids.len() == 1 => {}
            _ if is_via => plan.add_gateways.extend(additions(&asked.nids, asked.multi_rail)),
            _ => plan.add.extend(additions(&asked.nids, asked.multi_rail)),
        }
    }
    let nids: HashSet<Nid> =
        wanted.iter().copied().flatten().flat_map(|asked| asked.nids.iter().copied()).collect();
    for peer in now.peers.iter().filter(|peer| !is_gateway(peer) && !matched.contains(&peer.primary)) {
        let is_in_the_way = peer.nis.iter().any(|ni| nids.contains(&ni.nid));
        match wanted {
            None if is_configured(peer) && is_lost(peer) => plan.add.extend(as_it_is(peer)),
            // The node forgets it by itself.
            Some(_) if is_lost(peer) => {}
            Some(_) if is_configured(peer) || is_in_the_way => plan.remove.push(removal(peer.primary, None)),
            _ => {}
        }
    }
    plan
}

const fn is_configured(peer: &Peer) -> bool {
    peer.state & CONFIGURED != 0
}

/// Whether the peer can become the one that is asked for by getting and losing NIDs.
fn agrees(asked: &WantedPeer, peer: &Peer) -> bool {
    match asked.any_nid {
        true => asked.nids.contains(&peer.primary),
        false => asked.nids.first() == Some(&peer.primary) && asked.multi_rail == peer.multi_rail,
    }
}

/// Gives the peer the NIDs that it lacks, takes from it those that it shall not have, and makes one that was only discovered
/// configured.
fn adjust(plan: &mut PeerPlan, asked: &WantedPeer, peer: &Peer) {
    let primary = peer.primary;
    let has = |nid: &Nid| peer.nis.iter().any(|ni| ni.nid == *nid);
    let gone = peer.nis.iter().map(|ni| ni.nid).filter(|nid| !asked.nids.contains(nid));
    plan.remove.extend(gone.map(|nid| removal(primary, Some(nid))));
    let multi_rail = peer.multi_rail;
    if !is_configured(peer) {
        plan.add.push(addition(primary, None, multi_rail));
    }
    let new = asked.nids.iter().filter(|nid| **nid != primary && (!is_configured(peer) || !has(nid)));
    plan.add.extend(new.map(|nid| addition(primary, Some(*nid), multi_rail)));
}

fn as_it_is(peer: &Peer) -> Vec<Change> {
    let others = peer.nis.iter().map(|ni| ni.nid).filter(|nid| *nid != peer.primary);
    additions(&std::iter::once(peer.primary).chain(others).collect::<Vec<_>>(), peer.multi_rail)
}

/// The changes that make a peer with these NIDs, the primary one first.
fn additions(nids: &[Nid], multi_rail: bool) -> Vec<Change> {
    let Some((primary, others)) = nids.split_first() else { return Vec::new() };
    let others = others.iter().map(|nid| addition(*primary, Some(*nid), multi_rail));
    std::iter::once(addition(*primary, None, multi_rail)).chain(others).collect()
}

fn addition(primary: Nid, nid: Option<Nid>, multi_rail: bool) -> Change {
    let add = AddPeerNi { primary, nid, multi_rail, lock_primary: false };
    Change::add(named(primary, nid), Request::AddPeerNi(add))
}

fn removal(primary: Nid, nid: Option<Nid>) -> Change {
    let del = DelPeerNi { primary, nid, force: false };
    Change::remove(named(primary, nid), Request::DelPeerNi(del))
}

fn named(primary: Nid, nid: Option<Nid>) -> String {
    nid.map_or_else(|| format!("peer {primary}"), |nid| format!("peer {primary} nid {nid}"))
}
