//! The gateways of this node's routes: their checks, and the log lines about them (core-behaviour 7.3, 7.4).

use super::Monitor;
use crate::discovery::Input;
use crate::environment::ConfigGuard;
use crate::environment::time::Time;
use crate::health::Cause;
use crate::model::{ActiveRoute, PeerNi, PeerState, Route};
use crate::router::{DueCheck, Gateway, GatewayActions};
use crate::select;
use crate::stats::MessageOutcome;
use lnet_log::LogClass;
use lnet_wire::Nid;
use std::sync::Arc;
use std::time::Duration;

impl Monitor<'_> {
    /// Starts the discovery of the gateways that are due, and logs the routes that have come up or gone down; returns the time at
    /// which the next gateway is due.
    pub(crate) fn check_gateways(&self, now: Time) -> Option<Time> {
        if !self.topology.has_routes() {
            return None;
        }
        let routes = self.topology.routes();
        if routes.refreshed(|nid| self.data_path.peer_ni(nid)).is_some() {
            let config = self.configuration.lock();
            self.topology.refresh_gateways(&config, |nid| self.data_path.peer_ni(nid));
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
        let interval = Duration::from_secs(self.env.settings().alive_router_check_interval.into());
        let (due, next) = self.gateway_checks.due(&gateways, now, interval);
        for DueCheck { id: gateway, net } in due {
            if let Some(route) = routes.active().iter().find(|route| id(route) == gateway) {
                let state = Arc::clone(&route.gateway.peer().discovery);
                self.discovery.handle_input(&state, Input::Check { net });
            }
        }
        let next_line = self.admin.note_routes();
        next.into_iter().chain(next_line).min()
    }

    /// Discovers the gateways that were removed as peers and have been added again.
    fn discover_new_gateways(&self) {
        if self.env.settings().alive_router_check_interval == 0 {
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

    /// Pings gateways that have messages and from which nothing is received, and marks their paths as unresponsive if that goes
    /// on; returns the time of the next call.
    pub(crate) fn watch_gateways(&self, now: Time) -> Option<Time> {
        let GatewayActions { ping, unresponsive, old_pings, next } =
            self.gateway_watch.poll(now, || self.busy_gateways());
        for ping in old_pings {
            // The MD may have been unlinked already.
            let _ = self.data_path.md_unlink(ping);
        }
        let nets = self.topology.nets();
        let nis = |gateway: Nid| select::local_nis_to(&nets, self.topology.peer_ni(gateway).as_deref());
        for gateway in ping {
            let local = nis(gateway).into_iter().find(|ni| !ni.is_fatal());
            if let Some(Ok(ping)) = local.map(|ni| self.send_recovery_ping(ni.nid(), gateway)) {
                self.gateway_watch.pinged(gateway, ping);
            }
        }
        for gateway in unresponsive {
            let Some(peer_ni) = self.topology.peer_ni(gateway) else { continue };
            for ni in nis(gateway) {
                let all_may_move = self.data_path.note_path_unresponsive(ni, &peer_ni);
                if let Some(lnd) = ni.lnd().filter(|_| all_may_move) {
                    lnd.abort_tx(Some(gateway), Cause::NetworkTimeout);
                }
                self.data_path.lose_confirmations(ni, gateway);
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
        let received =
            |its: Arc<PeerNi>| (its.nid(), its.counters().read(MessageOutcome::Received).messages());
        all.filter(is_busy).map(received).collect()
    }
}
