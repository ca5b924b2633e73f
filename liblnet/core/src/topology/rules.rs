//! The effect of the selection rules on the nets, NIs and peer NIs (cfg-095 to cfg-165), stored where path selection reads it
//! (UD-10). It is renewed with every change of the rules, and of what they are about (UD-12).

use super::{Peer, PeerNi, PeerTable, Topology};
use crate::environment::ConfigGuard;
use crate::model::{Partner, Partners};
use crate::policy::{Applied, GatewayNids, Given, PartnerByRule, Rule, Rules, Subject};
use crate::select::ChosenPath;
use lnet_wire::{Nid, Selector};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Topology {
    /// The current rules.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        self.rules.load_full()
    }

    /// Replaces the rules, which differ from the present ones by these.
    pub(crate) fn set_rules(&self, _: &ConfigGuard<'_>, rules: Rules, changed: &[&Rule]) {
        let before = self.rules.swap(Arc::new(rules));
        let rules = self.rules();
        let counting = [Subject::PeerNet, Subject::PeerNi]
            .iter()
            .any(|subject| before.count_messages_of(*subject) != rules.count_messages_of(*subject));
        self.counts_messages.store(rules.iter().any(|rule| rule.messages.is_some()), Ordering::Relaxed);
        self.apply_to_local_nis(&rules);
        match counting {
            // Those without a rule have turns of one message as long as others have longer ones.
            true => self.apply_to_peers(&rules, |_| true),
            false => self.apply_to_peers_of(&rules, changed.iter().copied()),
        }
    }

    /// Local NIs have been added or removed.
    pub(crate) fn apply_rules_to_nis(&self, _: &ConfigGuard<'_>, changed: Nid) {
        let rules = self.rules();
        self.apply_to_local_nis(&rules);
        let concerns = |rule: &&Rule| {
            let src = rule.src.as_ref().filter(|_| rule.subject() == Some(Subject::Pair));
            src.is_some_and(|src| src.matches_nid(changed))
        };
        self.apply_to_peers_of(&rules, rules.iter().filter(concerns));
    }

    /// Routes have been added or removed, or their gateways have other NIDs.
    pub(crate) fn apply_router_rules(&self, _: &ConfigGuard<'_>) {
        let rules = self.rules();
        self.apply_to_peers_of(&rules, rules.iter().filter(|rule| rule.subject() == Some(Subject::Router)));
    }

    /// A peer has got NIDs.
    pub(crate) fn apply_rules_to_peer(&self, peer: &Peer) {
        let rules = self.rules.load();
        if rules.iter().next().is_some() {
            self.apply_to_peer(&rules, peer, &self.partner_candidates(&rules));
        }
    }

    /// The effect of the rules on a peer NI.
    pub(crate) fn applied_to_peer_ni(&self, nid: Nid) -> Applied {
        let rules = self.rules();
        let PartnerCandidates { own, gateways } = self.partner_candidates(&rules);
        rules.applied_to_peer_ni(nid, &own, &gateways)
    }

    /// Whether rules count messages.
    pub(crate) fn counts_messages(&self) -> bool {
        self.counts_messages.load(Ordering::Relaxed)
    }

    /// A message takes this path (cfg-145).
    pub(crate) fn note_turns(&self, chosen: &ChosenPath) {
        if self.counts_messages() {
            self.with_nets(|nets| chosen.note_turns(nets, &self.turn_clock));
        }
    }

    fn apply_to_local_nis(&self, rules: &Rules) {
        let (count_nets, count_nis) =
            (rules.count_messages_of(Subject::LocalNet), rules.count_messages_of(Subject::LocalNi));
        self.with_nets(|nets| {
            for (net, ni) in nets.iter().flat_map(|net| net.nis().iter().map(move |ni| (net, ni))) {
                let applied = rules.applied_to_ni(ni.nid());
                ni.set_priority(applied.nid_priority());
                ni.turn().set(messages(applied.nid, count_nis));
                net.usage().set_priority(applied.net_priority());
                net.usage().turn().set(messages(applied.net, count_nets));
                net.usage().set_count_messages_of_nis(count_nis);
            }
        });
    }

    /// Renews the peers that any of these rules is about.
    fn apply_to_peers_of<'a>(&self, rules: &Rules, concerned: impl Iterator<Item = &'a Rule>) {
        let selectors: Vec<&Selector> = concerned.filter_map(|rule| rule.dst.as_ref()).collect();
        if !selectors.is_empty() {
            let is_meant = |nid: &Nid| selectors.iter().any(|selector| selector.matches_nid(*nid));
            self.apply_to_peers(rules, |peer| peer.nids.iter().any(is_meant));
        }
    }

    fn apply_to_peers(&self, rules: &Rules, is_meant: impl Fn(&Peer) -> bool) {
        let candidates = self.partner_candidates(rules);
        for peer in self.peers().peers().iter().filter(|peer| is_meant(peer)) {
            self.apply_to_peer(rules, peer, &candidates);
        }
    }

    fn apply_to_peer(&self, rules: &Rules, peer: &Peer, candidates: &PartnerCandidates) {
        let (count_nets, count_nis) =
            (rules.count_messages_of(Subject::PeerNet), rules.count_messages_of(Subject::PeerNi));
        for net in &peer.nets {
            let (mut priorities, mut differ, mut has_partners) = (None, false, false);
            let (mut first, mut same_partners) = (None, true);
            for peer_ni in net.nis() {
                let applied = rules.applied_to_peer_ni(peer_ni.nid(), &candidates.own, &candidates.gateways);
                net.usage.set_priority(applied.net_priority());
                net.usage.turn().set(messages(applied.net, count_nets));
                store(&peer_ni, &applied, count_nis);
                differ |= *priorities.get_or_insert_with(|| peer_ni.priority()) != peer_ni.priority();
                differ |= !peer_ni.criteria().is_ranked();
                has_partners |= peer_ni.criteria().has_partners();
                let partners = peer_ni.partners();
                same_partners &= partners.as_ref().is_none_or(|partners| !partners.counts_messages());
                same_partners &= *first.get_or_insert_with(|| partners.clone()) == partners;
            }
            net.usage.set_nis_differ(differ);
            net.usage.set_has_same_partners(same_partners);
            net.usage.set_has_partners(has_partners);
        }
    }

    fn partner_candidates(&self, rules: &Rules) -> PartnerCandidates {
        let names = |subject| rules.iter().any(|rule| rule.subject() == Some(subject));
        PartnerCandidates {
            own: match names(Subject::Pair) {
                true => self.with_nets(|nets| nets.nis().map(|ni| ni.nid()).collect()),
                false => Vec::new(),
            },
            gateways: match names(Subject::Router) {
                true => gateways(self.routes.load().iter().map(|route| route.gateway), self.peers()),
                false => Vec::new(),
            },
        }
    }
}

