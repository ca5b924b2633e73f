//! Requested discoveries, and the discovery status of peers.

use crate::node::Node;
use lnet_core::discovery::{self, DiscoveryStatus, Failure, Step};
use lnet_core::topology::PeerState;
use lnet_core::{Core, DiscoveryMode, Errno};
use lnet_dlc::request::{
    Difference, Discover, Discovered, DiscoveryFailure, DiscoveryStep, PeerDiscovery, PingResponse,
};
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

/// The discovery status of a peer for a reply.
pub(super) fn of_peer(status: &DiscoveryStatus) -> PeerDiscovery {
    PeerDiscovery {
        up_to_date: status.up_to_date,
        node_sequence: status.node_sequence,
        peer_sequence: status.peer_sequence,
        parked: status.parked as u64,
        failure: status.failure.map(failure_of),
        differences: differences(status),
    }
}

const fn failure_of(Failure { step, nid, errno, limit }: Failure) -> DiscoveryFailure {
    let step = match step {
        Step::Ping => DiscoveryStep::Ping,
        Step::Push => DiscoveryStep::Push,
    };
    DiscoveryFailure { step, nid, errno, limit }
}

fn differences(status: &DiscoveryStatus) -> Vec<Difference> {
    use discovery::Difference as Core;
    let to_reply = |difference: &Core| match *difference {
        Core::Extra(nid) => Difference::Extra(nid),
        Core::Missing(nid) => Difference::Missing(nid),
        Core::MultiRail(multi_rail) => Difference::MultiRail(multi_rail),
        Core::Primary(nid) => Difference::Primary(nid),
        Core::Claimed(nid) => Difference::Claimed(nid),
    };
    status.differences.iter().map(to_reply).collect()
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

    /// dyn-060: fails if a kind of difference that the core finds is missing in the reply.
    #[test]
    fn the_discovery_status_has_the_last_failure_and_all_differences() {
        let nid: Nid = "10.0.0.1@tcp".parse().unwrap();
        let status = DiscoveryStatus {
            state: PeerState::REDISCOVER,
            up_to_date: false,
            node_sequence: 2,
            peer_sequence: 3,
            parked: 4,
            failure: Some(Failure { step: Step::Push, nid, errno: Errno::TimedOut, limit: Some(10) }),
            differences: vec![
                discovery::Difference::Extra(nid),
                discovery::Difference::Missing(nid),
                discovery::Difference::MultiRail(true),
                discovery::Difference::Primary(nid),
                discovery::Difference::Claimed(nid),
            ],
        };
        let expected = PeerDiscovery {
            up_to_date: false,
            node_sequence: 2,
            peer_sequence: 3,
            parked: 4,
            failure: Some(DiscoveryFailure {
                step: DiscoveryStep::Push,
                nid,
                errno: Errno::TimedOut,
                limit: Some(10),
            }),
            differences: vec![
                Difference::Extra(nid),
                Difference::Missing(nid),
                Difference::MultiRail(true),
                Difference::Primary(nid),
                Difference::Claimed(nid),
            ],
        };
        assert_eq!(of_peer(&status), expected);
    }
}
