//! What makes a node tell its peers something: changes of its own interfaces and of its mode (5.7, 5.8).

use super::Block;
use super::step::Input;
use crate::core::Core;
use crate::settings::{DiscoveryMode, Settings};
use crate::sync::lock;
use lnet_wire::Nid;
use std::sync::Arc;

impl Core {
    /// Notes whether an interface of this node works, as its driver or the machine says, and tells peers of it
    /// (HE-4, dyn-050). `why` is what is wrong with it, for the log (dbg-110), or `None` if it works. Any thread may
    /// call, event handlers too. An unknown NID changes nothing, nor does another reason.
    pub fn set_ni_fatal(&self, nid: Nid, why: Option<&str>) {
        let fatal = why.is_some();
        let changed = self.with_nets(|nets| {
            let ni = nets.ni(nid).filter(|ni| ni.is_fatal() != fatal);
            ni.inspect(|ni| ni.set_fatal(fatal)).is_some()
        });
        if changed {
            match why {
                Some(why) => log::error!("{nid} does not work any more: {why}"),
                None => log::warn!("{nid} works again"),
            }
            lock(&self.discovery.queue).republish = true;
            self.discovery.wake();
        }
    }

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
        self.discovery.set_here(&self.settings(), block.sequence);
        self.discovery.set_block(block);
    }

    /// The settings have changed; called under the lock of the configuration, after what pings are answered with
    /// has been made anew if that changes.
    pub(crate) fn discovery_set(&self, before: &Settings, now: &Settings) {
        self.discovery.set_here(now, self.discovery.here().sequence);
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
