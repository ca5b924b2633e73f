//! Who is where: this node's nets and NIs, other nodes' peers and peer NIs, routes, selection rules.

pub(crate) mod peer_config;
mod peer_table;
mod route;
mod rules;

pub use crate::model::{
    Distance, Net, NetUsage, Nets, Ni, NiConfig, NiTunables, Peer, PeerNi, PeerState, Preferred,
};
pub(crate) use peer_table::PeerTable;
pub use route::{Route, Routes};

use crate::environment::ConfigGuard;
use crate::model::DiscoveryState;
use crate::model::message::Message;
use crate::policy::Rules;
use crate::router::Router;
use crate::select;
use arc_swap::ArcSwap;
use lnet_wire::{Errno, NetId, Nid};
use std::sync::Arc;

/// The nets, peers, routes and rules of one node. What is read for a message is a value that is replaced as a
/// whole; any thread may read.
pub(crate) struct Topology {
    nets: ArcSwap<Nets>,
    peers: PeerTable,
    routes: ArcSwap<Routes>,
    router: ArcSwap<Router>,
    rules: ArcSwap<Rules>,
}

/// This node's nets.
impl Topology {
    /// Of a node that is on no net and knows no peer.
    pub(crate) fn new() -> Self {
        Self {
            nets: ArcSwap::from_pointee(Nets::default()),
            peers: PeerTable::new(),
            routes: ArcSwap::default(),
            router: ArcSwap::default(),
            rules: ArcSwap::default(),
        }
    }

    /// The nets that the node is on now.
    pub(crate) fn nets(&self) -> Arc<Nets> {
        self.nets.load_full()
    }

    /// The same for a short look.
    pub(crate) fn with_nets<R>(&self, look: impl FnOnce(&Nets) -> R) -> R {
        look(&self.nets.load())
    }

    /// Puts the node on other nets; those that it was on.
    pub(crate) fn replace_nets(&self, _: &ConfigGuard<'_>, nets: Arc<Nets>) -> Arc<Nets> {
        self.nets.swap(nets)
    }

    /// This node's interface with this NID.
    pub(crate) fn ni(&self, nid: Nid) -> Option<Arc<Ni>> {
        self.with_nets(|nets| nets.ni(nid).cloned())
    }

    /// Whether one of this node's interfaces has this NID.
    pub(crate) fn is_own(&self, nid: Nid) -> bool {
        self.with_nets(|nets| nets.ni(nid).is_some())
    }

    /// The credits of a peer NI with this NID; `None` on a net that this node is not on.
    pub(crate) fn peer_credits(&self, nid: Nid) -> Option<u32> {
        let of_net = |net: &Net| net.nis().first().map(|ni| ni.tunables().peer_credits);
        self.with_nets(|nets| nets.net(nid.net()).and_then(of_net))
    }

    /// The credits that a peer NI is made with. On a net that this node is not on none can be used; they are set
    /// when it joins the net.
    pub(crate) fn first_peer_credits(&self, nid: Nid) -> u32 {
        self.peer_credits(nid).unwrap_or_else(|| NiTunables::default().peer_credits)
    }
}

/// Peers.
impl Topology {
    /// All peers and peer NIs.
    pub(crate) const fn peers(&self) -> &PeerTable {
        &self.peers
    }

    /// The peer NI with this NID, if it is known.
    pub(crate) fn peer_ni(&self, nid: Nid) -> Option<Arc<PeerNi>> {
        self.peers.get(nid)
    }

    /// The peer with this NID, if it is known.
    pub(crate) fn peer(&self, nid: Nid) -> Option<Arc<Peer>> {
        self.peers.get(nid).map(|peer_ni| peer_ni.peer())
    }

    /// The peer that this state is kept for, as it is now; `None` once it is removed.
    pub(crate) fn peer_of(&self, state: &DiscoveryState) -> Option<Arc<Peer>> {
        let primary = state.with(|inner| inner.primary)?;
        self.peer(primary).filter(|peer| peer.discovery.id() == state.id())
    }

