//! Routes: the gateways to nets that this node is not on.

use super::last_use::{LastUse, LatestUse};
use super::{Distance, Nets, Peer, PeerNet, PeerNi, PeerState, Settling};
use crate::sync::{Mutex, MutexGuard, lock};
use lnet_settings::{MAX_HEALTH, Settings};
use lnet_wire::{Errno, NetId, Nid};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A route to a net that this node is not on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The net that the route leads to.
    pub net: NetId,
    /// The NID of the gateway, as configured.
    pub gateway: Nid,
    /// The number of hops; `None`: not given (RT-2).
    pub hops: Option<u32>,
    /// The priority; lower is preferred.
    pub priority: u32,
    /// The gateway's health sensitivity, by which failures lower its health.
    pub health_sensitivity: u32,
}

/// The conditions under which the gateway of a route may be used (RT-20).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GatewayTerms {
    /// The lowest health with which an interface of a gateway counts as alive (`router_sensitivity_percentage`).
    pub least_health: u32,
    /// Whether a gateway on the net of the route must have a live interface there (`avoid_asym_router_failure`).
    pub avoid_asym: bool,
}

impl GatewayTerms {
    /// The conditions that these settings make.
    pub(crate) const fn of(settings: &Settings) -> Self {
        Self::new(settings.router_sensitivity, settings.avoid_asym_router_failure)
    }

    /// The conditions with this sensitivity in percent, and `avoid_asym`.
    pub(crate) const fn new(router_sensitivity: u32, avoid_asym: bool) -> Self {
        Self { least_health: MAX_HEALTH * router_sensitivity / 100, avoid_asym }
    }
}

/// The state of a route, ordered from the best. Only [`RouteState::Up`] counts as up (RT-22).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RouteState {
    /// The gateway responds and forwards, as far as is known, and has live interfaces where it needs them.
    #[default]
    Up,
    /// On one of the two nets the health of the gateway's interfaces is below the sensitivity. Used if no route is up.
    Unhealthy,
    /// The gateway did not respond to the last ping. Used if there is no better route.
    NoResponse,
    /// The gateway reports that it does not forward, or that it has no working interface on the net of the route. Not used.
    Excluded,
}

/// A route in use.
#[derive(Debug)]
pub struct ActiveRoute {
    /// The route as configured.
    pub route: Route,
    /// The peer NI of the configured gateway, through which the gateway's other NIDs are found.
    pub(crate) gateway: Arc<PeerNi>,
    /// The last use of the route: of equal routes the least recently used one is selected (2.7).
    last_use: LastUse,
    /// The most recent use of any route.
    latest_use: Arc<LatestUse>,
    /// Whether the route is up, and the state that was logged last.
    state: Mutex<Settling<bool>>,
    /// Whether a log line has said that the gateway is not on the net of the route.
    logged_missing: AtomicBool,
}

impl ActiveRoute {
    fn new(route: Route, gateway: Arc<PeerNi>, latest_use: Arc<LatestUse>) -> Self {
        // A new route counts as up.
        let (state, logged_missing) = (Mutex::new(Settling::new(true)), AtomicBool::new(false));
        Self { route, gateway, last_use: LastUse::default(), latest_use, state, logged_missing }
    }

    /// The number of hops for comparisons: a route without one counts as having one (RT-2).
    pub fn hops(&self) -> u32 {
        self.route.hops.unwrap_or(1)
    }

    /// Whether the gateway is on the net of the route, as its discovery showed, or its ping where its NIDs are not discovered (RT-23).
    pub fn is_single_hop(&self) -> bool {
        let gateway = &**self.gateway.peer_now();
        gateway.net(self.route.net).is_some() || gateway.discovery.told_net(self.route.net).is_some()
    }

    /// Whether the route has one hop, and the discovery of its gateway showed that the gateway is not on that net.
    pub(crate) fn misses_its_net(&self) -> bool {
        let is_discovered = self.gateway.peer_now().state().contains(PeerState::DISCOVERED);
        self.hops() == 1 && is_discovered && !self.is_single_hop()
    }