/// Those that rules may name as partners.
struct PartnerCandidates {
    own: Vec<Nid>,
    gateways: Vec<GatewayNids>,
}

fn gateways(named: impl Iterator<Item = Nid>, peers: &PeerTable) -> Vec<GatewayNids> {
    let mut named: Vec<Nid> = named.collect();
    named.sort_unstable();
    named.dedup();
    let nids = |nid| peers.get(nid).map_or_else(|| vec![nid], |peer_ni| peer_ni.peer().nids.clone());
    named.into_iter().map(|nid| GatewayNids { nid, nids: nids(nid) }).collect()
}

fn store(peer_ni: &PeerNi, applied: &Applied, count: bool) {
    peer_ni.set_priority(applied.nid_priority());
    peer_ni.criteria().turn().set(messages(applied.nid, count));
    let partners = |list: &[PartnerByRule]| {
        let count = list.iter().any(|partner| partner.given.messages.is_some());
        let partner =
            |its: &PartnerByRule| Partner::new(its.nid, its.given.priority, messages(Some(its.given), count));
        list.iter().map(partner).collect()
    };
    let partners = Partners { nids: partners(&applied.local_nids), gateways: partners(&applied.gateways) };
    peer_ni.set_partners(partners);
}

/// The messages of a turn where rules count them: one without a rule.
fn messages(given: Option<Given>, count: bool) -> Option<NonZeroU32> {
    let its = given.and_then(|given| given.messages);
    if count { its.or(Some(NonZeroU32::MIN)) } else { None }
}
