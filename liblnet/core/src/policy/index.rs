//! An index of the rules by the objects that they match, which finds the effect on a NID without a search through the others.

use super::applied::{Applied, GatewayNids, PartnerByRule, RuleEffect};
use super::{Rule, Rules, Subject};
use lnet_wire::{Nid, Selector};
use std::sync::Arc;

/// The rules of one list by their subjects, on a node with certain NIDs and gateways. Immutable: a change makes a new value.
#[derive(Debug, Default)]
pub struct RuleIndex {
    local_nets: Vec<Indexed>,
    local_nis: Vec<Indexed>,
    peer_nets: Vec<Indexed>,
    peer_nis: Vec<Indexed>,
    pairs: PartnerRules,
    routers: PartnerRules,
}

/// The number of rules that are compared before a peer NI's partners are read.
const MAX_COMPARED: usize = 16;

/// A rule and its index in the list.
#[derive(Debug)]
struct Indexed {
    at: usize,
    rule: Arc<Rule>,
}

/// The rules that name partners, without those that match no partner on this node.
#[derive(Debug, Default)]
struct PartnerRules {
    /// Exclusive rules: only the first one about a peer NI applies.
    lists: Vec<PartnerRule>,
    /// Rules that apply together.
    adding: Vec<PartnerRule>,
    /// The number of local NIDs or gateways that may be partners.
    candidates: usize,
}

#[derive(Debug)]
struct PartnerRule {
    rule: Indexed,
    partners: Vec<Nid>,
}

impl RuleIndex {
    /// The index of `rules` on a node with the local NIDs `own` and the `gateways`.
    pub fn new(rules: &Rules, own: &[Nid], gateways: &[GatewayNids]) -> Self {
        let mut index = Self::default();
        (index.pairs.candidates, index.routers.candidates) = (own.len(), gateways.len());
        for (at, rule) in rules.shared().enumerate() {
            let indexed = Indexed { at, rule: Arc::clone(rule) };
            match rule.subject() {
                Some(Subject::LocalNet) => index.local_nets.push(indexed),
                Some(Subject::LocalNi) => index.local_nis.push(indexed),
                Some(Subject::PeerNet) => index.peer_nets.push(indexed),
                Some(Subject::PeerNi) => index.peer_nis.push(indexed),
                Some(Subject::Pair) => {
                    let is_named = |nid: &&Nid| matches(rule.src.as_ref(), **nid);
                    index.pairs.push(indexed, own.iter().filter(is_named).copied().collect());
                }
                Some(Subject::Router) => {
                    let is_named =
                        |its: &&GatewayNids| its.nids.iter().any(|nid| matches(rule.rte.as_ref(), *nid));
                    let named = gateways.iter().filter(is_named).map(|its| its.nid);
                    index.routers.push(indexed, named.collect());
                }
                None => {}
            }
        }
        index
    }

    /// The effect of the rules on a local NI.
    pub fn applied_to_ni(&self, nid: Nid) -> Applied {
        Applied {
            nid: self.given(Subject::LocalNi, nid),
            net: self.given(Subject::LocalNet, nid),
            ..Applied::default()
        }
    }

    /// The effect of the rules on a peer NI.
    pub fn applied_to_peer_ni(&self, nid: Nid) -> Applied {
        Applied {
            nid: self.given(Subject::PeerNi, nid),
            net: self.given(Subject::PeerNet, nid),
            local_nids: self.partners(Subject::Pair, nid),
            gateways: self.partners(Subject::Router, nid),
        }
    }

    /// The effect of the first rule about a NID, or about its net. `None` for the subjects that name partners.
    pub(crate) fn given(&self, subject: Subject, nid: Nid) -> Option<RuleEffect> {
        self.first(subject, nid).map(Indexed::given)
    }

    /// The partners that rules about pairs, or about routers, name for a peer NI.
    pub(crate) fn partners(&self, subject: Subject, nid: Nid) -> Vec<PartnerByRule> {
        match subject {
            Subject::Pair => self.pairs.of(nid),
            Subject::Router => self.routers.of(nid),
            _ => Vec::new(),
        }
    }

