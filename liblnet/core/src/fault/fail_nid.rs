//! Simulated failure of chosen NIDs (ST-26).

use crate::sync::{Mutex, lock};
use lnet_wire::Nid;
use std::sync::atomic::{AtomicBool, Ordering};

/// The NIDs that fail, each with the number of messages.
#[derive(Debug, Default)]
pub(crate) struct FailRules {
    any: AtomicBool,
    rules: Mutex<Vec<FailRule>>,
}

#[derive(Debug)]
struct FailRule {
    /// The NID that fails; `None`: every NID.
    nid: Option<Nid>,
    /// The number of messages still to fail; `None`: unlimited.
    left: Option<u32>,
}

impl FailRules {
    /// Adds a rule; a `count` of 0 removes the rules for `nid` (`None`: all rules).
    pub(crate) fn set(&self, nid: Option<Nid>, count: u32) {
        let rules = &mut *lock(&self.rules);
        if count == 0 {
            rules.retain(|rule| nid.is_some() && rule.nid != nid);
        } else {
            rules.push(FailRule { nid, left: (count != u32::MAX).then_some(count) });
        }
        self.any.store(!rules.is_empty(), Ordering::Release);
    }

    /// Whether a message to or from `nid` fails now; if so, counts it against the rule.
    #[inline]
    pub(crate) fn hits(&self, nid: Nid) -> bool {
        self.any.load(Ordering::Acquire) && self.applies_to(nid)
    }

    #[cold]
    fn applies_to(&self, nid: Nid) -> bool {
        let rules = &mut *lock(&self.rules);
        let Some(at) = rules.iter().position(|rule| rule.nid.is_none_or(|its| its == nid)) else {
            return false;
        };
        if let Some(left) = &mut rules[at].left {
            *left -= 1;
            if *left == 0 {
                rules.remove(at);
                self.any.store(!rules.is_empty(), Ordering::Release);
            }
        }
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_used_up_or_removed() {
        let rules = FailRules::default();
        let other = Nid::from_u64(0x0002_0000_0a00_0001).unwrap();
        rules.set(Some(Nid::LOOPBACK), 2);
        assert!(!rules.hits(other));
        assert!(rules.hits(Nid::LOOPBACK) && rules.hits(Nid::LOOPBACK) && !rules.hits(Nid::LOOPBACK));
        rules.set(None, u32::MAX);
        assert!((0..9).all(|_| rules.hits(other)));
        rules.set(None, 0);
        assert!(!rules.hits(other));
    }
}
