//! The topology: local nets and NIs, peers and peer NIs, routes, selection rules.

mod applied_rules;
mod former_routes;
pub(crate) mod peer_config;
mod peer_table;
#[cfg(all(test, not(loom)))]
mod route_tests;
mod rules;
mod truncated_nids;

pub use crate::model::{
    ActiveRoute, Distance, FatalReporter, GatewayTerms, Net, NetUsage, Nets, Ni, NiConfig, NiTunables,
    Partner, Partners, Peer, PeerNi, PeerState, Preference, Route, RouteState, Routes,
};
pub(crate) use peer_table::PeerTable;
pub(crate) use rules::RuleChange;

use crate::environment::ConfigGuard;
use crate::environment::time::Time;
use crate::model::message::OutgoingMessage;
use crate::model::{AddressFamily, DiscoveryState, Onward, TurnClock};
use crate::router::Router;
use crate::select::{self, Paths};
use crate::sync::{Mutex, lock};
use applied_rules::AppliedRules;
use arc_swap::{ArcSwap, Guard};
use former_routes::FormerRoutes;
use lnet_wire::{Errno, NetId, Nid};
use rules::RuleSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use truncated_nids::TruncatedNids;

/// The nets, peers, routes and rules of a node. Values that are read for each message are replaced as a whole;
/// any thread may read.
pub(crate) struct Topology {
    tables: ArcSwap<PathTables>,
    /// Whether there is one interface beside the loopback, or none.
    single_rail: AtomicBool,
    peers: PeerTable,
    former_routes: Mutex<FormerRoutes>,
    router: ArcSwap<Router>,
    /// A copy of [`Router::forwards`], which every message for another node needs.
    forwards: AtomicBool,
    basis: AppliedRules<RuleSet>,
    /// Whether any rule counts messages.
    counts_messages: AtomicBool,
    turn_clock: TurnClock,
    truncated_nids: TruncatedNids,
}

/// The local nets and the routes, which a message reads together. They are replaced under the configuration lock.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathTables {
    nets: Arc<Nets>,
    routes: Arc<Routes>,
}

impl PathTables {
    #[inline(always)]
    pub(crate) fn paths(&self) -> Paths<'_> {
        Paths { nets: &self.nets, routes: &self.routes }
    }
}

/// The way of messages to a NID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WayTo {
    /// The NID is one of this node.
    ThisNode,
    /// The NID is on a net that this node is on or has a route to.
    Onward(Onward),
    /// This node is neither on the net of the NID nor has a route to it.
    Nowhere,
}

/// Methods about local nets.
impl Topology {
    /// A topology without nets and peers.
    pub(crate) fn new() -> Self {
        Self {
            tables: ArcSwap::default(),
            single_rail: AtomicBool::new(true),
            peers: PeerTable::new(),
            former_routes: Mutex::default(),
            router: ArcSwap::default(),
            forwards: AtomicBool::new(Router::default().forwards()),
            basis: AppliedRules::new(RuleSet::default()),
            counts_messages: AtomicBool::new(false),
            turn_clock: TurnClock::default(),
            truncated_nids: TruncatedNids::default(),
        }
    }

    /// The current nets.
    pub(crate) fn nets(&self) -> Arc<Nets> {
        Arc::clone(&self.tables.load().nets)
    }

    /// Calls `look` with the current nets, for a short access.
    #[inline(always)]
    pub(crate) fn with_nets<R>(&self, look: impl FnOnce(&Nets) -> R) -> R {
        look(&self.tables.load().nets)
    }

    /// The current nets and routes, for a short access.
    #[inline(always)]
    pub(crate) fn tables(&self) -> Guard<Arc<PathTables>> {
        self.tables.load()
    }