    /// Whether the rule at this index has an effect on a NID, or on its net. For a rule that names partners, which must be the
    /// last: whether it may name one that the peer NI does not have (`has`).
    pub(crate) fn decides(
        &self,
        (at, subject): (usize, Subject),
        nid: Nid,
        has: impl Fn(Nid) -> bool,
    ) -> bool {
        let rules = match subject {
            Subject::Pair => &self.pairs,
            Subject::Router => &self.routers,
            _ => return self.first(subject, nid).is_some_and(|rule| rule.at == at),
        };
        let in_list = rules.list(nid).filter(|list| list.rule.at == at);
        let adds = || rules.adding.last().filter(|adding| adding.rule.at == at && adding.rule.is_about(nid));
        let Some(rule) = in_list.or_else(adds) else { return false };
        let names_them = |partners: &[Nid]| rule.partners.iter().all(|partner| partners.contains(partner));
        // An earlier rule that names the same partners spares the access to the peer NI, which is seldom in a cache.
        let said = rules
            .adding
            .iter()
            .take(MAX_COMPARED)
            .any(|first| first.rule.at < at && names_them(&first.partners) && first.rule.is_about(nid));
        !said && !rule.partners.iter().all(|nid| has(*nid))
    }

    fn first(&self, subject: Subject, nid: Nid) -> Option<&Indexed> {
        let (rules, of_this_node) = match subject {
            Subject::LocalNet => (&self.local_nets, true),
            Subject::LocalNi => (&self.local_nis, true),
            Subject::PeerNet => (&self.peer_nets, false),
            Subject::PeerNi => (&self.peer_nis, false),
            Subject::Pair | Subject::Router => return None,
        };
        rules.iter().find(|its| match of_this_node {
            true => matches(its.rule.src.as_ref(), nid),
            false => its.is_about(nid),
        })
    }
}

impl Indexed {
    fn is_about(&self, nid: Nid) -> bool {
        matches(self.rule.dst.as_ref(), nid)
    }

    fn given(&self) -> RuleEffect {
        RuleEffect { priority: self.rule.priority(), messages: self.rule.messages, rule: self.at }
    }
}

impl PartnerRules {
    fn push(&mut self, rule: Indexed, partners: Vec<Nid>) {
        if !partners.is_empty() {
            let kind = if rule.rule.is_exclusive() { &mut self.lists } else { &mut self.adding };
            kind.push(PartnerRule { rule, partners });
        }
    }

    fn list(&self, nid: Nid) -> Option<&PartnerRule> {
        self.lists.iter().find(|list| list.rule.is_about(nid))
    }

    /// The partners of a peer NI, each with the effect of the first rule that names it.
    fn of(&self, nid: Nid) -> Vec<PartnerByRule> {
        let list = self.list(nid);
        let first_behind =
            self.adding.partition_point(|adding| list.is_some_and(|list| adding.rule.at < list.rule.at));
        let (before, behind) = self.adding.split_at(first_behind);
        let is_about = |adding: &&PartnerRule| adding.rule.is_about(nid);
        let mut out: Vec<PartnerByRule> = Vec::new();
        for rule in before.iter().filter(is_about).chain(list).chain(behind.iter().filter(is_about)) {
            for partner in &rule.partners {
                if !out.iter().any(|known| known.nid == *partner) {
                    out.push(PartnerByRule { nid: *partner, given: rule.rule.given() });
                }
            }
            if out.len() == self.candidates {
                break;
            }
        }
        out
    }
}

