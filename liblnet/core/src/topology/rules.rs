//! The effect of the selection rules on the NIs and peer NIs (cfg-095 to cfg-165).

use super::{PeerNi, Preferred, Topology};
use crate::environment::ConfigGuard;
use crate::policy::{Applied, Rules};
use lnet_wire::Nid;
use std::sync::Arc;

impl Topology {
    /// The current rules.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        self.rules.load_full()
    }

    /// Replaces the rules.
    pub(crate) fn set_rules(&self, _: &ConfigGuard<'_>, rules: Rules) {
        self.rules.store(Arc::new(rules));
        self.apply_rules();
    }

    /// Stores the effect of the rules where path selection reads it (UD-10): for all, or for new peer NIs.
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
        for peer_ni in self.peers().all() {
            self.apply_rules_to(&peer_ni);
        }
    }

    /// Stores the effect of the rules on one peer NI. A peer that is not multi-rail stays bound to its interface
    /// unless a rule names others (UD-14).
    pub(crate) fn apply_rules_to(&self, peer_ni: &PeerNi) {
        let applied = self.applied_to_peer_ni(peer_ni.nid());
        peer_ni.set_priority(applied.nid_priority);
        let peer = peer_ni.peer();
        for net in peer.nets.iter().filter(|net| net.id == peer_ni.nid().net()) {
            net.usage.set_priority(applied.net_priority);
            net.usage.set_by_rules(self.has_rules());
        }
        match (&*peer_ni.preferred(), applied.preferred_nids) {
            (Preferred::ByRule(_), none) if none.is_empty() => peer_ni.set_preferred(Preferred::Nothing),
            (_, none) if none.is_empty() => {}
            (_, nids) => peer_ni.set_preferred(Preferred::ByRule(nids)),
        }
    }

    /// Whether there is any rule.
    pub(crate) fn has_rules(&self) -> bool {
        self.rules.load().iter().next().is_some()
    }

    /// Applies the rules after interfaces or NIDs of peers have been added or removed (UD-12).
    pub(crate) fn reapply_rules(&self, _: &ConfigGuard<'_>) {
        if self.has_rules() {
            self.apply_rules();
        }
    }

    /// The effect of the rules on a peer NI.
    pub(crate) fn applied_to_peer_ni(&self, nid: Nid) -> Applied {
        let own: Vec<Nid> = self.with_nets(|nets| nets.nis().map(|ni| ni.nid()).collect());
        let mut gateways: Vec<Nid> = Vec::new();
        for route in self.routes.load().iter() {
            let primary = self.peers().primary(route.gateway);
            if !gateways.contains(&primary) {
                gateways.push(primary);
            }
        }
        self.rules().applied_to_peer_ni(nid, &own, &gateways)
    }
}
