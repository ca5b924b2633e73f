//! Routes that come up or go down, and the log lines about them (core-behaviour 7.3, 7.4).

use super::Admin;
use crate::model::{ActiveRoute, GatewayTerms, RouteState};
use crate::router::NetRoutes;
use crate::select;
use lnet_log::LogClass;

impl Admin<'_> {
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
                self.health.reachability_may_change_on(self.topology, *net);
            }
            any_down |= up < to_net.len();
            nets.extend(to_net.first().map(|(net, _)| NetRoutes { net: *net, routes: to_net.len(), up }));
        }
        self.gateway_checks.set_any_down(any_down);
        for changed in self.gateway_checks.note_nets(&nets) {
            self.log_net(changed);
        }
        if any_came_up {
            self.health.expedite_routed(self.topology, self.env.now());
        }
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
        let subject = format_args!("{net} {gateway}");
        match is_up {
            true => self.env.log(
                LogClass::RouteUp,
                subject,
                format_args!("route to {net} via {gateway}: down -> up"),
            ),
            false => {
                let why = self.why_down(route);
                self.env.log(
                    LogClass::RouteState,
                    subject,
                    format_args!("route to {net} via {gateway}: up -> down ({why})"),
                );
            }
        }
        true
    }

    /// The cause for which a route is down, for the log.
    fn why_down(&self, route: &ActiveRoute) -> &'static str {
        let terms = GatewayTerms::of(&self.env.settings());
        match self.topology.with_nets(|nets| select::route_state(route, nets, terms)) {
            RouteState::NoResponse => "its gateway does not answer",
            RouteState::Excluded => "its gateway does not forward, or has no interface up on the net",
            RouteState::Unhealthy | RouteState::Up => "no path to its gateway is usable",
        }
    }

    /// Whether a route is up (RT-22).
    pub fn route_is_up(&self, route: &ActiveRoute) -> bool {
        let terms = GatewayTerms::of(&self.env.settings());
        self.topology.with_nets(|nets| select::is_route_up(route, nets, terms))
    }
}