fn matches(selector: Option<&Selector>, nid: Nid) -> bool {
    selector.is_some_and(|selector| selector.matches_nid(nid))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::Action;
    use super::*;

    fn applied_to_ni(rules: &Rules, nid: Nid) -> Applied {
        RuleIndex::new(rules, &[], &[]).applied_to_ni(nid)
    }

    fn applied_to_peer_ni(rules: &Rules, nid: Nid, own: &[Nid], gateways: &[GatewayNids]) -> Applied {
        RuleIndex::new(rules, own, gateways).applied_to_peer_ni(nid)
    }

    fn rules(list: &[(&str, &str, &str, Action)]) -> Rules {
        let mut rules = Rules::default();
        for (src, dst, rte, action) in list {
            let selector = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
            rules.add(Rule::new(selector(src), selector(dst), selector(rte), *action), None).unwrap();
        }
        rules
    }

    fn nid(text: &str) -> Nid {
        text.parse().unwrap()
    }

    #[test]
    fn priorities_go_to_nets_and_to_nids_and_the_first_rule_wins() {
        let rules = rules(&[
            ("10.0.0.[1-3]@tcp", "", "", Action::Priority(4)),
            ("10.0.0.*@tcp", "", "", Action::Priority(5)),
            ("tcp", "", "", Action::Priority(6)),
            ("", "tcp", "", Action::Priority(7)),
        ]);
        let table = [("10.0.0.2@tcp", 4, 6), ("10.0.0.9@tcp", 5, 6), ("10.0.0.2@tcp1", u32::MAX, u32::MAX)];
        for (own, nid_priority, net_priority) in table {
            let applied = applied_to_ni(&rules, nid(own));
            assert_eq!(
                (applied.nid_priority(), applied.net_priority()),
                (nid_priority, net_priority),
                "{own}"
            );
        }
        let peer = applied_to_peer_ni(&rules, nid("10.0.0.2@tcp"), &[], &[]);
        assert_eq!((peer.nid_priority(), peer.net_priority()), (u32::MAX, 7));
        assert_eq!(peer.net.map(|given| given.rule), Some(3));
    }

    #[test]
    fn rules_of_nid_pairs_and_routers_become_lists() {
        let rules = rules(&[
            ("10.0.0.1@tcp", "10.0.0.9@tcp", "", Action::PreferredList),
            ("10.0.0.*@tcp", "10.0.0.*@tcp", "", Action::PreferredList),
            ("", "tcp", "10.0.0.7@tcp", Action::PreferredList),
        ]);
        let own = [nid("10.0.0.1@tcp"), nid("10.0.0.2@tcp"), nid("10.0.0.1@tcp1")];
        let gateway = |nids: &[&str]| GatewayNids {
            nid: nid(nids[0]),
            nids: nids.iter().map(|its| nid(its)).collect(),
        };
        let gateways = [gateway(&["10.0.0.8@tcp"]), gateway(&["10.0.0.6@tcp", "10.0.0.7@tcp"])];
        let nids = |partners: &[PartnerByRule]| partners.iter().map(|its| its.nid).collect::<Vec<_>>();
        let nine = applied_to_peer_ni(&rules, nid("10.0.0.9@tcp"), &own, &gateways);
        assert_eq!(nids(&nine.local_nids), [own[0]], "the first list counts");
        assert_eq!(nids(&nine.gateways), [gateways[1].nid]);
        let eight = applied_to_peer_ni(&rules, nid("10.0.0.8@tcp"), &own, &gateways);
        assert_eq!(nids(&eight.local_nids), own[..2]);
        let without_first = applied_to_peer_ni(&rules, nid("10.0.0.9@tcp"), &own[1..], &gateways);
        assert_eq!(nids(&without_first.local_nids), [own[1]], "a list that names nobody does not count");
    }

    /// cfg-125: fails if a partner has another priority than that of its rule.
    /// cfg-155: fails if a rule without a priority does not give the highest one.
    #[test]
    fn partners_have_the_priorities_of_their_rules_and_none_is_the_highest() {
        let rules = rules(&[
            ("10.0.0.3@tcp", "10.0.0.9@tcp", "", Action::Priority(7)),
            ("10.0.0.[1-3]@tcp", "10.0.0.[9-9]@tcp", "", Action::Priority(2)),
            ("10.0.0.4@tcp", "10.0.0.*@tcp", "", Action::PreferredList),
        ]);
        let own = [1, 2, 3, 4].map(|last| nid(&format!("10.0.0.{last}@tcp")));
        let applied = applied_to_peer_ni(&rules, nid("10.0.0.9@tcp"), &own, &[]);
        let found: Vec<_> =
            applied.local_nids.iter().map(|its| (its.nid, its.given.priority, its.given.rule)).collect();
        assert_eq!(found, [(own[2], 7, 0), (own[0], 2, 1), (own[1], 2, 1), (own[3], 0, 2)]);
    }
}
