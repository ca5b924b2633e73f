//! What is wrong with the network now, and with the nodes at its ends; and until when it was.

use crate::trace::NodeId;
use lnet_core::Time;
use lnet_wire::Nid;
use lnet_wire::ping_info::Features;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A piece of network that interfaces hang on: a switch, say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rail(pub u16);

/// Something that may be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FaultPoint {
    /// All of a rail.
    Rail(Rail),
    /// What an interface receives.
    Into(Nid),
    /// What it sends.
    OutOf(Nid),
    /// From one interface to another.
    Pair(Nid, Nid),
    /// From one node to another.
    Nodes(NodeId, NodeId),
    /// A node that is down: its machine resets connections.
    Down(NodeId),
    /// A node that does nothing; its machine does.
    Frozen(NodeId),
    /// An interface that its node knows to be down, or does not have.
    Missing(Nid),
}

/// One end of a way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// `None` if no node has the NID.
    pub(crate) node: Option<NodeId>,
    pub(crate) nid: Nid,
}

/// Mostly empty.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// What is broken (`None`), or was until then.
    spots: BTreeMap<FaultPoint, Option<Time>>,
    /// How many are broken.
    broken: usize,
    rails: BTreeMap<Nid, Rail>,
    /// What crossing a rail costs.
    delays: BTreeMap<Rail, Duration>,
    hidden: BTreeMap<NodeId, Features>,
    doubled: BTreeSet<(NodeId, NodeId)>,
}

/// What is broken.
impl Faults {
    /// Whether messages get from one end to the other.
    pub(crate) fn is_open(&self, from: End, to: End) -> bool {
        self.broken == 0 || self.on_the_way(from, to).all(|spot| !self.is_broken(spot))
    }

    pub(crate) fn is_broken(&self, spot: FaultPoint) -> bool {
        self.broken > 0 && self.spots.get(&spot) == Some(&None)
    }

    /// Whether it was broken at any time since then.
    pub(crate) fn broken_since(&self, spot: FaultPoint, since: Time) -> bool {
        self.spots.get(&spot).is_some_and(|until| until.is_none_or(|until| until > since))
    }

    /// False if it was already.
    pub(crate) fn break_spot(&mut self, spot: FaultPoint) -> bool {
        let fresh = self.spots.insert(spot, None) != Some(None);
        self.broken += usize::from(fresh);
        fresh
    }

    /// False if nothing was wrong with it.
    pub(crate) fn mend(&mut self, spot: FaultPoint, now: Time) -> bool {
        let mended = self.is_broken(spot);
        if mended {
            self.spots.insert(spot, Some(now));
            self.broken -= 1;
        }
        mended
    }

    /// Ends what keeps messages from getting anywhere, but for nodes that are down or frozen and what these know
    /// themselves; and what makes it worse.
    pub(crate) fn heal(&mut self, now: Time) {
        let of_network = |spot: &FaultPoint| {
            use FaultPoint::{Into, Nodes, OutOf, Pair, Rail};
            matches!(spot, Rail(_) | Into(_) | OutOf(_) | Pair(..) | Nodes(..))
        };
        let spots: Vec<FaultPoint> = self.spots.keys().filter(|spot| of_network(spot)).copied().collect();
        spots.into_iter().for_each(|spot| {
            self.mend(spot, now);
        });
        self.delays.clear();
        self.doubled.clear();
    }

    /// Since when messages could pass in both directions without interruption, with the nodes and interfaces at both
    /// ends up; `None` if they cannot now.
    pub(crate) fn healthy_since(&self, a: End, b: End) -> Option<Time> {
        let paths = self.on_the_way(a, b).chain(self.on_the_way(b, a));
        let ends = [a, b].into_iter().flat_map(|end| {
            let of_node = |kind: fn(NodeId) -> FaultPoint| end.node.map(kind);
            [of_node(FaultPoint::Down), of_node(FaultPoint::Frozen), Some(FaultPoint::Missing(end.nid))]
        });
        paths.chain(ends.flatten()).try_fold(Time::START, |since, spot| match self.spots.get(&spot) {
            None => Some(since),
            Some(None) => None,
            Some(Some(until)) => Some(since.max(*until)),
        })
    }

    fn on_the_way(&self, from: End, to: End) -> impl Iterator<Item = FaultPoint> {
        let rails = [from, to].map(|end| self.rails.get(&end.nid).map(|rail| FaultPoint::Rail(*rail)));
        let nodes = from.node.zip(to.node).map(|(from, to)| FaultPoint::Nodes(from, to));
        let pair =
            [FaultPoint::OutOf(from.nid), FaultPoint::Into(to.nid), FaultPoint::Pair(from.nid, to.nid)];
        pair.into_iter().chain(nodes).chain(rails.into_iter().flatten())
    }

    /// The node neither reads nor writes any more.
    pub(crate) fn shut_off(&mut self, node: NodeId, now: Time) {
        self.mend(FaultPoint::Frozen(node), now);
        self.break_spot(FaultPoint::Down(node));
    }

    pub(crate) fn is_shut_off(&self, node: NodeId) -> bool {
        self.is_broken(FaultPoint::Down(node))
    }

    pub(crate) fn is_frozen(&self, node: NodeId) -> bool {
        self.is_broken(FaultPoint::Frozen(node))
    }
}

/// What is as it is.
impl Faults {
    /// Has an interface hang on this rail from now on.
    pub(crate) fn hang_on(&mut self, nid: Nid, rail: Rail) {
        self.rails.insert(nid, rail);
    }

    pub(crate) fn rail_of(&self, nid: Nid) -> Option<Rail> {
        self.rails.get(&nid).copied()
    }

    pub(crate) fn delay(&mut self, rail: Rail, delay: Duration) {
        self.delays.insert(rail, delay);
    }

    /// What the rails of a way cost.
    pub(crate) fn delay_between(&self, from: Nid, to: Nid) -> Duration {
        if self.delays.is_empty() {
            return Duration::ZERO;
        }
        let rails: BTreeSet<Rail> =
            [from, to].iter().filter_map(|nid| self.rails.get(nid).copied()).collect();
        rails.iter().filter_map(|rail| self.delays.get(rail)).sum()
    }

    /// What a node's answers to pings do not say.
    pub(crate) fn hidden_by(&self, node: NodeId) -> Features {
        self.hidden.get(&node).copied().unwrap_or_default()
    }

    pub(crate) fn hide(&mut self, node: NodeId, features: Features) {
        if features == Features::default() {
            self.hidden.remove(&node);
        } else {
            self.hidden.insert(node, features);
        }
    }

    /// Two connections instead of one from now on, in both directions.
    pub(crate) fn double(&mut self, a: NodeId, b: NodeId) {
        self.doubled.extend([(a, b), (b, a)]);
    }

    pub(crate) fn connections(&self, from: NodeId, to: NodeId) -> u8 {
        if !self.doubled.is_empty() && self.doubled.contains(&(from, to)) { 2 } else { 1 }
    }
}
