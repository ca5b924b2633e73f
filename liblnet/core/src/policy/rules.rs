//! The list of selection rules.

use crate::model::LOWEST_PRIORITY;
use lnet_wire::{Errno, Selector};
use std::num::NonZeroU32;
use std::sync::Arc;

/// The highest number that a rule may give as a priority; [`LOWEST_PRIORITY`] is allowed as well.
pub const MAX_PRIORITY: u32 = 255;

/// The effect of a rule on the objects that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A priority from 0 to [`MAX_PRIORITY`], or [`LOWEST_PRIORITY`]; smaller is preferred.
    /// A rule about a pair gives the priority to the partners.
    Priority(u32),
    /// Makes the NIDs that match one selector the preferred partners of those that match the other, with the highest priority.
    /// Of several such rules for a peer NI only the first that finds partners applies.
    PreferredList,
}

/// A selection rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The interfaces of this node, or the nets, that the rule matches.
    pub src: Option<Selector>,
    /// The interfaces of peers, or the nets, that the rule matches.
    pub dst: Option<Selector>,
    /// The routers that the rule matches.
    pub rte: Option<Selector>,
    /// The effect on the matching objects.
    pub action: Action,
    /// The number of messages that each matching object gets in a row, before the next of equal priority has its turn (cfg-145);
    /// `None`: other criteria decide.
    pub messages: Option<NonZeroU32>,
}

/// The kind of objects that a rule applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Local nets.
    LocalNet,
    /// Local NIs.
    LocalNi,
    /// Nets of peers.
    PeerNet,
    /// Peer NIs.
    PeerNi,
    /// Local NIs for messages to peer NIs.
    Pair,
    /// Gateways for messages to peer NIs.
    Router,
}

impl Rule {
    /// A rule that counts no messages.
    pub const fn new(
        src: Option<Selector>,
        dst: Option<Selector>,
        rte: Option<Selector>,
        action: Action,
    ) -> Self {
        Self { src, dst, rte, action, messages: None }
    }

    /// The kind of objects that the rule applies to. A valid rule has one side, both, or a destination and its routers
    /// (core-behaviour 8.1); `None` for other combinations.
    pub fn subject(&self) -> Option<Subject> {
        match (&self.src, &self.dst, &self.rte) {
            (Some(src), None, None) if src.is_of_nets() => Some(Subject::LocalNet),
            (Some(_), None, None) => Some(Subject::LocalNi),
            (None, Some(dst), None) if dst.is_of_nets() => Some(Subject::PeerNet),
            (None, Some(_), None) => Some(Subject::PeerNi),
            (Some(_), Some(_), None) => Some(Subject::Pair),
            (None, Some(_), Some(_)) => Some(Subject::Router),
            _ => None,
        }
    }

    /// Whether the rule names partners.
    pub(crate) fn is_list(&self) -> bool {
        matches!(self.subject(), Some(Subject::Pair | Subject::Router))
    }

    /// Whether the rule excludes others of its kind: a list of partners without a priority, and without turns.
    pub(super) fn is_exclusive(&self) -> bool {
        self.action == Action::PreferredList && self.messages.is_none()
    }

    /// The priority that the rule gives.
    pub const fn priority(&self) -> u32 {
        match self.action {
            Action::Priority(priority) => priority,
            Action::PreferredList => 0,
        }
    }

    fn makes_sense(&self) -> bool {
        let in_range = self.priority() <= MAX_PRIORITY || self.priority() == LOWEST_PRIORITY;
        let has_partner = self.is_list() || self.action != Action::PreferredList;
        self.subject().is_some() && in_range && has_partner
    }

    fn is_about_the_same(&self, other: &Self) -> bool {
        (&self.src, &self.dst, &self.rte) == (&other.src, &other.dst, &other.rte)
    }
}

/// The list of rules, in order; the first one that matches applies (UD-11).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(Vec<Arc<Rule>>);

impl Rules {
    pub(super) fn shared(&self) -> impl Iterator<Item = &Arc<Rule>> {
        self.0.iter()
    }

