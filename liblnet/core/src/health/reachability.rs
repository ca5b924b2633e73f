//! The reachability of peers: a state of each peer, derived from its paths and logged when it changes.
//!
//! The state is a pure function of the paths ([`Assessment::of`]). Changes of its inputs mark the peer
//! ([`Health::reachability_may_change`]); the monitor thread computes and stores the new state, and logs it when it has lasted
//! (`crate::model::settling`). That a peer is unreachable which has never responded is logged at once. Peers that change in
//! the same way share a line. Lines about peers that an operator has configured, as peers or as gateways, are not suppressed
//! because of others, which may be created by any sender.

use super::{Health, PeerNiState};
use crate::environment::Environment;
use crate::environment::time::Time;
use crate::model::{ActiveRoute, GatewayTerms, LastingChange, Nets, Ni, Peer, PeerNi, RouteState};
use crate::model::{Outage, Reachability};
use crate::select::{self, Paths};
use crate::sync::lock;
use crate::topology::Topology;
use lnet_log::LogClass;
use lnet_wire::{NetId, Nid};
use std::fmt::Write as _;
use std::sync::Arc;

/// The number of peers that one line names.
const MAX_NAMED: usize = 8;

/// The reachability of one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerReachability {
    /// The state.
    pub state: Reachability,
    /// The time of the last change of the state.
    pub since: Time,
    /// The number of paths to the peer.
    pub paths: usize,
    /// The number of usable paths.
    pub usable: usize,
}

/// The facts about one path that the state depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PathFacts {
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
struct Assessment {
    state: Reachability,
    paths: usize,
    usable: usize,
    /// The number of usable paths that do not lead over gateways.
    direct: usize,
    /// The number of paths with an interface that is down.
    down: usize,
    /// The number of paths with a local NI that is down.
    own_down: usize,
    /// Whether all paths lead over gateways.
    routed: bool,
}

impl Assessment {
    /// Sums up the paths. `heard`: whether anything has ever arrived from the peer. `peer_nis`: the paths to each of its
    /// interfaces.
    ///
    /// A path on which nothing ever arrived does not count while there is another to the same interface: where each
    /// pair of interfaces has a subnet of its own, the cross paths cannot work.
    fn of(heard: bool, peer_nis: impl IntoIterator<Item = Vec<PathFacts>>) -> Self {
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
    const fn is_of_own_nis(&self) -> bool {
        self.own_down > 0 && (self.usable > 0 || self.own_down == self.paths)
    }

    /// The cause of the state, and what it has cost, for the log.
    fn cause(&self, outage: Outage) -> String {
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
            Reachability::Unreachable if paths == 0 => "no net in common, and no route".to_owned(),
            Reachability::Unreachable if self.routed => "no gateway gets through to it".to_owned(),
            Reachability::Unreachable if down == 0 => "no path responds".to_owned(),
            Reachability::Unreachable if down == paths => "every path has an interface down".to_owned(),
            _ if down == 0 => format!("{usable} of {paths} paths usable"),
            _ => format!("{usable} of {paths} paths usable, {down} with an interface down"),
        }
    }
}

/// The reaction of the node to a state, for the log.
const fn consequence(state: Reachability) -> &'static str {
    match state {
        Reachability::Unknown | Reachability::Reachable => "",
        Reachability::Degraded => "; using those, trying the others",
        Reachability::Unreachable => "; messages to it wait and fail until a path responds",
    }
}

impl Health {
    /// Marks the peer with this NID: its reachability may have changed.
    pub(crate) fn reachability_may_change(&self, nid: Nid) {
        lock(&self.reachability).insert(nid);
        self.wake();
    }

    /// Marks all peers: the local interfaces have changed.
    pub(crate) fn reachability_may_change_for_all(&self, topology: &Topology) {
        let peers = topology.peers().peers();
        lock(&self.reachability).extend(peers.iter().map(|peer| peer.primary));
        self.wake();
    }

    /// Marks the peers on this net: the routes to it have changed.
    pub(crate) fn reachability_may_change_on(&self, topology: &Topology, net: NetId) {
        let peers = topology.peers().peers();
        let on_net = peers.iter().filter(|peer| peer.net(net).is_some());
        lock(&self.reachability).extend(on_net.map(|peer| peer.primary));
        self.wake();
    }

    /// Stores the reachability of peers that have been marked, and logs what has lasted; returns when the next line is due.
    pub(crate) fn update_reachability(
        &self,
        env: &Environment,
        topology: &Topology,
        now: Time,
    ) -> Option<Time> {
        let pending = std::mem::take(&mut *lock(&self.reachability));
        let peers = pending.into_iter().filter_map(|nid| topology.peer(nid));
        let waiting: Vec<Unlogged> = peers.filter_map(|peer| note_one(env, topology, peer, now)).collect();
        // Peers that have changed a little later in the same way go into the same line.
        let has_come = |change| waiting.iter().any(|its| its.change == change && its.due <= now);
        let (due, later): (Vec<_>, Vec<_>) = waiting.iter().partition(|its| has_come(its.change));
        let mut lines: Vec<Line> = Vec::new();
        for line in due.into_iter().filter_map(|its| take_line(topology, its, now)) {
            match lines.iter_mut().find(|other| other.may_include(&line)) {
                Some(other) => other.others.push(line.primary),
                None => lines.push(line),
            }
        }
        lines.iter().for_each(|line| line.write(env));
        lock(&self.reachability).extend(later.iter().map(|its| its.peer.primary));
        later.iter().map(|its| its.due).min()
    }
}

