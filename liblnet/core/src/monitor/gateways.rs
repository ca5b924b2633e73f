//! The gateways of this node's routes: their checks, and the log lines about them (core-behaviour 7.3, 7.4).

use crate::core::Core;
use crate::discovery::Input;
use crate::environment::ConfigGuard;
use crate::environment::time::Time;
use crate::health::Cause;
use crate::model::{ActiveRoute, PeerNi, PeerState, Route};
use crate::router::{DueCheck, Gateway, GatewayActions, NetRoutes};
use crate::select;
use crate::stats::Outcome;
use lnet_log::LogClass;
use lnet_wire::Nid;
use std::sync::Arc;
use std::time::Duration;

impl Core {
    /// Starts the discovery of the gateways that are due, and logs the routes that have come up or gone down; returns the time at
    /// which the next gateway is due.
    pub(crate) fn check_gateways(&self, now: Time) -> Option<Time> {
        if !self.topology.has_routes() {
            return None;
        }
        let routes = self.topology.routes();
        if routes.refreshed(|nid| self.peer_ni(nid)).is_some() {
            let config = self.configuration.lock();
            self.topology.refresh_gateways(&config, |nid| self.peer_ni(nid));
            drop(config);
            self.discover_new_gateways();
            return Some(now);
        }
        let id = |route: &Arc<ActiveRoute>| route.gateway.peer_now().discovery.id();
        let gateway = |route: &Arc<ActiveRoute>| {
            let peer = route.gateway.peer_now();
            let (nets, is_cut_off) = self.topology.with_nets(|nets| {
                let local = peer.nets.iter().map(|net| net.id).filter(|net| nets.net(*net).is_some());
                (local.collect(), !select::has_usable_path(nets, &peer))
            });
            Gateway { id: peer.discovery.id(), failed: peer.discovery.has_failed() || is_cut_off, nets }
        };
        let mut gateways: Vec<Gateway> = routes.active().iter().map(gateway).collect();
        gateways.sort_unstable_by_key(|gateway| gateway.id);
        gateways.dedup_by_key(|gateway| gateway.id);
        let interval = Duration::from_secs(self.settings().alive_router_check_interval.into());
        let (due, next) = self.gateway_checks.due(&gateways, now, interval);
        for DueCheck { id: gateway, net } in due {
            if let Some(route) = routes.active().iter().find(|route| id(route) == gateway) {
                let state = Arc::clone(&route.gateway.peer().discovery);
                self.discovery.handle_input(&state, Input::Check { net });
            }
        }
        self.note_routes();
        next
    }

    /// Discovers the gateways that were removed as peers and have been added again.
    fn discover_new_gateways(&self) {
        if self.settings().alive_router_check_interval == 0 {
            return;
        }
        for route in self.topology.routes().active() {
            let state = Arc::clone(&route.gateway.peer().discovery);
            if !state.flags().contains(PeerState::DISCOVERED) {
                self.discovery.handle_input(&state, Input::Examine { force: false });
            }
        }
    }

    /// Deletes routes whose gateways have turned out to be one peer (RT-4).
    pub(crate) fn delete_duplicate_routes(&self, config: &ConfigGuard<'_>) {
        if !self.topology.has_routes() {
            return;
        }
        for Route { net, gateway, .. } in self.topology.delete_duplicate_routes(config) {
            self.env.log(
                LogClass::RouteState,
                format_args!("{net} {gateway}"),
                format_args!("route to {net} via {gateway}: deleted (another route has the same gateway)"),
            );
        }
    }

    /// Schedules a check of a gateway that a message has arrived from, if the gateway had not responded, or if it has `forwarded`
    /// the message though it reported that it does not forward (CR-31).
    pub(crate) fn recheck_gateway_now(&self, gateway: &PeerNi, forwarded: bool) {
        let state = Arc::clone(&gateway.peer_now().discovery);
        if state.has_failed() || forwarded && !state.flags().contains(PeerState::ROUTER_ENABLED) {
            self.ask_gateway(gateway);
        }
    }

    /// Schedules a check of a gateway at once after an event that may mean a change: a failed message, an unresponsive path, or
    /// ended connections. Does nothing for other peers.
    pub(crate) fn ask_gateway(&self, gateway: &PeerNi) {
        if self.gateway_checks.recheck_now(gateway.peer_now().discovery.id(), self.env.now()) {
            self.health.wake();
        }
    }

    /// Records that a node cannot be reached through gateways, as one has returned a message for it and no other is left to try.
    pub(crate) fn note_returned(&self, destination: Nid) {
        if let Some(peer_ni) = self.topology.peer_ni(destination) {
            self.health.note_unresponsive_behind_gateways(&peer_ni);
        }
    }

