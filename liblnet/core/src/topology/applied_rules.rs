//! A rule set, and the guarantee that objects added meanwhile see the latest one.

use crate::sync::RwLock;
use std::sync::{Arc, PoisonError};

/// The current rule set. A thread that adds an object calls [`apply`](Self::apply) once the object can be found. A thread that
/// changes the rules calls [`replace`](Self::replace), and then applies the new rule set to every object that can be found.
/// Each object ends with the effects of the latest rule set, in whatever order the two threads run.
pub(super) struct AppliedRules<T>(RwLock<Arc<T>>);

impl<T> AppliedRules<T> {
    pub(super) fn new(first: T) -> Self {
        Self(RwLock::new(Arc::new(first)))
    }

    pub(super) fn current(&self) -> Arc<T> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Applies the current rule set to a new object. The rule set is not replaced meanwhile.
    pub(super) fn apply(&self, apply: impl FnOnce(&T)) {
        apply(&self.0.read().unwrap_or_else(PoisonError::into_inner));
    }

    /// Replaces the rule set. Returns when no thread applies the former one any more. Called by one thread at a time.
    pub(super) fn replace(&self, now: &Arc<T>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(now);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::AppliedRules;
    use crate::sync::{Mutex, lock, thread};
    use loom::sync::atomic::{AtomicU32, Ordering};
    use std::sync::Arc;

    /// UD-12: fails if an object that is added while the rule set changes keeps an effect of the former one.
    #[test]
    fn whatever_is_added_during_a_change_has_what_the_last_value_gives_it() {
        loom::model(|| {
            let value = Arc::new(AppliedRules::new(1));
            let things = Arc::new(Mutex::new(Vec::new()));
            let adder = {
                let (value, things) = (Arc::clone(&value), Arc::clone(&things));
                thread::spawn(move || {
                    let thing = Arc::new(AtomicU32::new(0));
                    lock(&things).push(Arc::clone(&thing));
                    value.apply(|value| thing.store(*value, Ordering::Relaxed));
                })
            };
            value.replace(&Arc::new(2));
            let found = lock(&things).clone();
            found.iter().for_each(|thing| thing.store(*value.current(), Ordering::Relaxed));
            adder.join().unwrap();
            let stored: Vec<u32> = lock(&things).iter().map(|thing| thing.load(Ordering::Relaxed)).collect();
            assert_eq!(stored, [2]);
        });
    }
}