    /// The state of the route under `terms`, whose gateway is `gateway` now; `is_local` tells the nets that this node is on (RT-22).
    pub(crate) fn state(
        &self,
        gateway: &Peer,
        terms: GatewayTerms,
        is_local: impl Fn(NetId) -> bool,
    ) -> RouteState {
        let known = gateway.state();
        if known.contains(PeerState::DISCOVERED) && !known.contains(PeerState::ROUTER_ENABLED) {
            return RouteState::Excluded;
        }
        let health = |net: &PeerNet| net.usable_health().unwrap_or(0);
        let far_health = match gateway.net(self.route.net).filter(|_| terms.avoid_asym) {
            Some(net) if net.nis().all(|peer_ni| peer_ni.is_reported_down()) => return RouteState::Excluded,
            Some(net) => health(net),
            // Without discovery, what the gateway has told of its interfaces there counts (RT-24).
            None if terms.avoid_asym && gateway.discovery.told_net(self.route.net) == Some(false) => {
                return RouteState::Excluded;
            }
            None if terms.avoid_asym && self.route.hops == Some(1) && self.misses_its_net() => {
                return RouteState::Excluded;
            }
            None => u32::MAX,
        };
        if gateway.discovery.has_failed() {
            return RouteState::NoResponse;
        }
        let near_health = gateway.nets.iter().filter(|net| is_local(net.id)).map(health).max().unwrap_or(0);
        match near_health.min(far_health) >= terms.least_health {
            true => RouteState::Up,
            false => RouteState::Unhealthy,
        }
    }

    pub(crate) fn last_use(&self) -> u64 {
        self.last_use.get()
    }

    /// Whether the route is up, as it was noted last, with the state that was logged.
    pub(crate) fn noted(&self) -> MutexGuard<'_, Settling<bool>> {
        lock(&self.state)
    }

    /// Whether to log that the gateway of a single-hop route is not on its net (RT-23): `true` once, until the gateway is there
    /// again.
    pub(crate) fn log_missing_net(&self) -> bool {
        let misses = self.misses_its_net();
        !self.logged_missing.swap(misses, Ordering::Relaxed) && misses
    }

    /// Records that the route is used now.
    pub(crate) fn note_use(&self) {
        self.latest_use.note(&self.last_use);
    }
}

/// All routes, in the order in which they were added. Immutable: a change makes a new value.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    list: Vec<Arc<ActiveRoute>>,
    /// The routes by net, and for each net in the order in which they were added. A node may have thousands.
    by_net: Vec<(NetId, Arc<ActiveRoute>)>,
    /// The most recent use of any route.
    latest_use: Arc<LatestUse>,
}

