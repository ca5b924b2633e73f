//! What the selection rules come to for the NIs and peer NIs that there are (cfg-095 to cfg-165).

use super::{PeerNi, Preferred, Topology};
use crate::environment::ConfigGuard;
use crate::policy::{Applied, Rules};
use lnet_wire::Nid;
use std::sync::Arc;

impl Topology {
    /// The rules as they are.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        self.rules.load_full()
    }

    /// Replaces them.
    pub(crate) fn set_rules(&self, _: &ConfigGuard<'_>, rules: Rules) {
        self.rules.store(Arc::new(rules));
        self.apply_rules();
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
        for peer_ni in self.peers().all() {
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
        self.rules.load().iter().next().is_some()
    }

    /// After interfaces or NIDs of peers came or went (UD-12).
    pub(crate) fn reapply_rules(&self, _: &ConfigGuard<'_>) {
        if self.has_rules() {
            self.apply_rules();
        }
    }

    /// What the rules come to for another node's interface.
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
