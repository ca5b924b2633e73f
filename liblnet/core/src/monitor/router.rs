//! This node as a router: the end of forwarding, the liveness of its nets, messages that wait for buffers (core-behaviour 7.2, 7.5).

use super::Monitor;
use crate::environment::time::Time;
use crate::model::Ni;
use crate::router::Router;
use crate::stats::MessageOutcome;
use crate::sync::lock;
use lnet_log::LogClass;
use lnet_wire::NetId;
use std::time::Duration;

/// The time after which a message that waits for a buffer to another router is returned; at most twice this passes.
const MAX_WAIT: Duration = Duration::from_secs(3);

impl Monitor<'_> {
    /// Completes the disabling of routing when it is due; returns the time of the next call.
    pub(crate) fn poll_stopping(&self, now: Time) -> Option<Time> {
        let is_stopping = || matches!(self.admin.router(), Router::Stopping(_));
        if !is_stopping() {
            return None;
        }
        // Under this lock routing cannot be switched on again.
        let config = self.configuration.lock();
        if !is_stopping() {
            return None;
        }
        let grace = self.env.settings().gateway_check_period();
        if let Err(next) = self.stopping.poll(now, self.admin.forwarded().messages, grace) {
            return Some(next);
        }
        self.topology.change_router(&config, Router::stopped);
        self.admin.configure_buffers();
        self.env.log(
            LogClass::RoutingStopped,
            "routing",
            format_args!("routing: off; its buffers are freed"),
        );
        None
    }

    /// Reports the NIs on nets from which nothing arrives as down (RT-32); returns the time of the next call.
    pub(crate) fn poll_net_liveness(&self, now: Time) -> Option<Time> {
        let settings = self.env.settings();
        let is_watched = self.admin.router().is_on() && settings.alive_router_check_interval > 0;
        let timeout = is_watched.then(|| settings.gateway_check_period());
        let nets = self.topology.nets();
        let received = |ni: &Ni| ni.counters().read(MessageOutcome::Received).messages();
        let others = nets.iter().filter(|net| is_watched && net.id() != NetId::LOOPBACK);
        let counted: Vec<_> =
            others.map(|net| (net.id(), net.nis().iter().map(|ni| received(ni)).sum())).collect();
        let (changed, next) = self.state.net_liveness.poll(&counted, now, timeout);
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

    /// Returns messages that have waited long for a buffer to another router; returns the time of the next call.
    pub(crate) fn poll_waiting(&self, now: Time) -> Option<Time> {
        if !self.topology.forwards() || !self.topology.has_routes() {
            return None;
        }
        let due = lock(&self.state.next_overdue).filter(|next| now < *next);
        if due.is_some() {
            return due;
        }
        let next = Some(now + MAX_WAIT);
        *lock(&self.state.next_overdue) = next;
        let (overdue, served) = self.router_buffers.take_overdue();
        self.data_path.resume_waiting(served);
        self.data_path
            .drop_waiting(overdue, "no buffer was free for long; routers may wait for each other's");
        next
    }
}
