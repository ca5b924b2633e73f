//! Configuration changes while the node runs: settings, peers, routes, forwarding, selection rules, health values.
//!
//! Changes are made one at a time, under the configuration lock; values that are read for each message are
//! replaced as a whole. In an event handler every change is [`Errno::Busy`].

use super::Admin;
use crate::environment::ConfigGuard;
use crate::event::in_handler;
use crate::model::{GatewayTerms, Peer, PeerNi, PeerState};
use crate::policy::{Applied, Rule, Rules};
use crate::router::{Forwarded, PoolState};
use crate::select;
use crate::topology::peer_config::{self, Adding, Deleting, Making};
use crate::topology::{Route, Routes, RuleChange};
use lnet_settings::{DiscoveryMode, Settings};
use lnet_wire::{Errno, NetId, Nid};
use std::sync::Arc;

impl Admin<'_> {
    /// Takes the configuration lock. Removing an interface waits for event handlers while it holds this lock, so an event
    /// handler that waited for the lock would never return: it gets [`Errno::Busy`].
    pub(crate) fn configuring(&self) -> Result<ConfigGuard<'_>, Errno> {
        if in_handler() { Err(Errno::Busy) } else { Ok(self.configuration.lock()) }
    }
}

/// Methods about settings.
impl Admin<'_> {
    /// Changes settings: everything that `change` does, or nothing if it fails. [`Errno::NotSupported`] for discovery on a node
    /// without Multi-Rail.
    pub fn change_settings(
        &self,
        change: impl FnOnce(&mut Settings) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let config = self.configuring()?;
        let before = self.env.settings();
        let mut settings = before;
        change(&mut settings)?;
        if settings.discovery != DiscoveryMode::Off {
            self.needs_multi_rail()?;
        }
        self.env.set_settings(settings);
        let off = |settings: &Settings| settings.discovery == DiscoveryMode::Off;
        if off(&before) != off(&settings) {
            self.rebuild_ping_target(&config);
        }
        self.discovery.handle_settings(&config, self.topology, &before, &settings);
        Ok(())
    }
}

