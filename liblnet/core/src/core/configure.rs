//! What operators change while the node runs: settings, peers, routes, forwarding, selection rules, health
//! values.
//!
//! One change at a time, under the lock of the configuration; what is read on the way of a message is a
//! value that is replaced as a whole. From an event handler every change is [`Errno::Busy`].

use super::ping_target::PingTarget;
use crate::core::Core;
use crate::environment::settings::{DiscoveryMode, MAX_HEALTH, Settings};
use crate::event::in_handler;
use crate::policy::{Applied, Rule, Rules};
use crate::router::Router;
use crate::sync::{MutexGuard, lock};
use crate::topology::peer_config::{self, Adding, Deleting, Making};
use crate::topology::{Peer, PeerNi, PeerState, Preferred, Route, Routes};
use arc_swap::ArcSwap;
use lnet_wire::{Errno, NetId, Nid};
use std::sync::Arc;

/// What is configured besides interfaces and peers.
#[derive(Debug, Default)]
pub(crate) struct Configured {
    pub(crate) routes: ArcSwap<Routes>,
    router: ArcSwap<Router>,
    rules: ArcSwap<Rules>,
}

impl Core {
    /// The lock of the configuration. Taking an interface away waits under it for event handlers, so one that
    /// waited for it would never end: [`Errno::Busy`] there.
    pub(crate) fn configuring(&self) -> Result<MutexGuard<'_, PingTarget>, Errno> {
        if in_handler() { Err(Errno::Busy) } else { Ok(lock(&self.configuration)) }
    }
}

/// Settings.
impl Core {
    /// The settings as they are.
    pub fn settings(&self) -> Settings {
        self.env.settings()
    }

    /// Changes settings: all that `change` does, or nothing if it fails.
    pub fn change_settings(
        &self,
        change: impl FnOnce(&mut Settings) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let ping_target = &mut *self.configuring()?;
        let before = self.settings();
        let mut settings = before;
        change(&mut settings)?;
        self.env.set_settings(settings);
        let off = |settings: &Settings| settings.discovery == DiscoveryMode::Off;
        if off(&before) != off(&settings) {
            self.rebuild_ping_target(ping_target);
        }
        self.discovery_set(&before, &settings);
        Ok(())
    }

    /// Sets the health value of one interface, or of all but the loopback. An unknown NID changes nothing.
    pub fn set_ni_health(&self, nid: Option<Nid>, value: u32) {
        self.with_nets(|nets| {
            let concerned =
                nets.nis().filter(|ni| nid.map_or_else(|| !ni.nid().is_loopback(), |nid| ni.nid() == nid));
            concerned.for_each(|ni| self.change_ni_health(ni, value.min(MAX_HEALTH)));
        });
    }

    /// Sets the health value of one peer NI, or of all. An unknown NID changes nothing.
    pub fn set_peer_ni_health(&self, nid: Option<Nid>, value: u32) {
        let concerned = match nid {
            Some(nid) => self.peers.get(nid).into_iter().collect(),
            None => self.peers.all(),
        };
        concerned.iter().for_each(|peer_ni| self.change_peer_ni_health(peer_ni, value.min(MAX_HEALTH)));
    }
}

/// Peers (cfg-070 to cfg-080).
impl Core {
    /// All peers, in the order in which they came; this node itself if anybody has sent to it by one of its NIDs, but not
    /// for having tried an interface (HE-53).
    pub fn peers(&self) -> Vec<Arc<Peer>> {
        let mut peers = self.peers.peers();
        let only_tried = |nid: &Nid| self.peers.get(*nid).is_some_and(|peer_ni| peer_ni.is_only_tried());
        // Of all its NIDs: one that was used, or that is not this node's any more, must be found in a peer.
        peers.retain(|peer| !peer.nids.iter().all(|nid| self.is_own(*nid) && only_tried(nid)));
        peers
    }

    /// The peer with this NID, and its peer NIs in their order.
    pub fn peer(&self, nid: Nid) -> Option<(Arc<Peer>, Vec<Arc<PeerNi>>)> {
        let peer = self.peers.get(nid)?.peer();
        let nis = peer.nids.iter().filter_map(|nid| self.peers.get(*nid)).collect();
        Some((peer, nis))
    }

