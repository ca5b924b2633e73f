//! The work of the discovery thread, and the calls that start and await discoveries.

use crate::core::Core;
use crate::discovery::{Action, DiscoveryStatus, Failure, Input};
use crate::environment::ConfigGuard;
use crate::environment::time::Time;
use crate::event::in_handler;
use crate::memory::Md;
use crate::model::Peer;
use lnet_log::LogClass;
use lnet_wire::{Errno, Nid};
use std::sync::Arc;
use std::time::Duration;

/// Calls of programs and of other parts of the core.
impl Core {
    /// Discovers the peer with this NID again: pings it, and pushes to it if it is multi-rail (DI-35). With `force`
    /// it is pushed to even if it is up to date. Does not wait for the result. [`Errno::Shutdown`] during the shutdown,
    /// [`Errno::Invalid`] for the loopback.
    pub fn discover(&self, nid: Nid, force: bool) -> Result<(), Errno> {
        if self.is_ending() {
            return Err(Errno::Shutdown);
        }
        if nid.is_loopback() {
            return Err(Errno::Invalid);
        }
        let peer_ni = self.peer_ni(nid);
        peer_ni.note_use(false, false);
        let state = Arc::clone(&peer_ni.peer().discovery);
        state.with(|inner| inner.failure = None);
        self.discovery.handle_input(&state, Input::Examine { force });
        Ok(())
    }

    /// The longest duration of a discovery, all steps together ([`crate::Settings::discovery_timeout`]).
    pub fn discovery_timeout(&self) -> Duration {
        self.env.discovery_timeout()
    }

    /// Waits until the discovery of the peer with this NID has ended. Fails with [`Errno::TimedOut`] after `timeout`, and with
    /// [`Errno::Busy`] in an event handler.
    pub fn wait_discovered(&self, nid: Nid, timeout: Duration) -> Result<(), Failure> {
        self.discovery.wait_discovered(&self.env, &self.topology, nid, timeout)
    }

    /// The discovery status of the peer with this NID; `None` for an unknown NID.
    pub fn discovery_of(&self, nid: Nid) -> Option<DiscoveryStatus> {
        self.discovery.status(&self.topology, nid)
    }

    /// The sequence number of this node's configuration, which peers acknowledge ([`DiscoveryStatus::node_sequence`]).
    pub fn node_sequence(&self) -> u32 {
        self.discovery.local_state().sequence
    }

    /// Removes a peer and its NIDs.
    pub(crate) fn forget_peer(&self, config: &ConfigGuard<'_>, peer: &Arc<Peer>) {
        self.discovery.note_forgetting(&self.env);
        self.topology.peers().detach(config, peer, |_| true);
        self.topology.renew_rules(config);
    }

    /// Ends the requests with this MD that wait for a discovery: the MD has been unlinked, and its owner should not
    /// wait for a peer that may be down.
    pub(crate) fn cancel_parked(&self, md: &Md) {
        for request in self.discovery.unpark_md(md) {
            self.refuse(request, Errno::Cancelled);
        }
    }

    /// Ends the requests that wait for discoveries, because the node shuts down (DI-23).
    pub(crate) fn end_discovery(&self) {
        for request in self.discovery.end() {
            self.refuse(request, Errno::Shutdown);
        }
    }
}

/// The discovery thread's work.
impl Core {
    /// Waits until [`Core::run_discovery`] has something to do, or the node shuts down; at most `timeout`.
    pub fn wait_for_discovery(&self, timeout: Option<Duration>) {
        self.discovery.wait(&self.env, timeout);
    }

    /// Runs the discovery: one thread at a time, and not in an event handler. Returns the time of the next call, if
    /// one is due without an event; [`Core::wait_for_discovery`] returns when an earlier call is needed. Event
    /// handlers of the application run inside.
    pub fn run_discovery(&self) -> Option<Time> {
        if in_handler() {
            return Some(self.env.now());
        }
        let mut run = self.discovery.begin_run();
        if !self.is_ending() {
            self.republish();
            self.post_push_buffers();
        }
        while let Some(action) = run.poll(&self.env, &self.topology) {
            self.carry_out_discovery(action);
        }
        if self.topology.has_routes() {
            self.note_routes();
            // A gateway that failed is checked again sooner.
            self.health.wake();
        }
        self.discovery.next_poll()
    }

    fn carry_out_discovery(&self, action: Action) {
        match action {
            Action::EndMd(md) => {
                // The MD may have been unlinked already.
                let _ = self.md_unlink(md);
            }
            Action::Release(requests) => requests.into_iter().for_each(|request| self.send_request(request)),
            Action::Fail(requests) => {
                requests.into_iter().for_each(|(request, errno)| self.refuse(request, errno));
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
            self.rebuild_ping_target(&config);
            self.discovery.schedule_push(&self.topology, false);
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
            self.forget_peer(&config, &peer);
        }
    }
}
