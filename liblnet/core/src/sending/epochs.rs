//! The epochs by which the credits of interfaces are reclaimed.

use crate::credit::RECLAIM_AFTER;
use crate::environment::time::Time;
use crate::sync::{Mutex, lock};
use std::sync::atomic::{AtomicBool, Ordering};

/// The epochs of all interfaces of a node. No epoch begins while every interface has credits.
#[derive(Debug, Default)]
pub(crate) struct Epochs {
    watched: AtomicBool,
    began: Mutex<Option<Time>>,
}

impl Epochs {
    /// Records that an interface has no credits left. Returns whether the monitor thread must be told.
    pub(crate) fn watch(&self) -> bool {
        !self.is_watched() && !self.watched.swap(true, Ordering::AcqRel)
    }

    /// Whether an interface had no credits left since the last epoch began.
    pub(crate) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Acquire)
    }

    /// Begins an epoch, if the last one began long enough ago; otherwise returns the time for that. The caller checks after this
    /// which interfaces have no credits left.
    pub(crate) fn begin(&self, now: Time) -> Result<(), Time> {
        let mut began = lock(&self.began);
        match began.map(|began| began + RECLAIM_AFTER).filter(|due| *due > now) {
            Some(due) => Err(due),
            None => {
                *began = Some(now);
                // The flag is cleared before that check: messages that begin to wait during it are found by the next one.
                self.watched.store(false, Ordering::Release);
                Ok(())
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn an_epoch_is_at_least_the_credit_hold_time_and_begins_only_while_something_waits() {
        let at = |millis| Time(Duration::from_millis(millis));
        let epochs = Epochs::default();
        assert!(!epochs.is_watched());
        assert!(epochs.watch() && !epochs.watch() && epochs.is_watched());
        assert_eq!(epochs.begin(at(7)), Ok(()));
        assert!(!epochs.is_watched());
        assert!(epochs.watch());
        assert_eq!(epochs.begin(at(106)), Err(at(107)));
        assert!(epochs.is_watched());
        assert_eq!(epochs.begin(at(107)), Ok(()));
        assert!(epochs.watch());
        assert_eq!(epochs.begin(at(5000)), Ok(()));
    }
}
