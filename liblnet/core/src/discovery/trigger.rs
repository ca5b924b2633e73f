//! What makes a node tell its peers something: changes of its own interfaces and of its mode (core-behaviour 5.7, 5.8).

use super::Block;
use super::step::Input;
use crate::core::Core;
use crate::environment::settings::{DiscoveryMode, Settings};
use crate::sync::lock;
use std::sync::Arc;

impl Core {
    /// Makes anew what pings are answered with, if the state of an interface has changed.
    pub(crate) fn republish(&self) {
        if std::mem::take(&mut lock(&self.discovery.queue).republish) {
            let target = &mut *lock(&self.configuration);
            self.rebuild_ping_target(target);
            self.tell_peers(false);
        }
    }

    /// From now on peers are told this: those that ask. Called under the lock of the configuration.
    pub(crate) fn publish(&self, block: Arc<Block>) {
        self.discovery.set_local_state(&self.settings(), block.sequence);
        self.discovery.set_block(block);
    }

    /// The settings have changed; called under the lock of the configuration, after what pings are answered with
    /// has been made anew if that changes.
    pub(crate) fn discovery_set(&self, before: &Settings, now: &Settings) {
        self.discovery.set_local_state(now, self.discovery.local_state().sequence);
        match (before.discovery, now.discovery) {
            (DiscoveryMode::Off, DiscoveryMode::On | DiscoveryMode::Verify)
            | (DiscoveryMode::Verify, DiscoveryMode::On) => {
                // Nothing is sent now: each is asked when it is used next.
                for peer in self.peers() {
                    self.tell(&peer.record, Input::SwitchedOn);
                }
            }
            (DiscoveryMode::On | DiscoveryMode::Verify, DiscoveryMode::Off) => self.tell_peers(true),
            _ => {}
        }
    }

    /// Has multi-rail peers told; with `force` those, too, that do not discover.
    pub(crate) fn tell_peers(&self, force: bool) {
        for peer in self.peers().iter().filter(|peer| peer.is_multi_rail()) {
            self.tell(&peer.record, Input::Changed { force });
        }
    }
}
