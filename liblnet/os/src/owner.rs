//! The process whose threads belong to a resource that a child of `fork` inherits.

use std::process::id;
use std::sync::atomic::{AtomicU32, Ordering};

/// The process that started a resource with threads. A child of it has none of these threads, and would wait for them for
/// ever.
#[derive(Debug)]
pub struct Owner(AtomicU32);

impl Owner {
    /// Makes the state of a resource that no process has started.
    pub const fn nobody() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Notes that this process has started the resource, or has ended it.
    pub fn set(&self, owned: bool) {
        self.0.store(if owned { id() } else { 0 }, Ordering::Release);
    }

    /// Whether an ancestor of this process has started the resource, before the `fork`.
    pub fn is_ancestor(&self) -> bool {
        let owner = self.0.load(Ordering::Acquire);
        owner != 0 && owner != id()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_process_began_is_an_ancestors() {
        let owner = Owner::nobody();
        assert!(!owner.is_ancestor());
        owner.set(true);
        assert!(!owner.is_ancestor());
        owner.0.store(id() + 1, Ordering::Release);
        assert!(owner.is_ancestor());
        owner.set(false);
        assert!(!owner.is_ancestor());
    }
}
