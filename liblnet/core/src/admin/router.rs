//! This node as a router: the forwarding switch, and the liveness of its nets as reported to peers (core-behaviour 7.3, 7.5).

use super::Admin;
use crate::model::{Net, PeerNi};
use crate::router::Router;
use lnet_wire::Errno;

impl Admin<'_> {
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
            self.discovery.schedule_push(self.topology, false);
            self.health.wake();
        }
        Ok(())
    }

    /// Applies the configured numbers of buffers.
    pub(crate) fn configure_buffers(&self) {
        let router = self.topology.router();
        let waiting = self.router_buffers.configure(router);
        match router.forwards() {
            true => self.data_path.resume_waiting(waiting),
            false => {
                self.data_path.drop_waiting(waiting, "routing was switched off while it waited for a buffer")
            }
        }
    }

    /// The router credits of a peer NI: the current and the lowest number. `None` on a net that this node is not on.
    pub fn router_credits(&self, peer_ni: &PeerNi) -> Option<(i32, i32)> {
        let nid = peer_ni.nid();
        let share_of = |net: &Net| net.nis().first().map(|ni| ni.tunables().router_share());
        let share = self.topology.with_nets(|nets| nets.net(nid.net()).and_then(share_of))?;
        let share = i32::try_from(share).unwrap_or(i32::MAX);
        let now = share.saturating_sub_unsigned(self.router_buffers.asked_for(nid));
        Some((now, peer_ni.min_router_credits().min(now).min(share)))
    }
}