    /// All peers, in the order in which they came; this node itself if anybody has sent to it by one of its NIDs, but not
    /// for having pinged an interface of its own (HE-53).
    pub(crate) fn listed_peers(&self) -> Vec<Arc<Peer>> {
        let mut peers = self.peers.peers();
        let only_probed = |nid: &Nid| self.peer_ni(*nid).is_some_and(|peer_ni| peer_ni.is_only_probed());
        // Of all its NIDs: one that was used, or that is not this node's any more, must be found in a peer.
        peers.retain(|peer| !peer.nids.iter().all(|nid| self.is_own(*nid) && only_probed(nid)));
        peers
    }

    /// Whether anything has ever arrived from this peer, by whichever of its NIDs.
    pub(crate) fn was_heard(&self, peer: &Peer) -> bool {
        peer.nids.iter().any(|nid| self.peer_ni(*nid).is_some_and(|peer_ni| peer_ni.was_heard()))
    }
}

/// Paths.
impl Topology {
    /// Whether another path than this one may work, for a message to the reserved portal if `reserved`.
    pub(crate) fn has_other_path(&self, ni: &Ni, peer_ni: &PeerNi, reserved: bool) -> bool {
        self.with_nets(|nets| select::has_other_path(nets, peer_ni, ni, reserved))
    }

    /// Whether this message, which has a path, could take another that may work.
    pub(crate) fn may_change_path(&self, message: &Message) -> bool {
        let path = message.ni.as_ref().zip(message.peer_ni.as_ref());
        message.source.is_none()
            && path.is_some_and(|(ni, peer_ni)| self.has_other_path(ni, peer_ni, message.leaves_by_any()))
    }

    /// Whether a message has a path that is not to be used while there is another, and there is one.
    pub(crate) fn needs_other_path(&self, message: &Message) -> bool {
        let Some((ni, peer_ni)) = message.ni.as_ref().zip(message.peer_ni.as_ref()) else { return false };
        select::is_avoided(ni, peer_ni) && self.may_change_path(message)
    }

    /// Whether there is no other path to the peer than the one between these two, working or not.
    pub(crate) fn is_only_path(&self, (local, peer): (Nid, Nid)) -> bool {
        self.peer_ni(peer)
            .is_none_or(|peer_ni| self.with_nets(|nets| select::is_only_path(nets, &peer_ni, local)))
    }

    /// Whether this node has one interface beside the loopback.
    pub(crate) fn is_single_rail(&self) -> bool {
        self.with_nets(|nets| nets.nis().filter(|ni| !ni.nid().is_loopback()).count() <= 1)
    }
}

/// Routes and forwarding.
impl Topology {
    /// The routes as they are.
    pub(crate) fn routes(&self) -> Arc<Routes> {
        self.routes.load_full()
    }

    /// Whether any route leads to `net`.
    pub(crate) fn has_route_to(&self, net: NetId) -> bool {
        self.routes.load().lead_to(net)
    }

    /// Whether routes go by this peer.
    pub(crate) fn is_gateway(&self, peer: &Peer) -> bool {
        self.routes.load().iter().any(|route| peer.nids.contains(&route.gateway))
    }

    /// Adds a route (RT-1): see [`Routes::with`]. Whether it is the first.
    pub(crate) fn add_route(&self, _: &ConfigGuard<'_>, route: Route) -> Result<bool, Errno> {
        let before = self.routes.load();
        let routes = self.with_nets(|nets| before.with(route, nets))?;
        let is_first = before.iter().next().is_none();
        self.routes.store(Arc::new(routes));
        Ok(is_first)
    }

    /// Deletes routes: see [`Routes::without`].
    pub(crate) fn delete_routes(
        &self,
        _: &ConfigGuard<'_>,
        net: Option<NetId>,
        is_gateway: impl Fn(Nid) -> bool,
    ) -> Result<(), Errno> {
        let routes = self.routes.load().without(net, is_gateway)?;
        self.routes.store(Arc::new(routes));
        Ok(())
    }

    /// Whether and how the node forwards.
    pub(crate) fn router(&self) -> Router {
        **self.router.load()
    }

    /// Changes that.
    pub(crate) fn change_router(&self, _: &ConfigGuard<'_>, change: impl FnOnce(Router) -> Router) {
        self.router.store(Arc::new(change(self.router())));
    }
}