    /// The number of rules.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rules in order.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.0.iter().map(|rule| &**rule)
    }

    /// The rule at `index`.
    pub fn get(&self, index: usize) -> Option<&Rule> {
        self.0.get(index).map(|rule| &**rule)
    }

    /// The index of the rule with the same selectors.
    pub fn position(&self, rule: &Rule) -> Option<usize> {
        self.0.iter().position(|known| known.is_about_the_same(rule))
    }

    /// Adds a rule before the one at `index`; at the end for `None` or an index beyond it (UD-30). [`Errno::Invalid`]
    /// for an invalid combination or a priority out of range. If a rule with the same selectors exists, [`Errno::Already`],
    /// unless both have priorities, and those or the messages differ: then the existing rule is changed. Returns the index of
    /// the rule.
    pub fn add(&mut self, rule: Rule, index: Option<usize>) -> Result<usize, Errno> {
        if !rule.makes_sense() {
            return Err(Errno::Invalid);
        }
        if let Some(at) = self.position(&rule) {
            let known = &mut self.0[at];
            let differ = (known.action, known.messages) != (rule.action, rule.messages);
            return match (known.action, rule.action) {
                (Action::Priority(_), Action::Priority(_)) if differ => {
                    *known = Arc::new(rule);
                    Ok(at)
                }
                _ => Err(Errno::Already),
            };
        }
        let at = index.unwrap_or(usize::MAX).min(self.0.len());
        self.0.insert(at, Arc::new(rule));
        Ok(at)
    }

    /// Deletes the rule at `index`, or all rules, and returns them; the following ones move up (UD-31).
    /// [`Errno::NotFound`] if there is no rule at `index`.
    pub fn delete(&mut self, index: Option<usize>) -> Result<Vec<Arc<Rule>>, Errno> {
        match index {
            None => Ok(std::mem::take(&mut self.0)),
            Some(index) if index < self.0.len() => Ok(vec![self.0.remove(index)]),
            Some(_) => Err(Errno::NotFound),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    pub(super) fn rule(src: &str, dst: &str, rte: &str, action: Action) -> Rule {
        let selector = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
        Rule::new(selector(src), selector(dst), selector(rte), action)
    }

    #[test]
    fn rules_stay_numbered_from_zero_in_the_order_of_insertion() {
        let mut rules = Rules::default();
        let priority = Action::Priority;
        rules.add(rule("tcp", "", "", priority(0)), None).unwrap();
        rules.add(rule("", "10.0.0.1@tcp", "", priority(1)), Some(9)).unwrap();
        rules.add(rule("tcp1", "", "", priority(1)), Some(0)).unwrap();
        let sources =
            |rules: &Rules| rules.iter().map(|r| r.src.as_ref().map(Selector::to_string)).collect::<Vec<_>>();
        assert_eq!(sources(&rules), [Some("tcp1".into()), Some("tcp".into()), None]);
        assert_eq!(rules.delete(Some(1)).map(|gone| gone.len()), Ok(1));
        assert_eq!(rules.delete(Some(7)), Err(Errno::NotFound));
        assert_eq!(sources(&rules), [Some("tcp1".into()), None]);
        assert_eq!(rules.delete(None).map(|gone| gone.len()), Ok(2));
        assert_eq!(rules, Rules::default());
        assert_eq!(rules.delete(None).map(|gone| gone.len()), Ok(0));
    }

    #[test]
    fn the_same_rule_twice_is_refused_unless_its_priority_changes() {
        let mut rules = Rules::default();
        rules.add(rule("tcp", "", "", Action::Priority(0)), None).unwrap();
        assert_eq!(rules.add(rule("tcp", "", "", Action::Priority(0)), None), Err(Errno::Already));
        assert_eq!(rules.add(rule("tcp", "", "", Action::Priority(5)), None), Ok(0));
        let counted = Rule { messages: NonZeroU32::new(3), ..rule("tcp", "", "", Action::Priority(5)) };
        assert_eq!(rules.add(counted.clone(), None), Ok(0));
        assert_eq!(rules.iter().collect::<Vec<_>>(), [&counted]);
    }

    #[test]
    fn rules_with_a_meaningless_combination_of_fields_are_rejected() {
        let nid = "10.0.0.1@tcp";
        let table = [
            (["", "", ""], false),
            ([nid, "", ""], true),
            (["", nid, ""], true),
            (["", "", nid], false),
            ([nid, nid, ""], true),
            ([nid, "", nid], false),
            (["", nid, nid], true),
            ([nid, nid, nid], false),
        ];
        for ([src, dst, rte], sense) in table {
            let added = Rules::default().add(rule(src, dst, rte, Action::Priority(0)), None);
            assert_eq!(added.is_ok(), sense, "{src} {dst} {rte}");
        }
    }

    #[test]
    fn priorities_out_of_range_and_lists_without_a_partner_are_rejected() {
        let nid = "10.0.0.1@tcp";
        let table = [
            ("", Action::Priority(255), true),
            ("", Action::Priority(256), false),
            ("", Action::Priority(LOWEST_PRIORITY), true),
            ("", Action::PreferredList, false),
            (nid, Action::PreferredList, true),
            (nid, Action::Priority(256), false),
        ];
        for (dst, action, sense) in table {
            let added = Rules::default().add(rule(nid, dst, "", action), None);
            assert_eq!(added.is_ok(), sense, "{dst} {action:?}");
        }
    }
}
