//! The routes, their gateways, and the forwarding of messages.

use super::{PathTables, Topology};
use crate::environment::ConfigGuard;
use crate::environment::time::Time;
use crate::model::{ActiveRoute, Peer, PeerNi, Route, Routes};
use crate::router::Router;
use crate::sync::lock;
use lnet_wire::{Errno, NetId, Nid};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Topology {
    /// Whether any route leads to `net`.
    pub(crate) fn has_route_to(&self, net: NetId) -> bool {
        self.tables.load().routes.lead_to(net)
    }

    /// Whether a route to `net` has the peer with the NID `gateway`, by whatever NID, as its gateway.
    pub(crate) fn has_route_over(&self, net: NetId, gateway: Nid) -> bool {
        self.peer(gateway).is_some_and(|peer| {
            self.tables.load().routes.to(net).any(|active| peer.nids.contains(&active.route.gateway))
        })
    }

    /// Whether messages of the node with the NID `source` may come through the node with the NID `gateway`: a route to a net of
    /// the source names that gateway, or has until recently; or this node is on the net of `source`, and the gateway is that of
    /// any route.
    pub(crate) fn may_come_through(&self, source: Nid, gateway: Nid, now: Time) -> bool {
        let Some(gateway) = self.peer(gateway) else { return false };
        let tables = self.tables.load();
        let routes = &tables.routes;
        let names_it = |net| routes.to(net).any(|active| gateway.nids.contains(&active.route.gateway));
        let net = source.net();
        if names_it(net)
            || routes.have_gateway(&gateway.nids) && self.with_nets(|nets| nets.net(net).is_some())
        {
            return true;
        }
        let former = lock(&self.former_routes);
        let named_it = |net| names_it(net) || former.named(net, &gateway.nids, now);
        let peer = self.peer(source);
        named_it(net) || peer.is_some_and(|peer| peer.nets.iter().any(|net| named_it(net.id)))
    }

    /// Whether a route to `net` has the peer of this peer NI as its gateway.
    #[inline]
    pub(crate) fn is_gateway_to(&self, net: NetId, peer_ni: &PeerNi) -> bool {
        let revision = self.peers.revision().get();
        if peer_ni.routing().led_to_at(revision, net) {
            return true;
        }
        let its = &peer_ni.peer_now().nids;
        let leads = self.tables.load().routes.to(net).any(|active| its.contains(&active.route.gateway));
        if leads {
            peer_ni.routing().note_leads_to_at(revision, net);
        }
        leads
    }

    /// Whether a route has the peer of this peer NI as its gateway.
    #[inline]
    pub(crate) fn is_of_gateway(&self, peer_ni: &PeerNi) -> bool {
        let revision = self.peers.revision().get();
        peer_ni.routing().was_gateway_at(revision).unwrap_or_else(|| {
            let is_gateway = self.is_gateway(&peer_ni.peer_now());
            peer_ni.routing().note_gateway_at(revision, is_gateway);
            is_gateway
        })
    }

    /// Whether a route has this peer as its gateway.
    pub(crate) fn is_gateway(&self, peer: &Peer) -> bool {
        self.tables.load().routes.have_gateway(&peer.nids)
    }

    /// Adds a route (RT-1): see [`Routes::with`].
    pub(crate) fn add_route(
        &self,
        config: &ConfigGuard<'_>,
        route: Route,
        gateway: impl FnOnce() -> Arc<PeerNi>,
    ) -> Result<(), Errno> {
        let routes = self.routes().with(route, &self.nets(), gateway)?;
        self.replace_routes(config, routes);
        Ok(())
    }

    /// Whether there are any routes.
    pub(crate) fn has_routes(&self) -> bool {
        !self.tables.load().routes.active().is_empty()
    }

    /// Renews the peer NIs of gateways, see [`Routes::refreshed`]. Called under the configuration lock.
    pub(crate) fn refresh_gateways(&self, config: &ConfigGuard<'_>, peer_ni: impl Fn(Nid) -> Arc<PeerNi>) {
        if let Some(routes) = self.routes().refreshed(peer_ni) {
            self.replace_routes(config, routes);
        }
    }

    /// Deletes the routes that have become duplicates of others, and returns them, see [`Routes::without_duplicates`].
    pub(crate) fn delete_duplicate_routes(&self, config: &ConfigGuard<'_>) -> Vec<Route> {
        let Some((routes, gone)) = self.routes().without_duplicates() else { return Vec::new() };
        self.replace_routes(config, routes);
        gone
    }

    /// Deletes routes: see [`Routes::without`].
    pub(crate) fn delete_routes(
        &self,
        config: &ConfigGuard<'_>,
        net: Option<NetId>,
        is_gateway: impl Fn(Nid) -> bool,
        now: Time,
    ) -> Result<(), Errno> {
        let before = self.routes();
        let routes = before.without(net, is_gateway)?;
        let name = |active: &Arc<ActiveRoute>| (active.route.net, active.route.gateway);
        let stays = |deleted: &(NetId, Nid)| routes.active().iter().any(|active| name(active) == *deleted);
        lock(&self.former_routes).note(before.active().iter().map(name).filter(|one| !stays(one)), now);
        self.replace_routes(config, routes);
        Ok(())
    }

    fn replace_routes(&self, config: &ConfigGuard<'_>, routes: Routes) {
        self.tables.store(Arc::new(PathTables { nets: self.nets(), routes: Arc::new(routes) }));
        self.peers.revision().note_change();
        self.renew_rules(config);
    }

    /// The forwarding configuration.
    pub(crate) fn router(&self) -> Router {
        **self.router.load()
    }

    /// Changes the forwarding configuration.
    pub(crate) fn change_router(&self, _: &ConfigGuard<'_>, change: impl FnOnce(Router) -> Router) {
        let router = change(self.router());
        self.router.store(Arc::new(router));
        self.forwards.store(router.forwards(), Ordering::Release);
    }

    /// Whether the node forwards messages that arrive.
    pub(crate) fn forwards(&self) -> bool {
        self.forwards.load(Ordering::Acquire)
    }
}
