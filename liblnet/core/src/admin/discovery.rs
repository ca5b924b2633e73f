//! Calls that start discoveries, wait for them, and show them.

use super::Admin;
use crate::discovery::{DiscoveryStatus, Failure, Input};
use crate::environment::ConfigGuard;
use crate::model::Peer;
use lnet_wire::{Errno, Nid};
use std::sync::Arc;
use std::time::Duration;

impl Admin<'_> {
    /// Discovers the peer with this NID again: pings it, and pushes to it if it is multi-rail (DI-35). With `force`
    /// it is pushed to even if it is up to date. Does not wait for the result. [`Errno::Shutdown`] during the shutdown,
    /// [`Errno::Invalid`] for the loopback.
    pub fn discover(&self, nid: Nid, force: bool) -> Result<(), Errno> {
        if self.env.is_ending() {
            return Err(Errno::Shutdown);
        }
        if nid.is_loopback() {
            return Err(Errno::Invalid);
        }
        let peer_ni = self.data_path.peer_ni(nid);
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
        self.discovery.wait_discovered(self.env, self.topology, nid, timeout)
    }

    /// The discovery status of the peer with this NID; `None` for an unknown NID.
    pub fn discovery_of(&self, nid: Nid) -> Option<DiscoveryStatus> {
        self.discovery.status(self.topology, nid)
    }

    /// The sequence number of this node's configuration, which peers acknowledge ([`DiscoveryStatus::node_sequence`]).
    pub fn node_sequence(&self) -> u32 {
        self.discovery.local_state().sequence
    }

    /// Removes a peer and its NIDs.
    pub(crate) fn forget_peer(&self, config: &ConfigGuard<'_>, peer: &Arc<Peer>) {
        self.discovery.note_forgetting(self.env);
        self.topology.peers().detach(config, peer, |_| true);
        self.topology.renew_rules(config);
    }
}
