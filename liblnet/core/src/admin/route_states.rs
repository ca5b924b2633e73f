//! Routes that come up or go down, and the log lines about them (core-behaviour 7.3, 7.4).

use super::Admin;
use crate::environment::time::Time;
use crate::model::{ActiveRoute, GatewayTerms, LastingChange, RouteState, Routes};
use crate::router::NetRoutes;
use crate::select;
use lnet_log::LogClass;
use lnet_wire::{NetId, Nid};
use std::sync::Arc;

impl Admin<'_> {
    /// Stores the routes that are up, and logs changes that have lasted. Called after the state of a gateway may have changed.
    /// Returns the time of the next call, if a line waits.
    pub(crate) fn note_routes(&self) -> Option<Time> {
        let (routes, now) = (self.topology.routes(), self.env.now());
        let (mut any_down, mut any_came_up) = (false, false);
        for to_net in routes.nets() {
            let mut has_changed = false;
            for (_, route) in to_net {
                let is_up = self.route_is_up(route);
                any_down |= !is_up;
                if route.noted().note(is_up, now).is_some() {
                    (has_changed, any_came_up) = (true, any_came_up | is_up);
                    self.keep_route(route, is_up);
                }
                self.log_missing_net(route);
            }
            if let Some((net, _)) = to_net.first().filter(|_| has_changed) {
                self.health.reachability_may_change_on(self.topology, *net);
            }
        }
        self.gateway_checks.set_any_down(any_down);
        if any_came_up {
            self.health.expedite_routed(self.topology, now);
        }
        self.log_routes(&routes, now)
    }

    /// Logs the states of routes that have lasted, and of nets that have lost their last route or have one again. Returns the
    /// time of the next call.
    fn log_routes(&self, routes: &Routes, now: Time) -> Option<Time> {
        let due = |route: &ActiveRoute| route.noted().due().is_some_and(|due| due <= now);
        let gateway = |route: &ActiveRoute| (route.route.gateway, route.noted().state());
        let mut gateways: Vec<(Nid, bool)> =
            routes.active().iter().filter(|route| due(route)).map(|route| gateway(route)).collect();
        gateways.sort_unstable();
        gateways.dedup();
        for changed in gateways {
            // Routes of the gateway that have changed a little later go into the same line.
            let its = routes.active().iter().filter(|route| gateway(route) == changed);
            let lasting: Vec<_> = its.filter_map(|route| Some((route, take_change(route, now)?))).collect();
            // The line about the net tells of its only route.
            let is_one_of_many = |route: &ActiveRoute| routes.to(route.route.net).nth(1).is_some();
            let lasting: Vec<_> = lasting.iter().filter(|(route, _)| is_one_of_many(route)).collect();
            if let Some((route, change)) = lasting.first() {
                let nets: Vec<NetId> = lasting.iter().map(|(route, _)| route.route.net).collect();
                self.log_gateway(route, &nets, *change);
            }
        }
        let of_net = |to_net: &[(NetId, Arc<ActiveRoute>)]| {
            let up = to_net.iter().filter(|(_, route)| route.noted().logged()).count();
            to_net.first().map(|(net, _)| NetRoutes { net: *net, routes: to_net.len(), up })
        };
        let nets: Vec<NetRoutes> = routes.nets().filter_map(of_net).collect();
        for changed in self.gateway_checks.note_nets(&nets) {
            self.log_net(changed, routes);
        }
        routes.active().iter().filter_map(|route| route.noted().due()).min()
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

    fn log_net(&self, NetRoutes { net, routes, up }: NetRoutes, all: &Routes) {
        let only = all.to(net).next().filter(|_| routes == 1);
        let which = match only {
            Some(route) if up == 0 => {
                format!("the one via {}: {}", route.route.gateway, self.why_down(route))
            }
            Some(route) => format!("the one via {}", route.route.gateway),
            None if up == 0 => format!("{routes} routes"),
            None => format!("{up} of {routes} routes"),
        };
        match up {
            0 => self.env.log(
                LogClass::NetUnreachable,
                net,
                format_args!(
                    "net {net}: no route is up ({which}); its messages take what is left, or wait until their deadline"
                ),
            ),
            _ => self.env.log(
                LogClass::NetReachable,
                net,
                format_args!("net {net}: up again by {which}"),
            ),
        }
    }

    /// Adds a change of a route to the history.
    fn keep_route(&self, route: &ActiveRoute, is_up: bool) {
        let (net, gateway) = (route.route.net, route.route.gateway);
        let change = change_of(!is_up, is_up);
        let subject = format_args!("{net} {gateway}");
        match is_up {
            true => self.env.keep(
                true,
                LogClass::RouteUp,
                subject,
                format_args!("route to {net} via {gateway}: {change}"),
            ),
            false => {
                let why = self.why_down(route);
                let line = format_args!("route to {net} via {gateway}: {change} ({why})");
                self.env.keep(true, LogClass::RouteState, subject, line);
            }
        }
    }

    /// Logs the state that the routes to `nets` via the gateway of one of them have come to have.
    fn log_gateway(&self, route: &ActiveRoute, nets: &[NetId], lasting: LastingChange<bool>) {
        let gateway = route.route.gateway;
        let LastingChange { before, now: is_up, repeats } = lasting;
        let change = change_of(before, is_up);
        let nets = nets.iter().map(NetId::to_string).collect::<Vec<_>>().join(", ");
        let subject = format_args!("{nets} {gateway}");
        match is_up {
            true => self.env.log_lasting(
                true,
                LogClass::RouteUp,
                subject,
                format_args!("route to {nets} via {gateway}: {change}{repeats}"),
            ),
            false => {
                let why = self.why_down(route);
                self.env.log_lasting(
                    true,
                    LogClass::RouteState,
                    subject,
                    format_args!("route to {nets} via {gateway}: {change} ({why}{repeats})"),
                );
            }
        }
    }

    /// The cause for which a route is down, for the log.
    fn why_down(&self, route: &ActiveRoute) -> &'static str {
        let terms = GatewayTerms::of(&self.env.settings());
        let (state, has_path) = self.topology.with_nets(|nets| {
            let has_path = select::has_usable_path(nets, &route.gateway.peer_now());
            (select::route_state(route, nets, terms), has_path)
        });
        match state {
            RouteState::NoResponse => "its gateway does not answer",
            RouteState::Excluded => "its gateway does not forward, or has no interface up on the net",
            RouteState::Unhealthy if has_path => {
                "the health of its gateway is below router_sensitivity_percentage"
            }
            RouteState::Unhealthy | RouteState::Up => "no path to its gateway is usable",
        }
    }

    /// Whether a route is up (RT-22).
    pub fn route_is_up(&self, route: &ActiveRoute) -> bool {
        let terms = GatewayTerms::of(&self.env.settings());
        self.topology.with_nets(|nets| select::is_route_up(route, nets, terms))
    }
}

/// Ends the wait of the route's line; returns the change to log.
fn take_change(route: &ActiveRoute, now: Time) -> Option<LastingChange<bool>> {
    let mut noted = route.noted();
    noted.due()?;
    noted.take(now)
}

/// A change in words.
const fn change_of(before: bool, is_up: bool) -> &'static str {
    match (before, is_up) {
        (true, false) => "up -> down",
        (false, true) => "down -> up",
        (true, true) => "up",
        (false, false) => "down",
    }
}