    /// Calls `look` with the current nets and routes, for a short access.
    #[inline(always)]
    pub(crate) fn with_paths<R>(&self, look: impl FnOnce(Paths<'_>) -> R) -> R {
        look(self.tables.load().paths())
    }

    /// Replaces the nets; returns the previous ones.
    pub(crate) fn replace_nets(&self, _: &ConfigGuard<'_>, nets: Arc<Nets>) -> Arc<Nets> {
        let rails = nets.nis().filter(|ni| !ni.nid().is_loopback()).count();
        self.single_rail.store(rails <= 1, Ordering::Relaxed);
        // A new interface may have another priority than those on its net, until the rules are renewed.
        nets.iter()
            .filter(|net| select::do_rules_distinguish_local(net))
            .for_each(|net| net.usage().set_nis_differ(true));
        let before = self.tables.load_full();
        self.tables.store(Arc::new(PathTables { nets, routes: Arc::clone(&before.routes) }));
        self.peers.revision().note_change();
        self.peers.forget_ready_paths();
        Arc::clone(&before.nets)
    }

    /// Replaces the nets by those before them, to whose interfaces the rules are applied.
    pub(crate) fn restore_nets(&self, guard: &ConfigGuard<'_>, before: Arc<Nets>) {
        self.replace_nets(guard, Arc::clone(&before));
        before.iter().for_each(|net| net.usage().set_nis_differ(select::do_rules_distinguish_local(net)));
    }

    /// The local NI with this NID.
    pub(crate) fn ni(&self, nid: Nid) -> Option<Arc<Ni>> {
        self.with_nets(|nets| nets.ni(nid).cloned())
    }

    /// Whether this node is on `net`.
    pub(crate) fn is_on_net(&self, net: NetId) -> bool {
        self.with_nets(|nets| nets.net(net).is_some())
    }

    /// Whether this node is on `net`, or has a route to it.
    pub(crate) fn leads_to(&self, net: NetId) -> bool {
        self.with_paths(|paths| paths.nets.net(net).is_some() || paths.routes.lead_to(net))
    }

    /// Whether this node is on the net of this NID, and reaches it from there, or has a route to the net.
    pub(crate) fn leads_to_nid(&self, nid: Nid) -> bool {
        self.with_paths(|paths| match paths.nets.net(nid.net()) {
            None => paths.routes.lead_to(nid.net()),
            Some(net) => {
                net.reaches(AddressFamily::of(nid))
                    || self.peer_ni(nid).is_some_and(|peer_ni| net.can_reach(&peer_ni))
            }
        })
    }

    /// Whether this node is on the net of this NID, and none of its interfaces there reaches the NID.
    pub(crate) fn lacks_family_of(&self, nid: Nid) -> bool {
        self.is_on_net(nid.net()) && !self.leads_to_nid(nid)
    }

    /// The way of messages to `nid` from this node.
    pub(crate) fn way_to(&self, nid: Nid) -> WayTo {
        self.with_paths(|paths| match paths.nets.net(nid.net()) {
            Some(net) if net.nis().iter().any(|ni| ni.nid() == nid) => WayTo::ThisNode,
            Some(_) => WayTo::Onward(Onward::ToDestination),
            None if paths.routes.lead_to(nid.net()) => WayTo::Onward(Onward::ToRouter),
            None => WayTo::Nowhere,
        })
    }

    /// The way of messages from another node to `nid`, and the peer NI with that NID, if it is known and they are to be sent on.
    #[inline(always)]
    pub(crate) fn way_onward(&self, nid: Nid) -> (WayTo, Option<Arc<PeerNi>>) {
        let revision = self.peers.revision().get();
        let Some(peer_ni) = self.peer_ni(nid) else { return (self.way_to(nid), None) };
        if let Some(onward) = peer_ni.routing().onward_at(revision) {
            return (WayTo::Onward(onward), Some(peer_ni));
        }
        match self.way_to(nid) {
            WayTo::Onward(onward) => {
                peer_ni.routing().note_onward_at(revision, onward);
                (WayTo::Onward(onward), Some(peer_ni))
            }
            way => (way, None),
        }
    }

    /// The distance of a NID (`LNetDist`): to a net that this node is not on, by the route with the fewest hops.
    /// [`Errno::HostUnreachable`] without a path.
    pub(crate) fn distance(&self, nid: Nid) -> Result<Distance, Errno> {
        self.with_paths(|Paths { nets, routes }| {
            nets.distance(nid).or_else(|errno| routes.distance(nid, nets).ok_or(errno))
        })
    }

    /// Whether `nid` is the NID of a local NI.
    pub(crate) fn is_own(&self, nid: Nid) -> bool {
        self.with_nets(|nets| nets.ni(nid).is_some())
    }

    /// The credits that a peer NI with this NID gets; `None` on a net that this node is not on.
    pub(crate) fn peer_credits(&self, nid: Nid) -> Option<u32> {
        let of_net = |net: &Net| net.nis().first().map(|ni| ni.tunables().peer_credits);
        self.with_nets(|nets| nets.net(nid.net()).and_then(of_net))
    }

    /// The initial credits of a peer NI. On a net that this node is not on the peer NI cannot be used; its credits are set
    /// when this node joins the net.
    pub(crate) fn first_peer_credits(&self, nid: Nid) -> u32 {
        self.peer_credits(nid).unwrap_or_else(|| NiTunables::default().peer_credits)
    }
}

/// Methods about peers.
impl Topology {
    /// All peers and peer NIs.
    pub(crate) const fn peers(&self) -> &PeerTable {
        &self.peers
    }

    /// The peer NI with this NID, if it is known.
    #[inline(always)]
    pub(crate) fn peer_ni(&self, nid: Nid) -> Option<Arc<PeerNi>> {
        self.peers.get(nid)
    }

