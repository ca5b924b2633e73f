//! Discovery's work: what the discovery thread does, and what callers ask of discovery.

use super::Core;
use crate::discovery::{Action, DiscoveryStatus, Failure, Input, longest_discovery};
use crate::environment::ConfigGuard;
use crate::environment::time::Time;
use crate::event::in_handler;
use crate::memory::Md;
use crate::model::Peer;
use lnet_log::LogClass;
use lnet_wire::{Errno, Nid};
use std::sync::Arc;
use std::time::Duration;

/// What callers ask for.
impl Core {
    /// Has the peer with this NID examined, whatever is known of it: pinged, and pushed to if it is
    /// multi-rail (DI-35). With `force` it is pushed to even if it has everything. Returns at once.
    /// [`Errno::Shutdown`] when the node is ending, [`Errno::Invalid`] for the loopback.
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

    /// How long a discovery may take: a ping and a push, each as long as a message and its answer.
    pub fn longest_discovery(&self) -> Duration {
        longest_discovery(&self.env)
    }

    /// Waits until the discovery of the peer with this NID has ended, at most so long: [`Errno::TimedOut`]. Not
    /// from an event handler ([`Errno::Busy`]).
    pub fn wait_discovered(&self, nid: Nid, timeout: Duration) -> Result<(), Failure> {
        self.discovery.wait_discovered(&self.env, &self.topology, nid, timeout)
    }

    /// How far the discovery of the peer with this NID is; `None` for a NID that is not known.
    pub fn discovery_of(&self, nid: Nid) -> Option<DiscoveryStatus> {
        self.discovery.status(&self.topology, nid)
    }

    /// Counts this node's configurations: what peers confirm in [`DiscoveryStatus::node_sequence`].
    pub fn node_sequence(&self) -> u32 {
        self.discovery.local_state().sequence
    }

    /// Forgets a peer and its NIDs.
    pub(crate) fn forget_peer(&self, config: &ConfigGuard<'_>, peer: &Arc<Peer>) {
        self.discovery.note_forgetting(&self.env);
        self.topology.peers().detach(config, peer, |_| true);
    }

    /// Ends the requests with this MD that wait for a discovery: it has been unlinked, and its owner shall not have to
    /// wait for a peer that may be dead.
    pub(crate) fn cancel_parked(&self, md: &Md) {
        for request in self.discovery.unpark_md(md) {
            self.refuse(request, Errno::Cancelled);
        }
    }

    /// Ends what waits for discoveries: the node is ending (DI-23).
    pub(crate) fn end_discovery(&self) {
        for request in self.discovery.end() {
            self.refuse(request, Errno::Shutdown);
        }
    }
}

/// The discovery thread's work.
impl Core {
    /// Waits until there is something for [`Core::run_discovery`] to do, or the node ends, at most so long.
    pub fn wait_for_discovery(&self, timeout: Option<Duration>) {
        self.discovery.wait(&self.env, timeout);
    }

    /// Does what discovery has to do now: one thread at a time, and not from an event handler. Returns when
    /// it wants to be called again at the latest, if it waits for anything; before that whenever
    /// [`Core::wait_for_discovery`] says so. Event handlers of the application run inside.
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
        self.discovery.next_poll()
    }

    fn carry_out_discovery(&self, action: Action) {
        match action {
            Action::EndMd(md) => {
                // It may have ended by itself.
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

    /// Replaces what pings are answered with, if the state of an interface has changed.
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
        // It may have changed before the lock was there.
        if let Some(peer) = self.topology.peer_of(&peer.discovery) {
            self.forget_peer(&config, &peer);
        }
    }
}
