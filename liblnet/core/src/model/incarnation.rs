//! The last known incarnation of a peer NI's node.

use std::sync::atomic::{AtomicU64, Ordering};

/// The kind of number that tells incarnations apart. Numbers of different kinds cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// The number that an interface sends in the HELLO (wire-tcp 2.3): a new one for each start of the interface.
    Connection,
    /// The cookie of the node in the handles of its requests, which also passes gateways: a new one for each start of the node.
    Request,
}

/// The incarnation of a peer NI's node, one number for each kind of [`Evidence`]; 0: unknown.
#[derive(Debug, Default)]
pub(crate) struct KnownIncarnation {
    by_connection: AtomicU64,
    by_request: AtomicU64,
}

impl KnownIncarnation {
    /// Stores the incarnation of the node. Returns whether another one was known before: the node has restarted.
    pub(crate) fn note(&self, evidence: Evidence, incarnation: u64) -> bool {
        let known = self.by(evidence);
        // Read first: most messages tell nothing new.
        if known.load(Ordering::Acquire) == incarnation {
            return false;
        }
        let before = known.swap(incarnation, Ordering::AcqRel);
        before != 0 && before != incarnation
    }

    /// Forgets both numbers, because another NID of the same node has shown a restart.
    pub(crate) fn forget(&self) {
        self.by_connection.store(0, Ordering::Release);
        self.by_request.store(0, Ordering::Release);
    }

    const fn by(&self, evidence: Evidence) -> &AtomicU64 {
        match evidence {
            Evidence::Connection => &self.by_connection,
            Evidence::Request => &self.by_request,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn another_incarnation_than_the_known_one_is_a_restart() {
        use Evidence::{Connection, Request};
        let known = KnownIncarnation::default();
        // The evidence and the incarnation, and whether they show a restart.
        let table = [
            (Connection, 7, false),
            (Connection, 7, false),
            (Request, 9, false),
            (Connection, 8, true),
            (Connection, 8, false),
            (Request, 9, false),
            (Request, 7, true),
            (Connection, 7, true),
        ];
        for (step, (evidence, incarnation, expected)) in table.into_iter().enumerate() {
            assert_eq!(known.note(evidence, incarnation), expected, "step {step}");
        }
        known.forget();
        assert!(!known.note(Connection, 1) && !known.note(Request, 1));
    }
}
