//! Comparison of the shown state of peers and routes with the selection for the next message to each: both follow from the
//! same evidence.

use lnet_core::health::{PeerNiState, Reachability};
use lnet_core::select::{ChosenPath, Criterion, Loser};
use lnet_core::topology::Peer;
use lnet_core::{Core, Errno};
use lnet_wire::Nid;

/// Maximum number of peers that are compared at a time; others are compared the next time.
const MAX_PEERS: usize = 16;

/// Checks a node at any time: if a peer is shown as unreachable, selection finds nothing better than a path that is known
/// to be dead; if it is shown as reachable or degraded, selection finds a better one. A peer NI whose paths are all dead
/// is shown as failed, a route that is shown as down is used only where none is up, and the reason against a dead path is
/// that it is dead.
pub fn agrees_with_selection(core: &Core) -> Result<(), String> {
    let nets = core.nets();
    let peers = core.admin().peers();
    let first = core.counters().sent.messages() as usize % peers.len().max(1);
    let others = peers.iter().cycle().skip(first).take(peers.len().min(MAX_PEERS));
    for peer in others.filter(|peer| peer.nids.iter().all(|nid| nets.ni(*nid).is_none())) {
        let wrong = |what: String| Err(format!("the peer {}: {what}", peer.primary));
        let Some(shown) = core.admin().reachability(peer.primary) else { continue };
        // Messages to a peer that has been started again, and is not discovered yet, go to the NID that they name: one
        // that works is enough.
        let finds = |nid: &Nid| core.data_path().select_path(None, *nid);
        let works =
            |chosen: &Result<ChosenPath, Errno>| chosen.as_ref().is_ok_and(|chosen| !chosen.is_dead());
        let chosen = peer
            .nids
            .iter()
            .map(finds)
            .find(works)
            .unwrap_or_else(|| core.data_path().select_path(None, peer.primary));
        let works = works(&chosen);
        match shown.state {
            Reachability::Unreachable if works && !is_unproven(core, peer, chosen.as_ref().ok()) => {
                return wrong(format!("is shown as unreachable, and selection takes {}", name(&chosen)));
            }
            Reachability::Reachable | Reachability::Degraded if !works => {
                return wrong(format!("is shown as {}, and selection takes {}", shown.state, name(&chosen)));
            }
            _ => {}
        }
        if (shown.usable == 0) != (shown.state == Reachability::Unreachable)
            && shown.state != Reachability::Unknown
        {
            return wrong(format!("{shown:?}"));
        }
        peer_nis(core, peer).or_else(wrong)?;
        if let Ok(chosen) = &chosen {
            route(core, peer, chosen).or_else(wrong)?;
            reasons(core, peer, chosen).or_else(wrong)?;
        }
    }
    Ok(())
}

/// Whether the selected path leads through a gateway behind which nothing has responded yet, or nothing does any more.
fn is_unproven(core: &Core, peer: &Peer, chosen: Option<&ChosenPath>) -> bool {
    let Some(chosen) = chosen.filter(|chosen| chosen.route().is_some()) else { return false };
    let shares_a_net = peer.nids.iter().any(|nid| core.nets().net(nid.net()).is_some());
    core.admin().peer(chosen.destination()).is_some_and(|(_, nis)| {
        let destination = nis.iter().find(|its| its.nid() == chosen.destination());
        let was_never_there =
            |its: PeerNiState| matches!(its, PeerNiState::Created | PeerNiState::Activating);
        destination.is_some_and(|its| {
            its.is_unresponsive_behind_gateways() || shares_a_net && was_never_there(PeerNiState::of(its))
        })
    })
}

fn peer_nis(core: &Core, peer: &Peer) -> Result<(), String> {
    let nets = core.nets();
    let Some((_, nis)) = core.admin().peer(peer.primary) else { return Ok(()) };
    for its in nis {
        let Some(net) = nets.net(its.nid().net()) else { continue };
        let unresponsive = its.unresponsive_from();
        let is_dead = net.nis().iter().all(|ni| ni.is_fatal() || unresponsive.contains(&ni.nid()));
        let state = core.admin().peer_ni_state(&its);
        if is_dead && state == PeerNiState::Connected {
            return Err(format!("all paths to {} are dead, and it is shown as {state}", its.nid()));
        }
    }
    Ok(())
}

fn route(core: &Core, peer: &Peer, chosen: &ChosenPath) -> Result<(), String> {
    let Some(taken) = chosen.route().filter(|route| !core.admin().route_is_up(route)) else { return Ok(()) };
    let routes = core.admin().routes();
    let other = routes.active().iter().find(|other| {
        other.route.net == taken.route.net
            && !peer.nids.contains(&other.route.gateway)
            && core.admin().route_is_up(other)
    });
    match other {
        None => Ok(()),
        Some(other) => Err(format!(
            "selection takes the gateway {}, whose route is shown as down; that by {} is shown as up",
            taken.route.gateway, other.route.gateway
        )),
    }
}

fn reasons(core: &Core, peer: &Peer, chosen: &ChosenPath) -> Result<(), String> {
    use Criterion::{Fatal, ReportedDown, RouteState, Unproven, Unresponsive};
    if chosen.route().is_some() || !peer.is_multi_rail() {
        return Ok(());
    }
    let Ok(explained) = core.data_path().explain(None, peer.primary) else { return Ok(()) };
    let own = explained.chosen.ni.nid();
    let dead = core.admin().unresponsive_paths(peer.primary);
    let nis = core.nets();
    let is_dead = |(nid, _): &&Loser<Nid>| {
        let net = nis.net(nid.net()).map_or(&[][..], |net| net.nis());
        net.iter().all(|ni| dead.iter().any(|path| (path.local, path.peer) == (ni.nid(), *nid)))
    };
    let told = |why: Criterion| matches!(why, Fatal | ReportedDown | RouteState | Unproven | Unresponsive);
    match explained.peer_nis.iter().filter(is_dead).find(|(_, why)| !told(why.criterion)) {
        None => Ok(()),
        Some((nid, why)) => {
            Err(format!("{own} -> {nid} is dead, and what is told against it is {:?}", why.to_string()))
        }
    }
}

fn name(chosen: &Result<ChosenPath, Errno>) -> String {
    match chosen {
        Ok(chosen) => format!("{} -> {}", chosen.ni.nid(), chosen.next_hop()),
        Err(errno) => format!("none ({})", errno.text()),
    }
}
