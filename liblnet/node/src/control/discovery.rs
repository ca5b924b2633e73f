//! Requested discoveries.

use crate::node::Node;
use lnet_core::topology::PeerState;
use lnet_core::{Core, DiscoveryMode, Errno};
use lnet_dlc::request::{Discover, Discovered, PingResponse};
use lnet_replies::{differences, failure_of};
use lnet_wire::{Nid, Pid};
use std::time::{Duration, Instant};

/// The time beyond the discovery timeout in which the end of a discovery is noticed.
const GRACE: Duration = Duration::from_millis(500);

/// The number of times one discovery is started, if the peer is removed or replaced meanwhile.
const MAX_RESTARTS_OF_DISCOVERY: usize = 3;

/// Discovers a peer and waits for the end (DI-34, DI-35). A failed step is a reply; an error is a failure before the
/// first step.
pub(super) fn discover(node: &Node, ask: Discover) -> Result<Discovered, Errno> {
    let core = node.core();
    let nid = target_nid(core, ask.target.nid);
    if nid.is_loopback() {
        return Ok(loopback_reply(core));
    }
    let end = Instant::now() + core.admin().discovery_timeout() + GRACE;
    for _ in 0..MAX_RESTARTS_OF_DISCOVERY {
        core.admin().discover(nid, ask.force)?;
        if let Err(failure) = core.admin().wait_discovered(nid, end.saturating_duration_since(Instant::now()))
        {
            return Ok(Discovered::Failed(failure_of(failure)));
        }
        if let Some(found) = found(core, nid, ask.max_nids) {
            return Ok(found);
        }
    }
    Err(Errno::NotFound)
}

/// The reply about the peer with this NID; `None` if the discovery has taken the NID from it, or has ended with the removal of
/// the peer: then the peer that has the NID now, if any, is still to be discovered. A single message adds such a peer.
fn found(core: &Core, nid: Nid, max_nids: u32) -> Option<Discovered> {
    let status =
        core.admin().discovery_of(nid).filter(|status| status.state.contains(PeerState::DISCOVERED))?;
    let (peer, _) = core.admin().peer(nid)?;
    let differences = differences(&status);
    let nids = peer.nids.iter().copied().filter(|nid| !nid.is_loopback()).take(max_nids as usize);
    let response = PingResponse {
        primary: peer.primary,
        // The process ids of peers are not stored.
        pid: Pid::LUSTRE.0,
        multi_rail: peer.is_multi_rail(),
        nids: nids.collect(),
    };
    Some(Discovered::Found { response, differences })
}

/// The reply about this node with its loopback only, for which no peer is needed.
fn loopback_reply(core: &Core) -> Discovered {
    let multi_rail = core.settings().discovery == DiscoveryMode::On;
    let response = PingResponse { primary: Nid::LOOPBACK, pid: core.pid().0, multi_rail, nids: Vec::new() };
    Discovered::Found { response, differences: Vec::new() }
}

/// The NID to discover: instead of the loopback the first NID of this node on a net, as in the kernel.
fn target_nid(core: &Core, nid: Nid) -> Nid {
    match nid.is_loopback() {
        true => core.nets().nis().map(|ni| ni.nid()).find(|nid| !nid.is_loopback()).unwrap_or(nid),
        false => nid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_core::CoreConfig;
    use lnet_dlc::peer_state::words;
    use lnet_wire::{NetId, NetType};

    #[test]
    fn a_peer_that_only_a_message_has_created_is_not_found() {
        let core = Core::new(CoreConfig::new(Pid::LUSTRE, 1));
        let nid = Nid::new(NetId::new(NetType::TCP, 0), 1);
        // No path leads there, but the call adds the peer.
        let _ = core.data_path().select_path(None, nid);
        assert!(core.admin().peer(nid).is_some() && found(&core, nid, 1).is_none());
        core.admin().shutdown();
    }

    #[test]
    fn the_names_of_a_peers_state_match_its_bits() {
        let table = [
            (PeerState::MULTI_RAIL, "multi-rail"),
            (PeerState::NO_DISCOVERY, "no-discovery"),
            (PeerState::ROUTER_ENABLED, "router-enabled"),
            (PeerState::CONFIGURED, "configured"),
            (PeerState::DISCOVERED, "discovered"),
            (PeerState::REDISCOVER, "rediscover"),
            (PeerState::DISCOVERING, "discovering"),
            (PeerState::DATA_PRESENT, "data-present"),
            (PeerState::NIDS_UPTODATE, "nids-up-to-date"),
            (PeerState::PING_SENT, "ping-sent"),
            (PeerState::PUSH_SENT, "push-sent"),
            (PeerState::PING_FAILED, "ping-failed"),
            (PeerState::PUSH_FAILED, "push-failed"),
            (PeerState::FORCE_PING, "force-ping"),
            (PeerState::FORCE_PUSH, "force-push"),
            (PeerState::MARK_DELETION, "marked-for-deletion"),
            (PeerState::LOCK_PRIMARY, "lock-primary"),
            (PeerState::BAD_CONFIG, "bad-config"),
        ];
        for (state, word) in table {
            assert_eq!(words(state.0), [word]);
        }
    }
}