/// Methods about peers (cfg-070 to cfg-080).
impl Admin<'_> {
    fn needs_multi_rail(&self) -> Result<(), Errno> {
        if self.env.config().multi_rail { Ok(()) } else { Err(Errno::NotSupported) }
    }

    /// All peers, in the order in which they were added. This node itself is one of them once a message has been sent
    /// to one of its NIDs; a recovery ping of one of its interfaces does not count (HE-53).
    pub fn peers(&self) -> Vec<Arc<Peer>> {
        self.topology.listed_peers()
    }

    /// The peer with this NID, and its peer NIs in order.
    pub fn peer(&self, nid: Nid) -> Option<(Arc<Peer>, Vec<Arc<PeerNi>>)> {
        let peer = self.topology.peer_ni(nid)?.peer();
        let nis = peer.nids.iter().filter_map(|nid| self.topology.peer_ni(*nid)).collect();
        Some((peer, nis))
    }

    /// Adds a configured peer; one that exists with the same configuration is not changed (OM-27). [`Errno::NotSupported`] for a
    /// multi-rail peer of a node without Multi-Rail.
    pub fn make_peer(&self, primary: Nid, multi_rail: bool, lock_primary: bool) -> Result<(), Errno> {
        if multi_rail {
            self.needs_multi_rail()?;
        }
        let config = self.configuring()?;
        let known = self.topology.peer(primary);
        let is_gateway = known.as_ref().is_some_and(|peer| self.topology.is_gateway(peer));
        match peer_config::make(known.as_deref(), primary, multi_rail, is_gateway)? {
            Making::Unchanged => {}
            Making::Make => {
                let state = PeerState::CONFIGURED
                    .with(PeerState::MULTI_RAIL, multi_rail)
                    .with(PeerState::LOCK_PRIMARY, lock_primary);
                self.topology.peers().make(
                    &config,
                    primary,
                    state,
                    self.topology.first_peer_credits(primary),
                );
                self.topology.renew_rules(&config);
                self.discovery.wake();
            }
        }
        Ok(())
    }

    /// Adds a NID to the configured peer `primary` (OM-28, OM-29). [`Errno::NotSupported`] as for [`Admin::make_peer`].
    pub fn add_peer_nid(&self, primary: Nid, nid: Nid, multi_rail: bool) -> Result<(), Errno> {
        if multi_rail {
            self.needs_multi_rail()?;
        }
        let config = self.configuring()?;
        let peer = self.topology.peer(primary);
        let owner = self.topology.peer(nid);
        let owner_is_gateway = owner.as_ref().is_some_and(|owner| self.topology.is_gateway(owner));
        let adding =
            peer_config::add(peer.as_deref(), primary, nid, multi_rail, owner.as_deref(), owner_is_gateway)?;
        if let (Adding::Attach | Adding::Replace, Some(peer)) = (adding, peer) {
            self.topology.peers().attach(&config, &peer, nid, self.topology.first_peer_credits(nid));
            self.topology.renew_rules(&config);
            self.discovery.wake();
        }
        Ok(())
    }

    /// Deletes a NID of a peer; without a NID, or with the primary NID, the peer (OM-30).
    pub fn delete_peer(&self, primary: Nid, nid: Option<Nid>, force: bool) -> Result<(), Errno> {
        let config = self.configuring()?;
        let Some(peer) = self.topology.peer(primary) else {
            return Err(Errno::NotFound);
        };
        let known = nid.is_some_and(|nid| self.topology.peer_ni(nid).is_some());
        let is_gateway = self.topology.is_gateway(&peer);
        match peer_config::delete(Some(&peer), primary, nid, known, force, is_gateway)? {
            Deleting::Peer => self.forget_peer(&config, &peer),
            Deleting::Secondaries => self.topology.peers().detach(&config, &peer, |nid| nid != primary),
            Deleting::Nid(gone) => self.topology.peers().detach(&config, &peer, |nid| nid == gone),
        }
        self.topology.renew_rules(&config);
        self.discovery.reverify_rejected(self.topology);
        self.discovery.wake();
        Ok(())
    }

    /// Overwrites the state flags of a peer: for debugging.
    pub fn set_peer_state(&self, nid: Nid, state: PeerState) -> Result<(), Errno> {
        let _config = self.configuring()?;
        let peer = self.topology.peer_ni(nid).ok_or(Errno::NotFound)?.peer();
        // Flags of operations in progress keep their values.
        let under_way = PeerState::DISCOVERING
            .union(PeerState::PING_SENT)
            .union(PeerState::PUSH_SENT)
            .union(PeerState::DATA_PRESENT);
        peer.discovery.with(|inner| {
            let flags = inner.progress.flags;
            inner.progress.flags = state.without(under_way).union(PeerState(flags.0 & under_way.0));
        });
        Ok(())
    }

    /// Whether a route has this peer as its gateway.
    pub fn is_gateway(&self, peer: &Peer) -> bool {
        self.topology.is_gateway(peer)
    }
}

