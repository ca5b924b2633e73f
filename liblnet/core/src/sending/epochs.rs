//! When the next epoch of the interfaces' credits begins.

use crate::credit::RECLAIM_AFTER;
use crate::environment::time::Time;
use crate::sync::{Mutex, lock};
use std::sync::atomic::{AtomicBool, Ordering};

/// Epochs of all of a node's interfaces together. None begins while there are credits everywhere.
#[derive(Debug, Default)]
pub(crate) struct Epochs {
    watched: AtomicBool,
    began: Mutex<Option<Time>>,
}

impl Epochs {
    /// An interface has no credits left; whether that is new to the one who begins the epochs.
    pub(crate) fn watch(&self) -> bool {
        !self.is_watched() && !self.watched.swap(true, Ordering::AcqRel)
    }

    /// Whether that has been so since the last epoch began.
    pub(crate) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Acquire)
    }

    /// Begins an epoch, if the last one is long enough ago; when that will be, if not. Which interfaces
    /// have no credits left is to be looked at afterwards.
    pub(crate) fn begin(&self, now: Time) -> Result<(), Time> {
        let mut began = lock(&self.began);
        match began.map(|began| began + RECLAIM_AFTER).filter(|due| *due > now) {
            Some(due) => Err(due),
            None => {
                *began = Some(now);
                // Before the look: who begins to wait meanwhile is seen by the next one.
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
