//! The configuration lock.

use crate::sync::{Mutex, MutexGuard, lock};

/// The configuration lock: held while nets, peers, routes, rules or settings are changed, one change at a time.
/// Senders and receivers do not take it; the values that they read are replaced as a whole.
#[derive(Debug, Default)]
pub(crate) struct ConfigLock(Mutex<()>);

/// The proof that the configuration lock is held; a function that needs the lock takes this as an argument.
#[derive(Debug)]
pub(crate) struct ConfigGuard<'a> {
    _held: MutexGuard<'a, ()>,
}

impl ConfigLock {
    /// Takes the lock. Not to be called from an event handler: the removal of an interface waits for handlers under
    /// this lock.
    pub(crate) fn lock(&self) -> ConfigGuard<'_> {
        ConfigGuard { _held: lock(&self.0) }
    }
}