    /// The peer with this NID, if it is known.
    pub(crate) fn peer(&self, nid: Nid) -> Option<Arc<Peer>> {
        self.peers.get(nid).map(|peer_ni| peer_ni.peer())
    }

    /// Whether both NIDs belong to one peer, as far as is known.
    pub(crate) fn is_same_peer(&self, one: Nid, other: Nid) -> bool {
        one == other || self.peer(one).is_some_and(|peer| peer.nids.contains(&other))
    }

    /// The current value of the peer with this discovery state; `None` once the peer is removed.
    pub(crate) fn peer_of(&self, state: &DiscoveryState) -> Option<Arc<Peer>> {
        let primary = state.with(|inner| inner.primary)?;
        self.peer(primary).filter(|peer| peer.discovery.id() == state.id())
    }

    /// All peers, in the order in which they were added. This node itself is one of them once a message has been sent
    /// to one of its NIDs; a recovery ping of one of its interfaces does not count (HE-53). Neither does a shortened NID.
    pub(crate) fn listed_peers(&self) -> Vec<Arc<Peer>> {
        let mut peers = self.peers.peers();
        let only_probed = |nid: &Nid| self.peer_ni(*nid).is_some_and(|peer_ni| peer_ni.is_only_probed());
        // All NIDs are checked: a peer with one that was used, or that is not local any more, must be listed.
        peers.retain(|peer| !peer.nids.iter().all(|nid| self.is_own(*nid) && only_probed(nid)));
        peers.retain(|peer| !self.is_truncated(peer));
        peers
    }

    /// Whether the peer is only the rest of a shortened NID from which messages came.
    fn is_truncated(&self, peer: &Peer) -> bool {
        let is_rest = |nid: Nid| self.peer_ni(nid).is_some_and(|peer_ni| peer_ni.is_truncated());
        self.has_truncated_nids() && is_rest(peer.primary) && self.peers.is_only_seen(peer.primary)
    }

    /// Whether a route, in whatever state, leads to a net of this peer, so that messages wait for it to come up.
    pub(crate) fn is_routed(&self, peer: &Peer) -> bool {
        let tables = self.tables.load();
        peer.nets.iter().any(|net| tables.routes.lead_to(net.id))
    }

    /// Whether a message has ever arrived from any NID of this peer.
    pub(crate) fn was_heard(&self, peer: &Peer) -> bool {
        peer.nids.iter().any(|nid| self.peer_ni(*nid).is_some_and(|peer_ni| peer_ni.was_heard()))
    }
}

/// Methods about paths.
impl Topology {
    /// Whether another path than this one may work, for a message to the reserved portal if `reserved`.
    pub(crate) fn has_other_path(&self, ni: &Ni, peer_ni: &PeerNi, reserved: bool) -> bool {
        self.with_nets(|nets| select::has_other_path(nets, peer_ni, ni, reserved))
    }

    /// Whether messages to the peer of this peer NI, which is multi-rail, could take a path that is responsive and not suspect.
    pub(crate) fn has_proven_path(&self, peer_ni: &PeerNi) -> bool {
        self.with_nets(|nets| select::has_proven_path(nets, &peer_ni.peer_now()))
    }

    /// Whether this message, which has a path, could take another one that may work.
    pub(crate) fn may_change_path(&self, message: &OutgoingMessage) -> bool {
        let path = message.ni.as_ref().zip(message.peer_ni.as_ref());
        message.is_returnable()
            || message.source().is_none()
                && path.is_some_and(|(ni, peer_ni)| {
                    self.has_other_path(ni, peer_ni, message.leaves_by_any())
                        || message.leaves_by_any() && self.may_leave_by_another(ni, peer_ni)
                        || match message.is_routed() {
                            true => self.may_leave_gateway(message.header.dest_nid, peer_ni),
                            false => !message.may_be_with_peer() && self.is_routed_too(peer_ni),
                        }
                })
    }

    /// Whether a message that may leave by any interface to a peer that is not multi-rail may try another one, whatever is known
    /// of the path from there: before the peer has responded, nothing else shows which of its paths work.
    fn may_leave_by_another(&self, ni: &Ni, peer_ni: &PeerNi) -> bool {
        !peer_ni.peer_now().is_multi_rail()
            && self.with_nets(|nets| select::may_try_other_path(nets, peer_ni, ni.nid(), true))
    }

    /// Whether this node reaches one of the NIDs `to` on a net that it is on, or a route to the net of one is up whose gateway responds on
    /// some path.
    pub(crate) fn can_reach(&self, to: &[Nid], terms: GatewayTerms) -> bool {
        let routed = |net: NetId| {
            self.with_paths(|Paths { nets, routes }| {
                let works = |route: &Arc<ActiveRoute>| select::is_route_up(route, nets, terms);
                nets.net(net).is_none() && routes.to(net).any(works)
            })
        };
        to.iter().any(|nid| self.is_on_net(nid.net()) && self.leads_to_nid(*nid) || routed(nid.net()))
    }