    /// Stores the routes that are up, and logs changes. Called after the state of a gateway may have changed.
    pub(crate) fn note_routes(&self) {
        let routes = self.topology.routes();
        let (mut any_down, mut any_came_up, mut nets) = (false, false, Vec::new());
        for to_net in routes.nets() {
            let (mut up, mut has_changed) = (0, false);
            for (_, route) in to_net {
                let is_up = self.route_is_up(route);
                up += usize::from(is_up);
                let changes = self.log_state(route, is_up);
                (has_changed, any_came_up) = (has_changed | changes, any_came_up | changes & is_up);
                self.log_missing_net(route);
            }
            if let Some((net, _)) = to_net.first().filter(|_| has_changed) {
                self.health.reachability_may_change_on(&self.topology, *net);
            }
            any_down |= up < to_net.len();
            nets.extend(to_net.first().map(|(net, _)| NetRoutes { net: *net, routes: to_net.len(), up }));
        }
        self.gateway_checks.set_any_down(any_down);
        for changed in self.gateway_checks.note_nets(&nets) {
            self.log_net(changed);
        }
        if any_came_up {
            self.health.expedite_routed(&self.topology, self.env.now());
        }
    }

    /// Pings gateways that have messages and from which nothing is received, and marks their paths as unresponsive if that
    /// continues; returns the time of the next call.
    pub(crate) fn watch_gateways(&self, now: Time) -> Option<Time> {
        let GatewayActions { ping, unresponsive, old_pings, next } =
            self.gateway_watch.poll(now, || self.busy_gateways());
        for ping in old_pings {
            // The MD may have been unlinked already.
            let _ = self.md_unlink(ping);
        }
        let nets = self.nets();
        let nis = |gateway: Nid| nets.net(gateway.net()).map_or(&[][..], |net| net.nis());
        for gateway in ping {
            let local = nis(gateway).iter().find(|ni| !ni.is_fatal());
            if let Some(Ok(ping)) = local.map(|ni| self.send_recovery_ping(ni.nid(), gateway)) {
                self.gateway_watch.pinged(gateway, ping);
            }
        }
        for gateway in unresponsive {
            let Some(peer_ni) = self.topology.peer_ni(gateway) else { continue };
            for ni in nis(gateway) {
                let all_may_move = self.note_path_unresponsive(ni, &peer_ni);
                if let Some(lnd) = ni.lnd().filter(|_| all_may_move) {
                    lnd.abort_tx(Some(gateway), Cause::NetworkTimeout);
                }
                self.lose_confirmations(ni, gateway);
            }
        }
        next
    }

    /// The NIDs of gateways that have messages, or that messages wait for, each with the number of messages received from it.
    fn busy_gateways(&self) -> Vec<(Nid, u64)> {
        let unconfirmed = self.unconfirmed.gateways();
        let routes = self.topology.routes();
        let mut nids: Vec<Nid> =
            routes.active().iter().flat_map(|route| route.gateway.peer_now().nids.clone()).collect();
        nids.sort_unstable();
        nids.dedup();
        let all = nids.into_iter().filter_map(|nid| self.topology.peer_ni(nid));
        let is_busy = |its: &Arc<PeerNi>| {
            its.criteria().tx().bytes() > 0 || unconfirmed.binary_search(&its.nid()).is_ok()
        };
        let received = |its: Arc<PeerNi>| (its.nid(), its.counters().read(Outcome::Received).messages());
        all.filter(is_busy).map(received).collect()
    }

    fn log_missing_net(&self, route: &ActiveRoute) {
        if route.log_missing_net() {
            let (net, gateway) = (route.route.net, route.route.gateway);
            self.env.log(
                LogClass::RouteHops,
                format_args!("{net} {gateway}"),
                format_args!(
                    "route to {net} via {gateway}: the gateway has no NI on {net}, and no more hops are given"
                ),
            );
        }
    }

    fn log_net(&self, NetRoutes { net, routes, up }: NetRoutes) {
        match up {
            0 => self.env.log(
                LogClass::NetUnreachable,
                net,
                format_args!(
                    "net {net}: no route is up ({routes} routes); its messages take what is left, or wait until their deadline"
                ),
            ),
            _ => self.env.log(
                LogClass::NetReachable,
                net,
                format_args!("net {net}: up again by {up} of {routes} routes"),
            ),
        }
    }

    /// Logs the state of a route if it has changed; returns whether it has.
    fn log_state(&self, route: &ActiveRoute, is_up: bool) -> bool {
        if route.log_state(is_up) == is_up {
            return false;
        }
        let (net, gateway) = (route.route.net, route.route.gateway);
        let change = if is_up { "down -> up" } else { "up -> down" };
        self.env.log(
            LogClass::RouteState,
            format_args!("{net} {gateway}"),
            format_args!("route to {net} via {gateway}: {change}"),
        );
        true
    }
}
