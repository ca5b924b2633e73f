//! The effect of the rules on one NID (UD-40).

use super::{Action, Rule, Rules};
use crate::model::LOWEST_PRIORITY;
use lnet_wire::{Nid, Selector};

/// The maximum number of NIDs in a list.
const MAX_SHOWN: usize = 128;

/// The effect of the rules on one NID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The priority of the NID.
    pub nid_priority: u32,
    /// The priority of its net.
    pub net_priority: u32,
    /// The preferred local NIDs; at most 128.
    pub preferred_nids: Vec<Nid>,
    /// The preferred routers; at most 128.
    pub preferred_routers: Vec<Nid>,
}

impl Rules {
    /// The effect on a local NI.
    pub fn applied_to_ni(&self, nid: Nid) -> Applied {
        let (nid_priority, net_priority) = self.priorities(nid, |rule| match (&rule.src, &rule.dst) {
            (Some(src), None) => Some(src),
            _ => None,
        });
        Applied { nid_priority, net_priority, preferred_nids: Vec::new(), preferred_routers: Vec::new() }
    }

    /// The effect on a peer NI, on a node with the local NIDs `own` and the `gateways`, given by their primary NIDs.
    pub fn applied_to_peer_ni(&self, nid: Nid, own: &[Nid], gateways: &[Nid]) -> Applied {
        let (nid_priority, net_priority) =
            self.priorities(nid, |rule| match (&rule.src, &rule.dst, &rule.rte) {
                (None, Some(dst), None) => Some(dst),
                _ => None,
            });
        // Only the first list rule that matches counts (UD-11).
        let list = |partner: fn(&Rule) -> Option<&Selector>, among: &[Nid]| {
            let of_rule = self.iter().find_map(|rule| {
                let concerns = rule.action == Action::PreferredList;
                rule.dst.as_ref().filter(|dst| concerns && dst.matches_nid(nid)).and_then(|_| partner(rule))
            });
            of_rule.map_or_else(Vec::new, |selector| {
                among.iter().copied().filter(|nid| selector.matches_nid(*nid)).take(MAX_SHOWN).collect()
            })
        };
        Applied {
            nid_priority,
            net_priority,
            preferred_nids: list(|rule| rule.src.as_ref(), own),
            preferred_routers: list(|rule| rule.rte.as_ref(), gateways),
        }
    }

    /// The priorities of `nid` and its net by the rules about one side.
    fn priorities(&self, nid: Nid, side: impl Fn(&Rule) -> Option<&Selector>) -> (u32, u32) {
        let first = |of_nets: bool| {
            let given = self.iter().find_map(|rule| match (side(rule), rule.action) {
                (Some(selector), Action::Priority(priority))
                    if selector.is_of_nets() == of_nets && selector.matches_nid(nid) =>
                {
                    Some(priority)
                }
                _ => None,
            });
            given.unwrap_or(LOWEST_PRIORITY)
        };
        (first(false), first(true))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn rules(list: &[(&str, &str, &str, Action)]) -> Rules {
        let mut rules = Rules::default();
        for (src, dst, rte, action) in list {
            let selector = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
            let rule = Rule { src: selector(src), dst: selector(dst), rte: selector(rte), action: *action };
            rules.add(rule, None).unwrap();
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
            assert_eq!((applied.nid_priority, applied.net_priority), (nid_priority, net_priority), "{own}");
        }
        let peer = rules.applied_to_peer_ni(nid("10.0.0.2@tcp"), &[], &[]);
        assert_eq!((peer.nid_priority, peer.net_priority), (u32::MAX, 7));
    }

    #[test]
    fn rules_of_nid_pairs_and_routers_become_lists() {
        let rules = rules(&[
            ("10.0.0.1@tcp", "10.0.0.9@tcp", "", Action::PreferredList),
            ("10.0.0.*@tcp", "10.0.0.*@tcp", "", Action::PreferredList),
            ("", "tcp", "10.0.0.7@tcp", Action::PreferredList),
        ]);
        let own = [nid("10.0.0.1@tcp"), nid("10.0.0.2@tcp"), nid("10.0.0.1@tcp1")];
        let gateways = [nid("10.0.0.7@tcp"), nid("10.0.0.8@tcp")];
        let nine = rules.applied_to_peer_ni(nid("10.0.0.9@tcp"), &own, &gateways);
        assert_eq!(nine.preferred_nids, [own[0]]);
        assert_eq!(nine.preferred_routers, [gateways[0]]);
        let eight = rules.applied_to_peer_ni(nid("10.0.0.8@tcp"), &own, &gateways);
        assert_eq!(eight.preferred_nids, own[..2]);
    }
}
