//! The effect of the rules on one NID (UD-40).

use super::{Action, Rule, Rules, Subject};
use crate::model::LOWEST_PRIORITY;
use lnet_wire::{Nid, Selector};
use std::num::NonZeroU32;

/// The effect of the rules on one NID.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// What the NID is given.
    pub nid: Option<Given>,
    /// What its net is given.
    pub net: Option<Given>,
    /// The preferred local NIDs.
    pub local_nids: Vec<PartnerByRule>,
    /// The preferred gateways.
    pub gateways: Vec<PartnerByRule>,
}

/// What a rule gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// The priority.
    pub priority: u32,
    /// The messages of a turn.
    pub messages: Option<NonZeroU32>,
    /// The index of the rule.
    pub rule: usize,
}

/// A partner that a rule names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartnerByRule {
    /// The partner.
    pub nid: Nid,
    /// Its place among the partners.
    pub given: Given,
}

/// A gateway that rules may name: by any of its NIDs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayNids {
    /// The NID of its routes.
    pub nid: Nid,
    /// All its NIDs.
    pub nids: Vec<Nid>,
}

impl Applied {
    /// The priority of the NID.
    pub fn nid_priority(&self) -> u32 {
        self.nid.map_or(LOWEST_PRIORITY, |given| given.priority)
    }

    /// The priority of its net.
    pub fn net_priority(&self) -> u32 {
        self.net.map_or(LOWEST_PRIORITY, |given| given.priority)
    }
}

impl Rules {
    /// The effect on a local NI.
    pub fn applied_to_ni(&self, nid: Nid) -> Applied {
        Applied {
            nid: self.given(nid, Subject::LocalNi, |rule| rule.src.as_ref()),
            net: self.given(nid, Subject::LocalNet, |rule| rule.src.as_ref()),
            ..Applied::default()
        }
    }

    /// The effect on a peer NI, on a node with the local NIDs `own` and the `gateways`.
    pub fn applied_to_peer_ni(&self, nid: Nid, own: &[Nid], gateways: &[GatewayNids]) -> Applied {
        let own = own.iter().map(|nid| (*nid, std::slice::from_ref(nid)));
        let gateways = gateways.iter().map(|gateway| (gateway.nid, &gateway.nids[..]));
        Applied {
            nid: self.given(nid, Subject::PeerNi, |rule| rule.dst.as_ref()),
            net: self.given(nid, Subject::PeerNet, |rule| rule.dst.as_ref()),
            local_nids: self.partners(nid, Subject::Pair, |rule| rule.src.as_ref(), own),
            gateways: self.partners(nid, Subject::Router, |rule| rule.rte.as_ref(), gateways),
        }
    }

    /// What the first rule about it gives a NID, or its net.
    fn given(&self, nid: Nid, subject: Subject, side: impl Fn(&Rule) -> Option<&Selector>) -> Option<Given> {
        let matches = |rule: &Rule| {
            rule.subject() == Some(subject) && side(rule).is_some_and(|selector| selector.matches_nid(nid))
        };
        let (index, rule) = self.iter().enumerate().find(|(_, rule)| matches(rule))?;
        Some(Given { priority: rule.priority(), messages: rule.messages, rule: index })
    }

    /// The partners of a peer NI `among` those that may be, each of which may have several NIDs.
    fn partners<'a>(
        &self,
        nid: Nid,
        subject: Subject,
        side: impl Fn(&Rule) -> Option<&Selector>,
        among: impl Iterator<Item = (Nid, &'a [Nid])> + Clone,
    ) -> Vec<PartnerByRule> {
        let mut out: Vec<PartnerByRule> = Vec::new();
        let mut has_list = false;
        for (index, rule) in self.iter().enumerate() {
            let is_list = rule.action == Action::PreferredList && rule.messages.is_none();
            if rule.subject() != Some(subject) || is_list && has_list {
                continue;
            }
            let Some(selector) =
                side(rule).filter(|_| rule.dst.as_ref().is_some_and(|dst| dst.matches_nid(nid)))
            else {
                continue;
            };
            let given = Given { priority: rule.priority(), messages: rule.messages, rule: index };
            for (partner, nids) in among.clone() {
                if nids.iter().any(|nid| selector.matches_nid(*nid)) {
                    has_list |= is_list;
                    if !out.iter().any(|known| known.nid == partner) {
                        out.push(PartnerByRule { nid: partner, given });
                    }
                }
            }
        }
        out
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

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
            let applied = rules.applied_to_ni(nid(own));
            assert_eq!(
                (applied.nid_priority(), applied.net_priority()),
                (nid_priority, net_priority),
                "{own}"
            );
        }
        let peer = rules.applied_to_peer_ni(nid("10.0.0.2@tcp"), &[], &[]);
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
        let nine = rules.applied_to_peer_ni(nid("10.0.0.9@tcp"), &own, &gateways);
        assert_eq!(nids(&nine.local_nids), [own[0]], "the first list counts");
        assert_eq!(nids(&nine.gateways), [gateways[1].nid]);
        let eight = rules.applied_to_peer_ni(nid("10.0.0.8@tcp"), &own, &gateways);
        assert_eq!(nids(&eight.local_nids), own[..2]);
        let without_first = rules.applied_to_peer_ni(nid("10.0.0.9@tcp"), &own[1..], &gateways);
        assert_eq!(nids(&without_first.local_nids), [own[1]], "a list that names nobody does not count");
    }

    /// cfg-125: fails if a partner has another priority than that of its rule.
    /// cfg-155: fails if a rule without a priority gives another one than the highest.
    #[test]
    fn partners_have_the_priorities_of_their_rules_and_none_is_the_highest() {
        let rules = rules(&[
            ("10.0.0.3@tcp", "10.0.0.9@tcp", "", Action::Priority(7)),
            ("10.0.0.[1-3]@tcp", "10.0.0.[9-9]@tcp", "", Action::Priority(2)),
            ("10.0.0.4@tcp", "10.0.0.*@tcp", "", Action::PreferredList),
        ]);
        let own = [1, 2, 3, 4].map(|last| nid(&format!("10.0.0.{last}@tcp")));
        let applied = rules.applied_to_peer_ni(nid("10.0.0.9@tcp"), &own, &[]);
        let found: Vec<_> =
            applied.local_nids.iter().map(|its| (its.nid, its.given.priority, its.given.rule)).collect();
        assert_eq!(found, [(own[2], 7, 0), (own[0], 2, 1), (own[1], 2, 1), (own[3], 0, 2)]);
    }
}