/// Methods about routes and forwarding.
impl Admin<'_> {
    /// The current routes.
    pub fn routes(&self) -> Arc<Routes> {
        self.topology.routes()
    }

    /// Whether the gateway of a route has responded to its last check, or has not been checked yet; `None` for a peer that
    /// is no gateway.
    pub fn gateway_responds(&self, peer: &Peer) -> Option<bool> {
        self.is_gateway(peer).then(|| !peer.discovery.has_failed())
    }

    /// Whether this interface of a gateway is alive (RT-20): the gateway responds, does not report the interface as down, its
    /// health is at least the sensitivity, and if it is on a net of this node some path to it works. `None` for a peer that is
    /// no gateway.
    pub fn gateway_ni_is_alive(&self, peer: &Peer, peer_ni: &PeerNi) -> Option<bool> {
        let least_health = GatewayTerms::of(&self.env.settings()).least_health;
        let nets = self.topology.nets();
        let is_reached = || nets.net(peer_ni.nid().net()).is_none() || select::is_usable(&nets, peer_ni);
        let is_alive = |responses: bool| {
            responses && !peer_ni.is_reported_down() && peer_ni.health() >= least_health && is_reached()
        };
        self.gateway_responds(peer).map(is_alive)
    }

    /// Adds a route, and the gateway as a peer if it is unknown (RT-1).
    pub fn add_route(&self, route: Route) -> Result<(), Errno> {
        let config = self.configuring()?;
        self.topology.add_route(&config, route, || self.data_path.peer_ni(route.gateway))?;
        drop(config);
        if self.env.settings().alive_router_check_interval > 0 {
            // Discovery shows whether the gateway forwards, and its other NIDs.
            self.discover(route.gateway, false)?;
            self.health.wake();
        }
        Ok(())
    }

    /// Deletes routes; the gateway may be given by any of its NIDs (RT-3).
    pub fn delete_routes(&self, net: Option<NetId>, gateway: Option<Nid>) -> Result<(), Errno> {
        let config = self.configuring()?;
        let same_peer = |its: Nid| {
            gateway.is_none_or(|nid| self.topology.peers().primary(nid) == self.topology.peers().primary(its))
        };
        self.topology.delete_routes(&config, net, same_peer, self.env.now())
    }

    /// The messages that this node has forwarded.
    pub fn forwarded(&self) -> Forwarded {
        self.router_buffers.forwarded()
    }

    /// The router buffers of a CPT: tiny, small, large. `None` for a CPT that does not exist.
    pub fn router_buffers(&self, cpt: usize) -> Option<[PoolState; 3]> {
        self.router_buffers.state(cpt)
    }

    /// Removes the routes and peers that depended on a net that the node has left.
    pub(crate) fn leave_net(&self, config: &ConfigGuard<'_>, net: NetId) {
        // Routes with a gateway on that net.
        let _ = self.topology.delete_routes(config, None, |gateway| gateway.net() == net, self.env.now());
        self.discovery.note_forgetting(self.env);
        self.topology.peers().leave_net(config, net, |other| self.topology.leads_to(other));
        self.topology.renew_rules(config);
        self.discovery.reverify_rejected(self.topology);
        self.discovery.wake();
    }
}

/// Methods about selection rules (cfg-095 to cfg-165).
impl Admin<'_> {
    /// The current rules.
    pub fn rules(&self) -> Arc<Rules> {
        self.topology.rules()
    }

    /// Adds a rule: see [`Rules::add`].
    pub fn add_rule(&self, rule: Rule, index: Option<usize>) -> Result<(), Errno> {
        let config = self.configuring()?;
        let mut rules = Rules::clone(&self.rules());
        let at = rules.add(rule, index)?;
        self.topology.set_rules(&config, rules, RuleChange::Put(at));
        Ok(())
    }

    /// Deletes one rule or all: see [`Rules::delete`].
    pub fn delete_rule(&self, index: Option<usize>) -> Result<(), Errno> {
        let config = self.configuring()?;
        let mut rules = Rules::clone(&self.rules());
        let gone = rules.delete(index)?;
        let change = match (index, gone.first()) {
            (Some(index), Some(rule)) => RuleChange::Deleted(index, rule),
            _ => RuleChange::Cleared,
        };
        self.topology.set_rules(&config, rules, change);
        Ok(())
    }

    /// Deletes the rule with the same selectors as `rule`. [`Errno::NotFound`] if there is none, [`Errno::Invalid`] if its
    /// index is not `index`.
    pub fn delete_same_rule(&self, rule: &Rule, index: Option<usize>) -> Result<(), Errno> {
        let config = self.configuring()?;
        let mut rules = Rules::clone(&self.rules());
        let at = rules.position(rule).ok_or(Errno::NotFound)?;
        if index.is_some_and(|index| index != at) {
            return Err(Errno::Invalid);
        }
        rules.delete(Some(at))?;
        self.topology.set_rules(&config, rules, RuleChange::Deleted(at, rule));
        Ok(())
    }

    /// The effect of the rules on a local NI.
    pub fn applied_to_ni(&self, nid: Nid) -> Applied {
        self.topology.applied_to_ni(nid)
    }

    /// The effect of the rules on a peer NI.
    pub fn applied_to_peer_ni(&self, nid: Nid) -> Applied {
        self.topology.applied_to_peer_ni(nid)
    }
}
