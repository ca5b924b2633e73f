//! Discoveries.

use lnet_core::discovery::{self, DiscoveryStatus, Failure, Step};
use lnet_dlc::request::{Difference, DiscoveryFailure, DiscoveryStep, PeerDiscovery};

/// The discovery status of a peer for a reply.
pub(crate) fn of_peer(status: &DiscoveryStatus) -> PeerDiscovery {
    PeerDiscovery {
        up_to_date: status.up_to_date,
        node_sequence: status.node_sequence,
        peer_sequence: status.peer_sequence,
        parked: status.parked as u64,
        failure: status.failure.map(failure_of),
        differences: differences(status),
    }
}

/// The failure of a step of a discovery.
pub const fn failure_of(Failure { step, nid, errno, limit }: Failure) -> DiscoveryFailure {
    let step = match step {
        Step::Ping => DiscoveryStep::Ping,
        Step::Push => DiscoveryStep::Push,
    };
    DiscoveryFailure { step, nid, errno, limit }
}

/// Reports of a peer that were not taken over.
pub fn differences(status: &DiscoveryStatus) -> Vec<Difference> {
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
    use lnet_core::Errno;
    use lnet_core::topology::PeerState;
    use lnet_wire::Nid;

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