    /// Makes a peer as an operator wants it; one that is there so is left alone (OM-27).
    pub fn make_peer(&self, primary: Nid, multi_rail: bool, lock_primary: bool) -> Result<(), Errno> {
        let _one_at_a_time = self.configuring()?;
        let known = self.peers.get(primary).map(|peer_ni| peer_ni.peer());
        let is_gateway = known.as_ref().is_some_and(|peer| self.is_gateway(peer));
        match peer_config::make(known.as_deref(), primary, multi_rail, is_gateway)? {
            Making::Unchanged => {}
            Making::Make => {
                let state = PeerState::CONFIGURED
                    .with(PeerState::MULTI_RAIL, multi_rail)
                    .with(PeerState::LOCK_PRIMARY, lock_primary);
                self.peers.make(primary, state, self.first_peer_credits(primary));
                self.reapply_rules();
                self.discovery.wakeup.notify();
            }
        }
        Ok(())
    }

    /// Gives the configured peer `primary` another NID (OM-28, OM-29).
    pub fn add_peer_nid(&self, primary: Nid, nid: Nid, multi_rail: bool) -> Result<(), Errno> {
        let _one_at_a_time = self.configuring()?;
        let peer = self.peers.get(primary).map(|peer_ni| peer_ni.peer());
        let owner = self.peers.get(nid).map(|peer_ni| peer_ni.peer());
        let owner_is_gateway = owner.as_ref().is_some_and(|owner| self.is_gateway(owner));
        let adding =
            peer_config::add(peer.as_deref(), primary, nid, multi_rail, owner.as_deref(), owner_is_gateway)?;
        if let (Adding::Attach | Adding::Replace, Some(peer)) = (adding, peer) {
            self.peers.attach(&peer, nid, self.first_peer_credits(nid));
            self.reapply_rules();
            self.discovery.wakeup.notify();
        }
        Ok(())
    }

    /// Takes a NID from a peer; without one, or with the primary NID, forgets the peer (OM-30).
    pub fn delete_peer(&self, primary: Nid, nid: Option<Nid>, force: bool) -> Result<(), Errno> {
        let _one_at_a_time = self.configuring()?;
        let Some(peer) = self.peers.get(primary).map(|peer_ni| peer_ni.peer()) else {
            return Err(Errno::NotFound);
        };
        let known = nid.is_some_and(|nid| self.peers.get(nid).is_some());
        let is_gateway = self.is_gateway(&peer);
        match peer_config::delete(Some(&peer), primary, nid, known, force, is_gateway)? {
            Deleting::Peer => self.forget_peer(&peer),
            Deleting::Secondaries => self.peers.detach(&peer, |nid| nid != primary),
            Deleting::Nid(gone) => self.peers.detach(&peer, |nid| nid == gone),
        }
        self.question_refused();
        self.discovery.wakeup.notify();
        Ok(())
    }

    /// Overwrites what is known of a peer: for debugging.
    pub fn set_peer_state(&self, nid: Nid, state: PeerState) -> Result<(), Errno> {
        let _one_at_a_time = self.configuring()?;
        let peer = self.peers.get(nid).ok_or(Errno::NotFound)?.peer();
        // What is under way is not changed by being called something else.
        let under_way = PeerState::DISCOVERING
            .and(PeerState::PING_SENT)
            .and(PeerState::PUSH_SENT)
            .and(PeerState::DATA_PRESENT);
        peer.record.with(|inner| {
            let flags = inner.progress.flags;
            inner.progress.flags = state.without(under_way).and(PeerState(flags.0 & under_way.0));
        });
        Ok(())
    }

    /// Whether routes go by this peer.
    pub fn is_gateway(&self, peer: &Peer) -> bool {
        self.configured.routes.load().iter().any(|route| peer.nids.contains(&route.gateway))
    }
}

/// Routes and forwarding.
impl Core {
    /// The routes as they are.
    pub fn routes(&self) -> Arc<Routes> {
        self.configured.routes.load_full()
    }

    /// Adds a route, and the gateway as a peer if it is not known (RT-1).
    pub fn add_route(&self, route: Route) -> Result<(), Errno> {
        let _one_at_a_time = self.configuring()?;
        let before = self.configured.routes.load();
        let routes = self.with_nets(|nets| before.with(route, nets))?;
        // Once, for the first of them.
        if before.iter().next().is_none() {
            log::warn!(
                "route to {} by {}: stored and shown, but no message goes by a route yet",
                route.net,
                route.gateway
            );
        }
        self.peer_ni(route.gateway);
        self.configured.routes.store(Arc::new(routes));
        Ok(())
    }

    /// Deletes routes; the gateway may be given by any of its NIDs (RT-3).
    pub fn delete_routes(&self, net: Option<NetId>, gateway: Option<Nid>) -> Result<(), Errno> {
        let _one_at_a_time = self.configuring()?;
        let same_peer =
            |its: Nid| gateway.is_none_or(|nid| self.peers.primary(nid) == self.peers.primary(its));
        let routes = self.configured.routes.load().without(net, same_peer)?;
        self.configured.routes.store(Arc::new(routes));
        Ok(())
    }

