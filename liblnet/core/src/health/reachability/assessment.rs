//! The state of a peer, from the facts about its paths.

use crate::environment::Environment;
use crate::model::{
    ActiveRoute, GatewayTerms, Nets, Ni, Outage, Peer, PeerNi, Reachability, RouteState, can_reach,
};
use crate::select::{self, Paths};
use crate::topology::Topology;
use std::fmt::Write as _;
use std::sync::Arc;

/// The facts about one path that the state depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PathFacts {
    /// Whether anything has ever arrived over the path.
    proven: bool,
    /// Whether the path is unresponsive: messages are lost, or connections are refused.
    unresponsive: bool,
    /// Whether the local NI or the peer NI is down, or the gateway does not forward.
    down: bool,
    /// Whether the local NI is down.
    own_down: bool,
    /// Whether the path leads over a gateway; its state is then logged with that of the route.
    routed: bool,
}

impl PathFacts {
    const fn usable(self) -> bool {
        !self.unresponsive && !self.down
    }
}

/// The facts about all paths to a peer, summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Assessment {
    pub(super) state: Reachability,
    pub(super) paths: usize,
    pub(super) usable: usize,
    /// The number of usable paths that do not lead over gateways.
    pub(super) direct: usize,
    /// The number of paths with an interface that is down.
    down: usize,
    /// The number of paths with a local NI that is down.
    own_down: usize,
    /// Whether all paths lead over gateways.
    pub(super) routed: bool,
}

impl Assessment {
    /// Sums up the paths. `heard`: whether anything has ever arrived from the peer. `peer_nis`: the paths to each of its
    /// interfaces.
    ///
    /// A path on which nothing ever arrived does not count while there is another to the same interface: where each
    /// pair of interfaces has a subnet of its own, the cross paths cannot work.
    pub(super) fn of(heard: bool, peer_nis: impl IntoIterator<Item = Vec<PathFacts>>) -> Self {
        let (mut its, mut unresponsive) = (Self { routed: true, ..Self::default() }, false);
        for paths in peer_nis {
            let exists = |path: &PathFacts| path.usable() || path.proven;
            let some_exist = paths.iter().any(exists);
            for path in paths.iter().filter(|path| !some_exist || exists(path)) {
                its.paths += 1;
                its.usable += usize::from(path.usable());
                its.direct += usize::from(path.usable() && !path.routed);
                its.down += usize::from(path.down);
                its.own_down += usize::from(path.own_down);
                its.routed &= path.routed;
                unresponsive |= path.unresponsive || path.routed && path.down;
            }
        }
        its.state = match (its.usable, heard) {
            (0, true) => Reachability::Unreachable,
            (0, false) if unresponsive => Reachability::Unreachable,
            // Some paths have not been tried.
            (_, false) => Reachability::Unknown,
            (usable, true) if usable == its.paths => Reachability::Reachable,
            (_, true) => Reachability::Degraded,
        };
        its
    }

    /// Whether paths are not usable because a local NI is down: all of those that are not, or some where others are left. The other
    /// end of a cable fails with it.
    pub(super) const fn is_of_own_nis(&self) -> bool {
        self.own_down > 0 && (self.usable > 0 || self.own_down == self.paths)
    }

    /// The cause of the state, and what it has cost, for the log.
    pub(super) fn cause(&self, outage: Outage) -> String {
        let Outage { resent, failed, last } = outage;
        let mut text = self.state_of_paths();
        if let Some(errno) = last.filter(|_| self.state == Reachability::Unreachable) {
            _ = write!(text, ": {}", errno.text());
        }
        let counted = [(resent, "resent"), (failed, "failed")].into_iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = counted.map(|(count, what)| format!("{count} {what}")).collect();
        if !words.is_empty() {
            _ = write!(text, "; messages: {}", words.join(", "));
        }
        text
    }

    /// The paths and their states in words.
    fn state_of_paths(&self) -> String {
        let Self { paths, usable, down, .. } = *self;
        match self.state {
            Reachability::Unknown => "nothing has arrived from it".to_owned(),
            Reachability::Unreachable if paths == 0 => {
                "no net or no address family in common, and no route".to_owned()
            }
            Reachability::Unreachable if self.routed => "no gateway gets through to it".to_owned(),
            Reachability::Unreachable if down == 0 => "no path responds".to_owned(),
            Reachability::Unreachable if down == paths => "every path has an interface down".to_owned(),
            _ if down == 0 => format!("{usable} of {paths} paths usable"),
            _ => format!("{usable} of {paths} paths usable, {down} with an interface down"),
        }
    }
}

