//! The list of rules.

use lnet_wire::{Errno, Selector};

/// What a rule does to what it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Gives it a priority; smaller is preferred.
    Priority(u32),
    /// Makes the NIDs that match on one side the preferred partners of those that match on the other.
    PreferredList,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Interfaces of this node, or their nets.
    pub src: Option<Selector>,
    /// Other nodes' interfaces, or their nets.
    pub dst: Option<Selector>,
    /// Routers.
    pub rte: Option<Selector>,
    /// What it does.
    pub action: Action,
}

impl Rule {
    /// Whether src, dst and rte are a valid combination: one side, both, or a destination and its router
    /// (core-behaviour 8.1).
    fn makes_sense(&self) -> bool {
        matches!(
            (&self.src, &self.dst, &self.rte),
            (Some(_), _, None) | (None, Some(_), None) | (None, Some(_), Some(_))
        )
    }

    fn is_about_the_same(&self, other: &Self) -> bool {
        (&self.src, &self.dst, &self.rte) == (&other.src, &other.dst, &other.rte)
    }
}

/// The rules in order: the first that matches decides (UD-11).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(Vec<Rule>);

impl Rules {
    /// In order.
    pub fn iter(&self) -> std::slice::Iter<'_, Rule> {
        self.0.iter()
    }

    /// The rule at `index`.
    pub fn get(&self, index: usize) -> Option<&Rule> {
        self.0.get(index)
    }

    /// Adds a rule before the one at `index`; at the end for `None` or an index beyond it (UD-30). [`Errno::Invalid`]
    /// for an invalid combination. If a rule with the same selectors exists, [`Errno::Already`], unless both have
    /// priorities that differ: then the priority of the existing rule is changed.
    pub fn add(&mut self, rule: Rule, index: Option<usize>) -> Result<(), Errno> {
        if !rule.makes_sense() {
            return Err(Errno::Invalid);
        }
        if let Some(known) = self.0.iter_mut().find(|known| known.is_about_the_same(&rule)) {
            return match (known.action, rule.action) {
                (Action::Priority(old), Action::Priority(new)) if old != new => {
                    known.action = rule.action;
                    Ok(())
                }
                _ => Err(Errno::Already),
            };
        }
        let at = index.unwrap_or(usize::MAX).min(self.0.len());
        self.0.insert(at, rule);
        Ok(())
    }

    /// Deletes the rule at `index`, or all rules; the following ones move up (UD-31). A missing rule is no error, as
    /// in the kernel.
    pub fn delete(&mut self, index: Option<usize>) {
        match index {
            None => self.0.clear(),
            Some(index) if index < self.0.len() => {
                self.0.remove(index);
            }
            Some(_) => {}
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    pub(super) fn rule(src: &str, dst: &str, rte: &str, action: Action) -> Rule {
        let selector = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
        Rule { src: selector(src), dst: selector(dst), rte: selector(rte), action }
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
        rules.delete(Some(1));
        rules.delete(Some(7));
        assert_eq!(sources(&rules), [Some("tcp1".into()), None]);
        rules.delete(None);
        assert_eq!(rules, Rules::default());
    }

    #[test]
    fn the_same_rule_twice_is_refused_unless_its_priority_changes() {
        let mut rules = Rules::default();
        rules.add(rule("tcp", "", "", Action::Priority(0)), None).unwrap();
        assert_eq!(rules.add(rule("tcp", "", "", Action::Priority(0)), None), Err(Errno::Already));
        assert_eq!(rules.add(rule("tcp", "", "", Action::PreferredList), None), Err(Errno::Already));
        assert_eq!(rules.add(rule("tcp", "", "", Action::Priority(5)), None), Ok(()));
        assert_eq!(rules.iter().map(|rule| rule.action).collect::<Vec<_>>(), [Action::Priority(5)]);
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
            let added = Rules::default().add(rule(src, dst, rte, Action::PreferredList), None);
            assert_eq!(added.is_ok(), sense, "{src} {dst} {rte}");
        }
    }
}
