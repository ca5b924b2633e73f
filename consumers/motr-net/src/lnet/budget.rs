//! The resources of a domain, of each of which a bounded number may be in use.

use crate::Errno;
use crate::sync::{AtomicUsize, Ordering};
use std::sync::Arc;

/// The used amount of a resource of a domain, and its limit.
#[derive(Debug)]
pub struct Budget {
    used: AtomicUsize,
    /// The limit; `usize::MAX`: none.
    limit: AtomicUsize,
}

impl Default for Budget {
    /// A budget without a limit of which nothing is used.
    fn default() -> Self {
        Self { used: AtomicUsize::new(0), limit: AtomicUsize::new(usize::MAX) }
    }
}

impl Budget {
    /// Adds `count` to the used amount. `ENOSPC`: that is more than the limit.
    pub fn take(&self, count: usize) -> Result<(), Errno> {
        let used = self.used.fetch_add(count, Ordering::Relaxed);
        if used.saturating_add(count) > self.limit.load(Ordering::Relaxed) {
            self.give(count);
            return Err(Errno::NoSpace);
        }
        Ok(())
    }

    /// Subtracts `count`, which was added before, from the used amount.
    pub fn give(&self, count: usize) {
        self.used.fetch_sub(count, Ordering::Relaxed);
    }

    /// Takes one unit of a resource, which is returned when the result is dropped.
    pub(super) fn hold_one(of: &Arc<Resources>, which: fn(&Resources) -> &Self) -> Result<HeldUnit, Errno> {
        which(of).take(1)?;
        Ok(HeldUnit { of: Arc::clone(of), which })
    }

    pub(super) fn set_limit(&self, limit: u32) {
        let limit = if limit == 0 { usize::MAX } else { limit as usize };
        self.limit.store(limit, Ordering::Relaxed);
    }

    pub(super) fn limit(&self) -> u32 {
        u32::try_from(self.limit.load(Ordering::Relaxed)).unwrap_or(0)
    }

    pub(super) fn used(&self) -> u32 {
        u32::try_from(self.used.load(Ordering::Relaxed)).unwrap_or(u32::MAX)
    }
}

/// The resources of a domain.
#[derive(Debug, Default)]
pub(super) struct Resources {
    /// The budget of started transfer machines.
    pub(super) tms: Budget,
    /// The budget of registered buffers.
    pub(super) buffers: Budget,
    /// The budget of events, which operations in progress reserve.
    pub(super) events: Arc<Budget>,
}

/// One unit of a budget, which is returned on drop.
pub(super) struct HeldUnit {
    of: Arc<Resources>,
    which: fn(&Resources) -> &Budget,
}

impl Drop for HeldUnit {
    fn drop(&mut self) {
        (self.which)(&self.of).give(1);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_budget_gives_as_many_as_its_limit_and_again_what_was_given_back() {
        let budget = Budget::default();
        assert_eq!((budget.take(1000), budget.limit()), (Ok(()), 0));
        budget.set_limit(1001);
        assert_eq!(budget.take(2), Err(Errno::NoSpace));
        assert_eq!(budget.take(1), Ok(()));
        assert_eq!(budget.take(1), Err(Errno::NoSpace));
        budget.give(3);
        assert_eq!(budget.take(3), Ok(()));
        budget.set_limit(5);
        assert_eq!((budget.used(), budget.take(1)), (1001, Err(Errno::NoSpace)));
        budget.set_limit(0);
        assert_eq!(budget.take(1), Ok(()));
    }
}
