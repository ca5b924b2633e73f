//! Invariants of nodes and of the world.

use crate::trace::NodeId;
use crate::world::World;
use lnet_core::health::NiKind;
use lnet_core::topology::PeerState;
use lnet_core::{AddressFamily, Core, DiscoveryMode, MAX_HEALTH};
use lnet_wire::Nid;
use std::collections::HashMap;

/// Checks a node at any time: each NID is in one peer, that peer is found by each of its NIDs, and its primary NID
/// is among them.
pub fn node(core: &Core) -> Result<(), String> {
    let mut owner: HashMap<Nid, Nid> = HashMap::new();
    for peer in core.admin().peers() {
        if !peer.nids.contains(&peer.primary) {
            return Err(format!("the peer {} does not have its primary NID", peer.primary));
        }
        for nid in &peer.nids {
            if let Some(other) = owner.insert(*nid, peer.primary) {
                return Err(format!("{nid} is in the peers {other} and {}", peer.primary));
            }
            match core.admin().peer(*nid) {
                Some((found, nis)) if found.primary == peer.primary && nis.len() == peer.nids.len() => {}
                Some((found, nis)) => {
                    return Err(format!(
                        "{nid} of the peer {} with {} NIDs leads to {} with {} peer NIs",
                        peer.primary,
                        peer.nids.len(),
                        found.primary,
                        nis.len()
                    ));
                }
                None => return Err(format!("{nid} of the peer {} is not known", peer.primary)),
            }
        }
    }
    let nets = core.nets();
    for peer_ni in core.peer_nis() {
        // A recovery ping of a local NI goes to this node itself.
        if !owner.contains_key(&peer_ni.nid()) && nets.ni(peer_ni.nid()).is_none() {
            return Err(format!("the peer NI {} is in no peer", peer_ni.nid()));
        }
    }
    Ok(())
}

/// Checks a world without pending events: no request waits for a discovery that does not run, no discovery is
/// running, and every operation whose response cannot be lost has ended.
pub fn quiet(world: &World) -> Result<(), String> {
    if !world.is_idle() {
        return Err("something is still under way".to_owned());
    }
    for id in world.node_ids() {
        let Some(core) = world.core(id) else { continue };
        node(&core).map_err(|what| format!("{id}: {what}"))?;
        for peer in core.admin().peers() {
            let Some(standing) = core.admin().discovery_of(peer.primary) else { continue };
            if standing.parked > 0 {
                return Err(format!("{id} keeps {} requests to {} waiting", standing.parked, peer.primary));
            }
            for (bit, name) in BUSY {
                if standing.state.contains(bit) {
                    return Err(format!("{id} is quiet, and {} is marked {name}", peer.primary));
                }
            }
        }
    }
    Ok(())
}

const BUSY: [(PeerState, &str); 4] = [
    (PeerState::PING_SENT, "PING_SENT"),
    (PeerState::PUSH_SENT, "PUSH_SENT"),
    (PeerState::DATA_PRESENT, "DATA_PRESENT"),
    (PeerState::DISCOVERING, "DISCOVERING"),
];

/// Checks that every interface and peer NI of a node is healthy and usable, and that none is in recovery.
pub fn healthy(core: &Core) -> Result<(), String> {
    for ni in core.nets().nis().filter(|ni| !ni.nid().is_loopback()) {
        let health = ni.health();
        if health < MAX_HEALTH || ni.is_fatal() {
            return Err(format!("{} has health {health}, fatal: {}", ni.nid(), ni.is_fatal()));
        }
    }
    for peer_ni in core.peer_nis() {
        let (nid, health) = (peer_ni.nid(), peer_ni.health());
        if health < MAX_HEALTH {
            return Err(format!("its peer NI {nid} has health {health}"));
        }
        if !peer_ni.unresponsive_from().is_empty() {
            return Err(format!("its peer NI {nid} has an unresponsive path"));
        }
    }
    for side in [NiKind::Local, NiKind::Peer] {
        let unhealthy = core.admin().recovery_queue(side);
        if !unhealthy.is_empty() {
            return Err(format!("{unhealthy:?} are still in recovery"));
        }
    }
    Ok(())
}

/// Checks that a node on which nothing is under way has all its credits, router buffers and messages.
pub fn nothing_kept(core: &Core) -> Result<(), String> {
    for ni in core.nets().nis().filter(|ni| !ni.nid().is_loopback()) {
        let (credits, all) = (ni.credits().0, ni.tunables().credits as i32);
        if credits != all {
            return Err(format!("{} has {credits} credits of {all}", ni.nid()));
        }
    }
    for peer_ni in core.peer_nis() {
        let (nid, credits) = (peer_ni.nid(), peer_ni.credits().0);
        if credits != peer_ni.max_credits() as i32 || peer_ni.queued_bytes() > 0 {
            return Err(format!("its peer NI {nid} has {credits} credits"));
        }
    }
    let mut pools = (0..).map_while(|cpt| core.admin().router_buffers(cpt)).flatten();
    if let Some(pool) = pools.find(|pool| pool.credits != pool.buffers as i32) {
        return Err(format!("it lacks router buffers: {pool:?}"));
    }
    match core.message_counts().msgs_alloc {
        0 => Ok(()),
        alive => Err(format!("{alive} messages are still allocated")),
    }
}