impl Routes {
    /// The routes in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Route> {
        self.list.iter().map(|active| &active.route)
    }

    /// Whether there are no routes.
    pub fn is_empty(&self) -> bool {
        self.active().is_empty()
    }

    /// The routes in use, in the same order.
    pub fn active(&self) -> &[Arc<ActiveRoute>] {
        &self.list
    }

    fn new(list: Vec<Arc<ActiveRoute>>, latest_use: Arc<LatestUse>) -> Self {
        let mut by_net: Vec<_> = list.iter().map(|active| (active.route.net, Arc::clone(active))).collect();
        by_net.sort_by_key(|(net, _)| *net);
        Self { list, by_net, latest_use }
    }

    /// The routes to `net`, in the order in which they were added.
    pub(crate) fn to(&self, net: NetId) -> impl Iterator<Item = &Arc<ActiveRoute>> + Clone {
        let first = self.by_net.partition_point(|(its, _)| *its < net);
        let from_first = self.by_net[first..].iter();
        from_first.take_while(move |(its, _)| *its == net).map(|(_, active)| active)
    }

    /// The route to `net`, if there is one and no other.
    pub(crate) fn only_to(&self, net: NetId) -> Option<&Arc<ActiveRoute>> {
        let mut routes = self.to(net);
        routes.next().filter(|_| routes.next().is_none())
    }

    /// The routes grouped by net: one slice for each net.
    pub(crate) fn nets(&self) -> impl Iterator<Item = &[(NetId, Arc<ActiveRoute>)]> {
        self.by_net.chunk_by(|(one, _), (other, _)| one == other)
    }

    /// Whether there is a route to `net`.
    pub fn lead_to(&self, net: NetId) -> bool {
        self.to(net).next().is_some()
    }

    /// The distance of a NID on a net that this node is not on: one hop more than that of the shortest route. Its order follows
    /// those of local NIDs, net by net. `None` without a route.
    pub(crate) fn distance(&self, nid: Nid, nets: &Nets) -> Option<Distance> {
        let shortest = self.to(nid.net()).min_by_key(|active| active.hops())?;
        let source = nets.net(shortest.route.gateway.net())?.nis().first()?.nid();
        let first_of_net = self.list.iter().position(|active| active.route.net == nid.net())?;
        let nets_before: BTreeSet<NetId> =
            self.list[..first_of_net].iter().map(|active| active.route.net).collect();
        let order = u32::try_from(2 + nets.nis().count() + nets_before.len()).unwrap_or(u32::MAX);
        Some(Distance { hops: shortest.hops() + 1, source, order })
    }

    /// The same routes with the present peer NIs of their gateways: a gateway that was removed has a new peer NI. `None` if
    /// nothing has changed.
    pub(crate) fn refreshed(&self, peer_ni: impl Fn(Nid) -> Arc<PeerNi>) -> Option<Self> {
        let now: Vec<_> = self.list.iter().map(|active| peer_ni(active.route.gateway)).collect();
        if self.list.iter().zip(&now).all(|(active, now)| Arc::ptr_eq(&active.gateway, now)) {
            return None;
        }
        let renew = |(active, gateway): (&Arc<ActiveRoute>, Arc<PeerNi>)| {
            let renewed = ActiveRoute::new(active.route, gateway, Arc::clone(&self.latest_use));
            *renewed.noted() = *active.noted();
            Arc::new(renewed)
        };
        let list = self.list.iter().zip(now).map(renew).collect();
        Some(Self::new(list, Arc::clone(&self.latest_use)))
    }

    /// The routes without duplicates: two routes to one net whose gateways turned out to be one peer (RT-4). The better one
    /// stays, which has the lower priority, then fewer hops. Also returns the removed routes; `None` if there are none.
    pub(crate) fn without_duplicates(&self) -> Option<(Self, Vec<Route>)> {
        let rank = |active: &ActiveRoute| (active.route.priority, active.hops());
        let is_first = |one: &Arc<ActiveRoute>, other: &Arc<ActiveRoute>| {
            let position = |of: &Arc<ActiveRoute>| self.list.iter().position(|its| Arc::ptr_eq(its, of));
            position(one) < position(other)
        };
        let is_superseded = |active: &Arc<ActiveRoute>| {
            let gateway = active.gateway.peer_now().discovery.id();
            self.to(active.route.net).any(|other| {
                !Arc::ptr_eq(other, active)
                    && other.gateway.peer_now().discovery.id() == gateway
                    && (rank(other) < rank(active) || rank(other) == rank(active) && is_first(other, active))
            })
        };
        let (gone, list): (Vec<_>, Vec<_>) = self.list.iter().cloned().partition(is_superseded);
        if gone.is_empty() {
            return None;
        }
        let gone = gone.iter().map(|active| active.route).collect();
        Some((Self::new(list, Arc::clone(&self.latest_use)), gone))
    }

    /// Whether one of these NIDs, which all belong to one peer, is the gateway of a route.
    pub(crate) fn have_gateway(&self, its: &[Nid]) -> bool {
        self.list.iter().any(|active| its.contains(&active.route.gateway))
    }

    /// The routes with `route` at the end, if that is valid on a node with these nets (RT-1). Errors: [`Errno::Invalid`],
    /// [`Errno::Exists`] (the net is local, or the gateway has a route to it), [`Errno::HostUnreachable`] (the
    /// gateway is on no local net). `gateway` makes the peer NI of the gateway.
    pub fn with(
        &self,
        route: Route,
        nets: &Nets,
        gateway: impl FnOnce() -> Arc<PeerNi>,
    ) -> Result<Self, Errno> {
        let hops_make_sense = route.hops.is_none_or(|hops| (1..=255).contains(&hops));
        let loops =
            route.gateway.is_loopback() || route.net == NetId::LOOPBACK || route.gateway.net() == route.net;
        if loops || !hops_make_sense {
            return Err(Errno::Invalid);
        }
        if nets.net(route.net).is_some() {
            return Err(Errno::Exists);
        }
        let knows = |active: &Arc<ActiveRoute>| active.gateway.peer_now().nids.contains(&route.gateway);
        if self.to(route.net).any(|active| active.route.gateway == route.gateway || knows(active)) {
            return Err(Errno::Exists);
        }
        if nets.net(route.gateway.net()).is_none() {
            return Err(Errno::HostUnreachable);
        }
        let active = ActiveRoute::new(route, gateway(), Arc::clone(&self.latest_use));
        let list = self.list.iter().cloned().chain([Arc::new(active)]).collect();
        Ok(Self::new(list, Arc::clone(&self.latest_use)))
    }

    /// The routes without those to `net` (`None`: any) whose gateway satisfies `is_gateway`. [`Errno::NotFound`] if no route
    /// does (RT-3).
    pub fn without(&self, net: Option<NetId>, is_gateway: impl Fn(Nid) -> bool) -> Result<Self, Errno> {
        let stays = |active: &&Arc<ActiveRoute>| {
            net.is_some_and(|net| active.route.net != net) || !is_gateway(active.route.gateway)
        };
        let list: Vec<_> = self.list.iter().filter(stays).cloned().collect();
        if list.len() == self.list.len() {
            return Err(Errno::NotFound);
        }
        Ok(Self::new(list, Arc::clone(&self.latest_use)))
    }
}
