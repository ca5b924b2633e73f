//! The state of a net that changes while messages flow.

use super::priority::LOWEST_PRIORITY;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The state of a net that changes while messages flow; it is kept when interfaces are added and removed.
#[derive(Debug)]
pub struct NetUsage {
    priority: AtomicU32,
    by_rules: AtomicBool,
}

impl Default for NetUsage {
    fn default() -> Self {
        Self { priority: AtomicU32::new(LOWEST_PRIORITY), by_rules: AtomicBool::new(false) }
    }
}

impl NetUsage {
    /// Its priority by selection rules; `u32::MAX` is none.
    pub fn priority(&self) -> u32 {
        self.priority.load(Ordering::Relaxed)
    }

    pub(crate) fn set_priority(&self, priority: u32) {
        self.priority.store(priority, Ordering::Relaxed);
    }

    /// Whether there are selection rules: the interfaces on it may have different priorities then.
    pub(crate) fn is_by_rules(&self) -> bool {
        self.by_rules.load(Ordering::Relaxed)
    }

    pub(crate) fn set_by_rules(&self, by_rules: bool) {
        self.by_rules.store(by_rules, Ordering::Relaxed);
    }
}
