//! The lock of the configuration.

use crate::sync::{Mutex, MutexGuard, lock};

/// Held by whoever changes nets, peers, routes, rules or settings: one change at a time. Senders and receivers do not take
/// it; what they read is replaced as a whole.
#[derive(Debug, Default)]
pub(crate) struct ConfigLock(Mutex<()>);

/// Shows that the lock of the configuration is held; a function that needs it takes this as an argument.
#[derive(Debug)]
pub(crate) struct ConfigGuard<'a> {
    _held: MutexGuard<'a, ()>,
}

impl ConfigLock {
    /// Waits for the lock. Not from an event handler: who takes an interface away waits for handlers while holding it.
    pub(crate) fn lock(&self) -> ConfigGuard<'_> {
        ConfigGuard { _held: lock(&self.0) }
    }
}
