//! The work of the discovery thread, and the calls that start and await discoveries.

use super::Monitor;
use crate::discovery::Action;
use crate::environment::time::Time;
use crate::event::in_handler;
use crate::model::Peer;
use lnet_log::LogClass;
use std::sync::Arc;
use std::time::Duration;

/// The discovery thread's work.
impl Monitor<'_> {
    /// Waits until [`Monitor::run_discovery`] has something to do, or the node shuts down; at most `timeout`.
    pub fn wait_for_discovery(&self, timeout: Option<Duration>) {
        self.discovery.wait(self.env, timeout);
    }

    /// Runs the discovery: one thread at a time, and not in an event handler. Returns the time of the next call, if
    /// one is due without an event; [`Monitor::wait_for_discovery`] returns when an earlier call is needed. Event
    /// handlers of the application run inside.
    pub fn run_discovery(&self) -> Option<Time> {
        if in_handler() {
            return Some(self.env.now());
        }
        let mut run = self.discovery.begin_run();
        if !self.env.is_ending() {
            self.republish();
            self.admin.post_push_buffers();
        }
        while let Some(action) = run.poll(self.env, self.topology) {
            self.carry_out_discovery(action);
        }
        if self.topology.has_routes() {
            self.admin.note_routes();
            // A gateway that failed is checked again sooner, and lines about routes may wait.
            self.health.wake();
        }
        if self.topology.has_truncated_nids() {
            self.health.wake();
        }
        self.discovery.next_poll()
    }

    fn carry_out_discovery(&self, action: Action) {
        match action {
            Action::EndMd(md) => {
                // The MD may have been unlinked already.
                let _ = self.data_path.md_unlink(md);
            }
            Action::Release(requests) => {
                requests.into_iter().for_each(|request| self.data_path.send_request(request))
            }
            Action::Fail(requests) => {
                requests.into_iter().for_each(|(request, errno)| self.data_path.refuse(request, errno));
            }
            Action::Ping { peer, path, reply_len } => self.send_discovery_ping(&peer, path, reply_len),
            Action::Push { peer, path, buffer } => self.send_discovery_push(&peer, path, buffer),
            Action::Merge(peer, info) => self.merge(&peer, &info),
            Action::Forget(peer) => self.forget_discovered(&peer),
        }
    }

    /// Renews the ping buffer, if the state of an interface has changed.
    fn republish(&self) {
        if self.discovery.take_republish() {
            let config = self.configuration.lock();
            self.admin.rebuild_ping_target(&config);
            self.discovery.schedule_push(self.topology, false);
        }
    }

    fn forget_discovered(&self, peer: &Arc<Peer>) {
        let primary = peer.primary;
        let line = format_args!(
            "peer {primary}: no longer takes part in discovery; removed until it is needed again"
        );
        self.env.log(LogClass::PeerRemoved, primary, line);
        let config = self.configuration.lock();
        // The peer may have changed before the lock was taken.
        if let Some(peer) = self.topology.peer_of(&peer.discovery) {
            self.admin.forget_peer(&config, &peer);
        }
    }
}