/// A peer whose state has no line yet.
struct Unlogged {
    peer: Arc<Peer>,
    assessment: Assessment,
    /// The state that was logged last, and the state now.
    change: (Reachability, Reachability),
    due: Time,
}

/// A line about a peer, and about others that have changed in the same way.
struct Line {
    primary: Nid,
    is_configured: bool,
    lasting: LastingChange<Reachability>,
    is_said_elsewhere: bool,
    /// The time for which the peer was unreachable, in words.
    after: String,
    cause: String,
    others: Vec<Nid>,
}

impl Line {
    /// Whether the other line may be a part of this one. That a peer never responded is said of each.
    fn may_include(&self, other: &Self) -> bool {
        let change = |line: &Self| (line.lasting.before, line.lasting.now, line.is_said_elsewhere);
        change(self) == change(other) && self.lasting.before != Reachability::Unknown
    }

    /// The other peers, in words.
    fn also(&self) -> String {
        let named: Vec<String> = self.others.iter().take(MAX_NAMED).map(Nid::to_string).collect();
        let more = if self.others.len() > MAX_NAMED { ", ..." } else { "" };
        match (self.others.len(), named.join(", ")) {
            (0, _) => String::new(),
            (1, name) => format!("; the same of peer {name}"),
            (number, names) => format!("; the same of {number} peers: {names}{more}"),
        }
    }

    fn write(&self, env: &Environment) {
        let Self { primary, is_configured, is_said_elsewhere, after, cause, .. } = self;
        let LastingChange { before, now: state, repeats } = self.lasting;
        let (consequence, also) = (consequence(state), self.also());
        env.log_lasting(
            *is_configured,
            log_class(before, state, *is_said_elsewhere),
            primary,
            format_args!("peer {primary}: {before} -> {state}{after} ({cause}{repeats}){consequence}{also}"),
        );
    }
}

impl PeerReachability {
    /// The current reachability of a peer.
    pub(crate) fn of(peer: &Peer, env: &Environment, topology: &Topology) -> Self {
        let Assessment { state, paths, usable, .. } = assess(env, topology, peer);
        let remembered = *lock(&peer.discovery.reachability);
        // A change that has just happened has not been stored yet.
        let since = match remembered.settling.state() == state {
            true => remembered.settling.since(),
            false => env.now(),
        };
        Self { state, since, paths, usable }
    }
}

/// Stores the state of a peer. A change goes into the history at once; returns the peer if a line about it waits.
fn note_one(env: &Environment, topology: &Topology, peer: Arc<Peer>, now: Time) -> Option<Unlogged> {
    let assessment = assess(env, topology, &peer);
    let remembered = &mut *lock(&peer.discovery.reachability);
    let state = assessment.state;
    let is_own = topology.is_own(peer.primary);
    if let Some(before) = remembered.settling.note(state, now).filter(|_| !is_own) {
        let elsewhere = is_said_elsewhere(topology, &peer, &assessment, before, remembered.is_said_elsewhere);
        let (primary, cause) = (peer.primary, assessment.cause(remembered.outage));
        let consequence = consequence(state);
        env.keep(
            peer.is_configured() || topology.is_gateway(&peer),
            log_class(before, state, elsewhere),
            primary,
            format_args!("peer {primary}: {before} -> {state} ({cause}){consequence}"),
        );
    }
    let change = (remembered.settling.logged(), state);
    let due = remembered.settling.due().filter(|_| !is_own)?;
    let due = if change == (Reachability::Unknown, Reachability::Unreachable) { now } else { due };
    Some(Unlogged { peer: Arc::clone(&peer), assessment, change, due })
}

/// Ends the wait of the line about a peer; returns it, if there is a change to log.
fn take_line(topology: &Topology, unlogged: &Unlogged, now: Time) -> Option<Line> {
    let Unlogged { peer, assessment, .. } = unlogged;
    let remembered = &mut *lock(&peer.discovery.reachability);
    let lasting = remembered.settling.take(now)?;
    let LastingChange { before, now: state, .. } = lasting;
    let was_so_for = remembered.logged_at.replace(now).map(|at| now.since(at));
    let after = match was_so_for.filter(|_| before == Reachability::Unreachable) {
        Some(time) => format!(" after {} s", time.as_secs()),
        None => String::new(),
    };
    let cause = assessment.cause(std::mem::take(&mut remembered.outage));
    let said_before = remembered.is_said_elsewhere;
    let is_said_elsewhere = is_said_elsewhere(topology, peer, assessment, before, said_before);
    remembered.is_said_elsewhere = is_said_elsewhere && state != Reachability::Reachable;
    Some(Line {
        primary: peer.primary,
        is_configured: peer.is_configured() || topology.is_gateway(peer),
        lasting,
        is_said_elsewhere,
        after,
        cause,
        others: Vec::new(),
    })
}