    /// Whether any route to `net` has a responsive path to its gateway, as far as is known.
    pub(crate) fn has_usable_route(&self, net: NetId, terms: GatewayTerms) -> bool {
        self.with_paths(|Paths { nets, routes }| {
            routes.to(net).any(|route| select::is_route_usable(route, nets, terms))
        })
    }

    /// Whether a message for `destination` without a given source could avoid the gateway `gateway`.
    fn may_leave_gateway(&self, destination: Nid, gateway: &PeerNi) -> bool {
        let (gateway, net) = (gateway.peer_now(), destination.net());
        let peer = self.peer(destination);
        self.with_paths(|paths| match &peer {
            Some(peer) => select::is_reached_without(paths, peer, net, &gateway),
            None => select::has_other_gateway(paths, net, &gateway),
        })
    }

    /// Whether `gateway` is the gateway of a route, and all messages over it could take another path.
    pub(crate) fn has_substitute_gateways(&self, gateway: &PeerNi) -> bool {
        let gateway = &**gateway.peer_now();
        let tables = self.tables.load();
        let its = tables.routes.active().iter().filter(|route| gateway.nids.contains(&route.route.gateway));
        let mut nets = its.map(|route| route.route.net).peekable();
        nets.peek().is_some()
            && self.with_paths(|paths| {
                nets.all(|net| {
                    select::has_other_gateway(paths, net, gateway) || self.all_leave(paths, net, gateway)
                })
            })
    }

    /// Whether there are peers on `net`, all of which can be reached without `gateway`, the only gateway to the net.
    fn all_leave(&self, paths: Paths<'_>, net: NetId, gateway: &Peer) -> bool {
        let all = self.peers.peers();
        let is_there =
            |peer: &&Arc<Peer>| peer.net(net).is_some() && peer.discovery.id() != gateway.discovery.id();
        let mut there = all.iter().filter(is_there).peekable();
        there.peek().is_some() && there.all(|peer| select::is_reached_without(paths, peer, net, gateway))
    }

    /// Whether a route leads to a net of this peer that this node is not on.
    fn is_routed_too(&self, peer_ni: &PeerNi) -> bool {
        self.has_routes() && self.with_paths(|paths| select::is_routed_too(paths, &peer_ni.peer_now()))
    }

    /// Whether the path of a message should be avoided, and another one exists.
    #[inline(always)]
    pub(crate) fn needs_other_path(&self, message: &OutgoingMessage) -> bool {
        let Some((ni, peer_ni)) = message.ni.as_ref().zip(message.peer_ni.as_ref()) else { return false };
        (select::is_avoided(ni, peer_ni) || peer_ni.is_late_from(ni)) && self.may_change_path(message)
    }

    /// Whether the path of a message is avoided for another reason than that the peer reports its NI as down: a ping that comes
    /// from there probes whether the NI works again, and its REPLY must not take another path.
    pub(crate) fn is_broken_path(&self, message: &OutgoingMessage) -> bool {
        let ends = message.ni.as_ref().zip(message.peer_ni.as_ref());
        ends.is_some_and(|(ni, peer_ni)| {
            ni.is_fatal() || peer_ni.unresponsive().has(ni.nid()) || peer_ni.is_late_from(ni)
        })
    }

    /// Whether no other path to the peer exists, in whatever state.
    pub(crate) fn is_only_path(&self, (local, peer): (Nid, Nid)) -> bool {
        self.peer_ni(peer)
            .is_none_or(|peer_ni| self.with_nets(|nets| select::is_only_path(nets, &peer_ni, local)))
    }

    /// Whether this node has at most one interface beside the loopback.
    pub(crate) fn is_single_rail(&self) -> bool {
        self.single_rail.load(Ordering::Relaxed)
    }

    /// Records the use of a path by a response: see [`select::answered`].
    #[inline(always)]
    pub(crate) fn note_answered(&self, ni: &Ni, peer_ni: &PeerNi) {
        // Of a single pair of interfaces only the first use changes anything.
        let is_used = || ni.last_use().get() > 0 && peer_ni.last_use().get() > 0;
        if self.is_single_rail() && peer_ni.is_alone() && is_used() {
            return;
        }
        if !select::answered_on_only_net(ni, peer_ni) {
            self.with_nets(|nets| select::answered(nets, ni, peer_ni));
        }
    }
}

/// Methods about routes and forwarding.
impl Topology {
    /// The current routes.
    pub(crate) fn routes(&self) -> Arc<Routes> {
        Arc::clone(&self.tables.load().routes)
    }

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