/// Checks two nodes that have exchanged messages in both directions since the last change: each knows the current
/// state of the other, and has the acknowledgement of its push. Nodes that do not discover are known by single NIDs.
///
/// If one of the nodes has the other as a configured peer, they are not checked: the configuration stays, whatever they
/// push.
pub fn agreement(world: &World, a: NodeId, b: NodeId) -> Result<(), String> {
    if is_by_order(world, a, b) {
        return Ok(());
    }
    let agreed = one_sided(world, a, b).and_then(|()| one_sided(world, b, a));
    agreed.map_err(|what| format!("{what}\n{}{}", beliefs(world, a, b), beliefs(world, b, a)))
}

/// Lists all that `a` knows about `b`, for reports.
fn beliefs(world: &World, a: NodeId, b: NodeId) -> String {
    let Some(core) = world.core(a) else { return String::new() };
    let mut text = String::new();
    for nid in world.nids(b) {
        let Some((peer, standing)) = core.admin().peer(nid).zip(core.admin().discovery_of(nid)) else {
            continue;
        };
        text += &format!("{a} of {nid}: {} in {standing:?}\n", list(&peer.0.nids));
    }
    text
}

/// Whether one of the two has the other as a configured peer.
pub(crate) fn is_by_order(world: &World, a: NodeId, b: NodeId) -> bool {
    was_told_of(world, a, b) || was_told_of(world, b, a)
}

/// Whether `a` has `b` as a configured peer.
fn was_told_of(world: &World, a: NodeId, b: NodeId) -> bool {
    let Some(core) = world.core(a) else { return false };
    let is_configured = |nid: &Nid| core.admin().peer(*nid).is_some_and(|(peer, _)| peer.is_configured());
    world.nids(b).iter().any(is_configured)
}

/// Checks the knowledge that `a` has of the state of `b`.
fn one_sided(world: &World, a: NodeId, b: NodeId) -> Result<(), String> {
    let (Some(core), Some(mine), Some(its)) = (world.core(a), world.spec(a), world.spec(b)) else {
        return Ok(());
    };
    let is_known = |nid: &Nid| !mine.lacks_large_nids() || AddressFamily::of(*nid) == AddressFamily::Short;
    let nids: Vec<Nid> = world.nids(b).into_iter().filter(is_known).collect();
    let both_discover = mine.discovery == DiscoveryMode::On && its.discovery != DiscoveryMode::Off;
    let mut talked = false;
    for nid in &nids {
        let Some((peer, _)) = core.admin().peer(*nid) else {
            if both_discover {
                return Err(format!("{a} does not know {nid} of {b}"));
            }
            continue;
        };
        // A peer that is not up to date is pinged before it is used.
        if !both_discover && !core.admin().discovery_of(*nid).is_some_and(|standing| standing.up_to_date) {
            continue;
        }
        talked = true;
        let mut believed = peer.nids.clone();
        believed.sort_unstable();
        let mut real = if both_discover { nids.clone() } else { vec![*nid] };
        real.sort_unstable();
        if believed != real {
            return Err(format!("{a} knows {b} by {}, it has {}", list(&believed), list(&real)));
        }
        let primary = if both_discover { nids.first().copied() } else { Some(*nid) };
        if Some(peer.primary) != primary {
            return Err(format!("{a} takes {} for the primary NID of {b}", peer.primary));
        }
        if peer.is_multi_rail() != both_discover {
            return Err(format!("{a} takes {b} for multi-rail: {}", peer.is_multi_rail()));
        }
    }
    if !talked || !both_discover {
        return Ok(());
    }
    let Some(standing) = nids.first().and_then(|nid| core.admin().discovery_of(*nid)) else {
        return Err(format!("{a} says nothing of its discovery of {b}"));
    };
    let told = standing.node_sequence == core.admin().node_sequence();
    let heard = world.core(b).is_some_and(|other| other.admin().node_sequence() == standing.peer_sequence);
    if standing.up_to_date && told && heard {
        return Ok(());
    }
    Err(format!("{a} is not done with {b}: told {told}, heard {heard}, {standing:?}"))
}

/// Formats NIDs for reports.
pub fn list(nids: &[Nid]) -> String {
    let names: Vec<String> = nids.iter().map(ToString::to_string).collect();
    if names.is_empty() { "no NID".to_owned() } else { names.join(" ") }
}