/// Whether lines about routes or about NIs of this node tell of a change. `was`: whether they did of the state that was logged
/// last; then they do of its end.
fn is_said_elsewhere(
    topology: &Topology,
    peer: &Peer,
    assessment: &Assessment,
    before: Reachability,
    was: bool,
) -> bool {
    let state = assessment.state;
    // The lines about its routes tell of a gateway that does not answer, or does again, also if others lead to it.
    let is_lost = assessment.direct == 0 || [before, state].contains(&Reachability::Unreachable);
    let is_of_routes = topology.is_gateway(peer) && is_lost;
    is_of_routes
        || assessment.routed && !is_unresponsive_behind_gateways(peer)
        // The lines about the NIs of this node tell of what follows from their failures, or from their return.
        || assessment.is_of_own_nis()
        || was && state == Reachability::Reachable
}

/// Whether any interface of the peer behind gateways does not respond although a gateway works.
fn is_unresponsive_behind_gateways(peer: &Peer) -> bool {
    peer.nets.iter().flat_map(|net| net.nis()).any(|peer_ni| peer_ni.is_unresponsive_behind_gateways())
}

fn assess(env: &Environment, topology: &Topology, peer: &Peer) -> Assessment {
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

/// The state of a peer NI (dbg-030): it has failed, too, if no path to it can be used.
pub(crate) fn peer_ni_state(env: &Environment, topology: &Topology, peer_ni: &PeerNi) -> PeerNiState {
    let peer = peer_ni.peer_now();
    let terms = GatewayTerms::of(&env.settings());
    let facts = topology.with_paths(|paths| match paths.nets.net(peer_ni.nid().net()) {
        Some(_) => facts(paths.nets, peer_ni, peer.is_multi_rail()),
        None => facts_of_routes(paths, &peer, peer_ni, terms),
    });
    let has_paths = !facts.is_empty();
    match Assessment::of(peer_ni.was_heard(), [facts]).state {
        Reachability::Unreachable if has_paths => PeerNiState::Failed,
        _ => PeerNiState::of(peer_ni),
    }
}

/// The paths by gateways to a peer NI: one for each route to its net that is not by the peer itself.
fn facts_of_routes(paths: Paths<'_>, peer: &Peer, peer_ni: &PeerNi, terms: GatewayTerms) -> Vec<PathFacts> {
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

/// The class of the line about a change. A recovery is a warning at most. The first response of a peer is not logged as a
/// recovery, nor is a change that follows from the state of gateways or of local NIs, which is logged once for the routes or the NIs.
const fn log_class(before: Reachability, now: Reachability, is_said_elsewhere: bool) -> LogClass {
    match (before, now) {
        _ if is_said_elsewhere => LogClass::PeerReachable,
        (_, Reachability::Unreachable) => LogClass::PeerUnreachable,
        (Reachability::Unknown, Reachability::Reachable) | (_, Reachability::Unknown) => {
            LogClass::PeerReachable
        }
        _ => LogClass::PeerDegraded,
    }
}

/// The paths to a peer NI that messages to it may take.
fn facts(nets: &Nets, peer_ni: &PeerNi, multi_rail: bool) -> Vec<PathFacts> {
    let nis = nets.net(peer_ni.nid().net()).map_or(&[][..], |net| net.nis());
    // The same as in selection: a peer that is not multi-rail is bound to the interface it responded to, unless rules name
    // others.
    let sticky = peer_ni.sticky().filter(|_| !multi_rail && !peer_ni.criteria().has_partners());
    let sticks_to =
        sticky.and_then(|nid| nis.iter().find(|ni| ni.nid() == nid && peer_ni.was_ever_heard_by(ni)));
    let may_be_taken = |ni: &&Arc<Ni>| sticks_to.is_none_or(|its| its.nid() == ni.nid());
    nis.iter()
        .filter(may_be_taken)
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
            (true, &[], Unreachable, "no net in common, and no route"),
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

    #[test]
    fn only_a_loss_is_an_error() {
        for before in [Unknown, Reachable, Degraded, Unreachable] {
            for now in [Unknown, Reachable, Degraded, Unreachable] {
                let is_error = |by_routes| log_class(before, now, by_routes) == LogClass::PeerUnreachable;
                assert_eq!(is_error(false), now == Unreachable, "{before} -> {now}");
                assert!(!is_error(true), "{before} -> {now}");
            }
        }
    }
}
