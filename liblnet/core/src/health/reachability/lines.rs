//! Lines about changes of the reachability of peers, and entries in the history.

use super::assessment::{Assessment, assess};
use crate::environment::Environment;
use crate::environment::time::Time;
use crate::model::{LastingChange, Peer, Reachability};
use crate::sync::lock;
use crate::topology::Topology;
use lnet_log::LogClass;
use lnet_wire::Nid;
use std::sync::Arc;

/// The number of peers that one line names.
const MAX_NAMED: usize = 8;

/// A peer whose state has no line yet.
pub(super) struct Unlogged {
    pub(super) peer: Arc<Peer>,
    assessment: Assessment,
    /// The state that was logged last, and the state now.
    pub(super) change: (Reachability, Reachability),
    pub(super) due: Time,
}

/// A line about a peer, and about others that have changed in the same way.
pub(super) struct Line {
    pub(super) primary: Nid,
    is_configured: bool,
    lasting: LastingChange<Reachability>,
    is_said_elsewhere: bool,
    /// The time for which the peer was unreachable, in words.
    after: String,
    cause: String,
    pub(super) others: Vec<Nid>,
}

impl Line {
    /// Whether the other line may be a part of this one. That a peer never responded is said of each.
    pub(super) fn may_include(&self, other: &Self) -> bool {
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

    /// Logs the line.
    pub(super) fn write(&self, env: &Environment) {
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

/// Stores the state of a peer. A change goes into the history at once; returns the peer if a line about it waits.
pub(super) fn note_one(
    env: &Environment,
    topology: &Topology,
    peer: Arc<Peer>,
    now: Time,
) -> Option<Unlogged> {
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
pub(super) fn take_line(topology: &Topology, unlogged: &Unlogged, now: Time) -> Option<Line> {
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

/// The reaction of the node to a state, for the log.
const fn consequence(state: Reachability) -> &'static str {
    match state {
        Reachability::Unknown | Reachability::Reachable => "",
        Reachability::Degraded => "; using those, trying the others",
        Reachability::Unreachable => "; messages to it wait and fail until a path responds",
    }
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use Reachability::{Degraded, Reachable, Unknown, Unreachable};

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