    /// Whether and how the node forwards.
    pub fn router(&self) -> Router {
        **self.configured.router.load()
    }

    /// Changes that.
    pub fn change_router(&self, change: impl FnOnce(Router) -> Router) -> Result<(), Errno> {
        let _one_at_a_time = self.configuring()?;
        self.configured.router.store(Arc::new(change(self.router())));
        Ok(())
    }

    /// Forgets what goes with a net that the node has left; called under the lock of the configuration.
    pub(crate) fn forget_net(&self, net: NetId) {
        let routes = self.configured.routes.load();
        if let Ok(routes) = routes.without(None, |gateway| gateway.net() == net) {
            self.configured.routes.store(Arc::new(routes));
        }
        self.note_forgetting();
        self.peers.forget_net(net);
        self.question_refused();
        self.discovery.wakeup.notify();
    }
}

/// Selection rules (cfg-095 to cfg-165).
impl Core {
    /// The rules as they are.
    pub fn rules(&self) -> Arc<Rules> {
        self.configured.rules.load_full()
    }

    /// Adds a rule: see [`Rules::add`].
    pub fn add_rule(&self, rule: Rule, index: Option<usize>) -> Result<(), Errno> {
        let _one_at_a_time = self.configuring()?;
        let mut rules = Rules::clone(&self.rules());
        rules.add(rule, index)?;
        self.configured.rules.store(Arc::new(rules));
        self.apply_rules();
        Ok(())
    }

    /// Puts what the rules come to into what path selection reads (UD-10): all of it, or what concerns peer
    /// NIs that are new.
    fn apply_rules(&self) {
        let rules = self.rules();
        self.with_nets(|nets| {
            for net in nets.iter() {
                for ni in net.nis() {
                    let Applied { nid_priority, net_priority, .. } = rules.applied_to_ni(ni.nid());
                    ni.set_priority(nid_priority);
                    net.usage().set_priority(net_priority);
                }
            }
        });
        for peer_ni in self.peers.all() {
            self.apply_rules_to(&peer_ni);
        }
    }

    /// The same for one peer NI. A peer of one rail keeps the interface that it sticks to unless a rule names
    /// others (UD-14).
    pub(crate) fn apply_rules_to(&self, peer_ni: &PeerNi) {
        let applied = self.applied_to_peer_ni(peer_ni.nid());
        peer_ni.set_priority(applied.nid_priority);
        let peer = peer_ni.peer();
        for net in peer.nets.iter().filter(|net| net.id == peer_ni.nid().net()) {
            net.usage.set_priority(applied.net_priority);
        }
        match (&*peer_ni.preferred(), applied.preferred_nids) {
            (Preferred::ByRule(_), none) if none.is_empty() => peer_ni.set_preferred(Preferred::Nothing),
            (_, none) if none.is_empty() => {}
            (_, nids) => peer_ni.set_preferred(Preferred::ByRule(nids)),
        }
    }

    /// Whether there is any rule.
    pub(crate) fn has_rules(&self) -> bool {
        self.configured.rules.load().iter().next().is_some()
    }

    /// Deletes one rule or all: see [`Rules::delete`].
    pub fn delete_rule(&self, index: Option<usize>) -> Result<(), Errno> {
        let _one_at_a_time = self.configuring()?;
        let mut rules = Rules::clone(&self.rules());
        rules.delete(index);
        self.configured.rules.store(Arc::new(rules));
        self.apply_rules();
        Ok(())
    }

    /// After interfaces or NIDs of peers came or went; called under the lock of the configuration (UD-12).
    pub(crate) fn reapply_rules(&self) {
        if self.has_rules() {
            self.apply_rules();
        }
    }

    /// What the rules come to for one of this node's interfaces.
    pub fn applied_to_ni(&self, nid: Nid) -> Applied {
        self.rules().applied_to_ni(nid)
    }

    /// What the rules come to for another node's interface.
    pub fn applied_to_peer_ni(&self, nid: Nid) -> Applied {
        let own: Vec<Nid> = self.with_nets(|nets| nets.nis().map(|ni| ni.nid()).collect());
        let mut gateways: Vec<Nid> = Vec::new();
        for route in self.configured.routes.load().iter() {
            let primary = self.peers.primary(route.gateway);
            if !gateways.contains(&primary) {
                gateways.push(primary);
            }
        }
        self.rules().applied_to_peer_ni(nid, &own, &gateways)
    }
}
