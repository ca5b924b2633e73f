//! This node as a router: the forwarding switch, and the liveness of its nets as reported to peers (core-behaviour 7.3, 7.5).

use crate::core::Core;
use crate::environment::time::Time;
use crate::model::Ni;
use crate::router::Router;
use crate::stats::Outcome;
use lnet_log::LogClass;
use lnet_wire::{Errno, NetId};

impl Core {
    /// The forwarding configuration.
    pub fn router(&self) -> Router {
        self.topology.router()
    }

    /// Changes the forwarding configuration.
    pub fn change_router(&self, change: impl FnOnce(Router) -> Router) -> Result<(), Errno> {
        let config = self.configuring()?;
        let was_on = self.router().is_on();
        self.topology.change_router(&config, change);
        self.configure_buffers();
        if was_on != self.router().is_on() {
            self.stopping.reset();
            // Tells peers whether this node forwards.
            self.rebuild_ping_target(&config);
            self.discovery.schedule_push(&self.topology, false);
            self.health.wake();
        }
        Ok(())
    }

    /// Completes the disabling of routing when it is due; returns the time of the next call.
    pub(crate) fn poll_stopping(&self, now: Time) -> Option<Time> {
        let is_stopping = || matches!(self.router(), Router::Stopping(_));
        if !is_stopping() {
            return None;
        }
        // Under this lock routing cannot be switched on again.
        let config = self.configuration.lock();
        if !is_stopping() {
            return None;
        }
        let grace = self.settings().gateway_check_period();
        if let Err(next) = self.stopping.poll(now, self.forwarded().messages, grace) {
            return Some(next);
        }
        self.topology.change_router(&config, Router::stopped);
        self.configure_buffers();
        self.env.log(
            LogClass::RoutingStopped,
            "routing",
            format_args!("routing: off; its buffers are freed"),
        );
        None
    }

    /// Reports the NIs on nets from which nothing arrives as down (RT-32); returns the time of the next call.
    pub(crate) fn poll_net_liveness(&self, now: Time) -> Option<Time> {
        let settings = self.settings();
        let is_watched = self.router().is_on() && settings.alive_router_check_interval > 0;
        let timeout = is_watched.then(|| settings.gateway_check_period());
        let nets = self.nets();
        let received = |ni: &Ni| ni.counters().read(Outcome::Received).messages();
        let others = nets.iter().filter(|net| is_watched && net.id() != NetId::LOOPBACK);
        let counted: Vec<_> =
            others.map(|net| (net.id(), net.nis().iter().map(|ni| received(ni)).sum())).collect();
        let (changed, next) = self.net_liveness.poll(&counted, now, timeout);
        for (net, is_alive) in &changed {
            nets.net(*net).into_iter().flat_map(|net| net.nis()).for_each(|ni| ni.set_net_alive(*is_alive));
            let line = match (is_alive, timeout) {
                (false, Some(timeout)) => {
                    let seconds = timeout.as_secs();
                    format!(
                        "net {net}: nothing received for {seconds} s; its NIs are reported to peers as down"
                    )
                }
                _ => format!("net {net}: its NIs are reported to peers as up again"),
            };
            self.env.log(LogClass::RouterNet, net, format_args!("{line}"));
        }
        if !changed.is_empty() {
            self.discovery.schedule_republish();
        }
        next
    }
}
