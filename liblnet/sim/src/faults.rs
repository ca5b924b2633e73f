//! Present faults of the network and of the nodes at its ends, and the times at which earlier ones ended.

use crate::trace::NodeId;
use lnet_core::Time;
use lnet_wire::Nid;
use lnet_wire::ping_info::Features;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A piece of the network that interfaces are attached to, such as a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rail(pub u16);

/// A place where a fault may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FaultPoint {
    /// All traffic on a rail.
    Rail(Rail),
    /// Everything that an interface receives.
    Into(Nid),
    /// Everything that an interface sends.
    OutOf(Nid),
    /// The direction from one interface to another.
    Pair(Nid, Nid),
    /// The direction from one node to another.
    Nodes(NodeId, NodeId),
    /// A node that is down: its machine resets connections.
    Down(NodeId),
    /// A node that does nothing, while its machine runs.
    Frozen(NodeId),
    /// The interface does not exist on its node, or the node knows that it is down.
    Missing(Nid),
}

/// One end of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathEnd {
    /// The node that has the NID; `None` if there is none.
    pub(crate) node: Option<NodeId>,
    pub(crate) nid: Nid,
}

/// All faults of a world, and the rails of its interfaces.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Places of faults: with `None` the fault is present, otherwise it ended at that time.
    spots: BTreeMap<FaultPoint, Option<Time>>,
    /// Number of present faults.
    broken: usize,
    rails: BTreeMap<Nid, Rail>,
    /// Delays of messages that cross a rail.
    delays: BTreeMap<Rail, Duration>,
    hidden: BTreeMap<NodeId, Features>,
    doubled: BTreeSet<(NodeId, NodeId)>,
}

/// Faults.
impl Faults {
    /// Whether messages get from one end to the other.
    pub(crate) fn is_open(&self, from: PathEnd, to: PathEnd) -> bool {
        self.broken == 0 || self.on_the_way(from, to).all(|spot| !self.is_broken(spot))
    }

    pub(crate) fn is_broken(&self, spot: FaultPoint) -> bool {
        self.broken > 0 && self.spots.get(&spot) == Some(&None)
    }

    /// Whether the place had a fault at any time since `since`.
    pub(crate) fn broken_since(&self, spot: FaultPoint, since: Time) -> bool {
        self.spots.get(&spot).is_some_and(|until| until.is_none_or(|until| until > since))
    }

    /// Adds a fault; false if it is present already.
    pub(crate) fn break_spot(&mut self, spot: FaultPoint) -> bool {
        let fresh = self.spots.insert(spot, None) != Some(None);
        self.broken += usize::from(fresh);
        fresh
    }

    /// Ends a fault; returns false if there is none.
    pub(crate) fn mend(&mut self, spot: FaultPoint, now: Time) -> bool {
        let mended = self.is_broken(spot);
        if mended {
            self.spots.insert(spot, Some(now));
            self.broken -= 1;
        }
        mended
    }

    /// Ends all faults, delays and doubled connections of the network; nodes stay down or frozen, and interfaces stay
    /// missing.
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

    /// Returns the time since which messages could pass in both directions without interruption, with the nodes and
    /// interfaces at both ends up; `None` if they cannot now.
    pub(crate) fn healthy_since(&self, a: PathEnd, b: PathEnd) -> Option<Time> {
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

    fn on_the_way(&self, from: PathEnd, to: PathEnd) -> impl Iterator<Item = FaultPoint> {
        let rails = [from, to].map(|end| self.rails.get(&end.nid).map(|rail| FaultPoint::Rail(*rail)));
        let nodes = from.node.zip(to.node).map(|(from, to)| FaultPoint::Nodes(from, to));
        let pair =
            [FaultPoint::OutOf(from.nid), FaultPoint::Into(to.nid), FaultPoint::Pair(from.nid, to.nid)];
        pair.into_iter().chain(nodes).chain(rails.into_iter().flatten())
    }

    /// Marks the node as down: it neither reads nor writes any more.
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

/// Properties of the network that are not faults.
impl Faults {
    /// Attaches an interface to this rail.
    pub(crate) fn attach(&mut self, nid: Nid, rail: Rail) {
        self.rails.insert(nid, rail);
    }

    pub(crate) fn rail_of(&self, nid: Nid) -> Option<Rail> {
        self.rails.get(&nid).copied()
    }

    pub(crate) fn delay(&mut self, rail: Rail, delay: Duration) {
        self.delays.insert(rail, delay);
    }

    /// Returns the delay of the rails on a path.
    pub(crate) fn delay_between(&self, from: Nid, to: Nid) -> Duration {
        if self.delays.is_empty() {
            return Duration::ZERO;
        }
        let rails: BTreeSet<Rail> =
            [from, to].iter().filter_map(|nid| self.rails.get(nid).copied()).collect();
        rails.iter().filter_map(|rail| self.delays.get(rail)).sum()
    }

    /// Returns the features that a node's responses to pings leave out.
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

    /// Makes two connections between the nodes instead of one, in both directions.
    pub(crate) fn double(&mut self, a: NodeId, b: NodeId) {
        self.doubled.extend([(a, b), (b, a)]);
    }

    pub(crate) fn connections(&self, from: NodeId, to: NodeId) -> u8 {
        if !self.doubled.is_empty() && self.doubled.contains(&(from, to)) { 2 } else { 1 }
    }
}