/// The facts about the paths to a peer.
pub(super) fn assess(env: &Environment, topology: &Topology, peer: &Peer) -> Assessment {
    let terms = GatewayTerms::of(&env.settings());
    topology.with_paths(|paths| {
        let nis: Vec<_> = peer.nets.iter().flat_map(|net| net.nis()).collect();
        let heard = nis.iter().any(|peer_ni| peer_ni.was_heard());
        let multi_rail = peer.is_multi_rail();
        let is_local = |peer_ni: &PeerNi| paths.nets.net(peer_ni.nid().net()).is_some();
        // Beside a common net a gateway is a path only once a response has come by one.
        let is_common = nis.iter().any(|peer_ni| is_local(peer_ni));
        let facts = |peer_ni: &Arc<PeerNi>| match is_local(peer_ni) {
            true => facts(paths.nets, peer_ni, multi_rail),
            false if is_common && !peer_ni.was_heard() => Vec::new(),
            false => facts_of_routes(paths, peer, peer_ni, terms),
        };
        Assessment::of(heard, nis.iter().map(facts))
    })
}

/// The paths by gateways to a peer NI: one for each route to its net that is not by the peer itself.
pub(super) fn facts_of_routes(
    paths: Paths<'_>,
    peer: &Peer,
    peer_ni: &PeerNi,
    terms: GatewayTerms,
) -> Vec<PathFacts> {
    let routes = select::routes_to(paths, peer, peer_ni.nid().net());
    let fact = |route: &Arc<ActiveRoute>| PathFacts {
        proven: true,
        unresponsive: peer_ni.is_unresponsive_behind_gateways()
            || !select::is_route_usable(route, paths.nets, terms),
        down: select::route_state(route, paths.nets, terms) == RouteState::Excluded,
        own_down: false,
        routed: true,
    };
    routes.map(fact).collect()
}

/// The paths to a peer NI that messages to it may take.
pub(super) fn facts(nets: &Nets, peer_ni: &PeerNi, multi_rail: bool) -> Vec<PathFacts> {
    let nis = nets.net(peer_ni.nid().net()).map_or(&[][..], |net| net.nis());
    // The same as in selection: a peer that is not multi-rail is bound to the interface it responded to, unless rules name
    // others.
    let sticky = peer_ni.sticky().filter(|_| !multi_rail && !peer_ni.criteria().has_partners());
    let sticks_to =
        sticky.and_then(|nid| nis.iter().find(|ni| ni.nid() == nid && peer_ni.was_ever_heard_by(ni)));
    let may_be_taken = |ni: &&Arc<Ni>| sticks_to.is_none_or(|its| its.nid() == ni.nid());
    nis.iter()
        .filter(may_be_taken)
        .filter(|ni| can_reach(ni, peer_ni))
        .map(|ni| PathFacts {
            proven: peer_ni.was_ever_heard_by(ni),
            unresponsive: peer_ni.unresponsive().has(ni.nid()),
            down: ni.is_fatal() || peer_ni.is_reported_down(),
            own_down: ni.is_fatal(),
            routed: false,
        })
        .collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use Reachability::{Degraded, Reachable, Unknown, Unreachable};
    use lnet_wire::Errno;

    const GOOD: PathFacts =
        PathFacts { proven: true, unresponsive: false, down: false, own_down: false, routed: false };
    const UNTRIED: PathFacts = PathFacts { proven: false, ..GOOD };
    const DEAD: PathFacts = PathFacts { unresponsive: true, ..GOOD };
    const DOWN: PathFacts = PathFacts { down: true, ..GOOD };
    const BY_GATEWAY: PathFacts = PathFacts { routed: true, ..GOOD };
    const BY_DEAD: PathFacts = PathFacts { unresponsive: true, ..BY_GATEWAY };
    const BY_EXCLUDED: PathFacts = PathFacts { down: true, ..BY_GATEWAY };
    const BOTH: PathFacts = PathFacts { down: true, ..DEAD };
    /// A path that does not exist.
    const NONE: PathFacts = PathFacts { proven: false, ..DEAD };

    #[test]
    fn a_peer_is_as_reachable_as_its_paths_are_usable() {
        // Whether anything was ever received from the peer, the paths to each of its interfaces, its state and the cause.
        let table: [(bool, &[&[PathFacts]], Reachability, &str); 26] = [
            (false, &[], Unknown, "nothing has arrived from it"),
            (false, &[&[UNTRIED], &[UNTRIED]], Unknown, "nothing has arrived from it"),
            (false, &[&[UNTRIED, NONE]], Unknown, "nothing has arrived from it"),
            (false, &[&[DOWN]], Unknown, "nothing has arrived from it"),
            (false, &[&[NONE]], Unreachable, "no path responds"),
            (false, &[&[NONE], &[DOWN]], Unreachable, "0 of 2 paths usable, 1 with an interface down"),
            (true, &[&[GOOD]], Reachable, "1 of 1 paths usable"),
            (true, &[&[GOOD, UNTRIED]], Reachable, "2 of 2 paths usable"),
            (true, &[&[GOOD, DEAD]], Degraded, "1 of 2 paths usable"),
            (true, &[&[DOWN, GOOD, DEAD]], Degraded, "1 of 3 paths usable, 1 with an interface down"),
            (true, &[&[DEAD, DEAD]], Unreachable, "no path responds"),
            (true, &[&[DOWN, BOTH]], Unreachable, "every path has an interface down"),
            (true, &[&[BOTH], &[DEAD]], Unreachable, "0 of 2 paths usable, 1 with an interface down"),
            (true, &[], Unreachable, "no net or no address family in common, and no route"),
            // Behind gateways.
            (false, &[&[BY_GATEWAY]], Unknown, "nothing has arrived from it"),
            (false, &[&[BY_DEAD, BY_DEAD]], Unreachable, "no gateway gets through to it"),
            (false, &[&[BY_EXCLUDED]], Unreachable, "no gateway gets through to it"),
            (true, &[&[BY_GATEWAY, BY_GATEWAY]], Reachable, "2 of 2 paths usable"),
            (true, &[&[BY_GATEWAY, BY_DEAD]], Degraded, "1 of 2 paths usable"),
            (true, &[&[BY_DEAD], &[BY_DEAD]], Unreachable, "no gateway gets through to it"),
            (true, &[&[DEAD], &[BY_DEAD]], Unreachable, "no path responds"),
            (true, &[&[DEAD], &[BY_GATEWAY]], Degraded, "1 of 2 paths usable"),
            // Each pair of interfaces has its own subnet.
            (true, &[&[GOOD, NONE], &[NONE, GOOD]], Reachable, "2 of 2 paths usable"),
            (true, &[&[GOOD, NONE], &[NONE, DEAD]], Degraded, "1 of 2 paths usable"),
            (true, &[&[DEAD, NONE], &[NONE, DEAD]], Unreachable, "no path responds"),
            // One interface of the peer never existed.
            (true, &[&[GOOD, GOOD], &[NONE, NONE]], Degraded, "2 of 4 paths usable"),
        ];
        for (heard, paths, state, cause) in table {
            let assessment = Assessment::of(heard, paths.iter().map(|paths| paths.to_vec()));
            let row = format!("heard: {heard}, {paths:?}");
            assert_eq!((assessment.state, assessment.state_of_paths().as_str()), (state, cause), "{row}");
        }
    }

    #[test]
    fn a_line_says_what_an_outage_has_cost_and_why_no_path_responds() {
        let outage = |resent, failed, last| Outage { resent, failed, last };
        let table: [(&[PathFacts], Outage, &str); 4] = [
            (&[DEAD], outage(0, 0, None), "no path responds"),
            (
                &[DEAD],
                outage(0, 1, Some(Errno::ConnectionRefused)),
                "no path responds: Connection refused; messages: 1 failed",
            ),
            (
                &[DEAD, GOOD],
                outage(3, 0, Some(Errno::ConnectionReset)),
                "1 of 2 paths usable; messages: 3 resent",
            ),
            (
                &[GOOD],
                outage(3, 1, Some(Errno::TimedOut)),
                "1 of 1 paths usable; messages: 3 resent, 1 failed",
            ),
        ];
        for (paths, outage, cause) in table {
            assert_eq!(Assessment::of(true, [paths.to_vec()]).cause(outage), cause);
        }
    }

    #[test]
    fn what_follows_from_local_interfaces_is_told_from_what_does_not() {
        const OWN_DOWN: PathFacts = PathFacts { own_down: true, ..DOWN };
        for (paths, expected) in [
            (&[GOOD, OWN_DOWN][..], true),
            (&[OWN_DOWN, OWN_DOWN], true),
            (&[GOOD, OWN_DOWN, DEAD], true),
            (&[OWN_DOWN, DEAD], false),
            (&[GOOD, DOWN], false),
            (&[GOOD], false),
        ] {
            assert_eq!(Assessment::of(true, [paths.to_vec()]).is_of_own_nis(), expected, "{paths:?}");
        }
    }
}
