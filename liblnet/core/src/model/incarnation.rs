//! Which incarnation of its node a peer NI was met in last.

use std::sync::atomic::{AtomicU64, Ordering};

/// By what an incarnation is told from another. Numbers of different kinds say nothing about each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// The number that an interface gives when a connection is made (wire-tcp 2.3): one for each start of the interface.
    Connection,
    /// The cookie with which requests ask for their answers, also through gateways: one for each start of the node.
    Request,
}

/// The incarnation of a peer NI's node, by each [`Evidence`]; 0: not known.
#[derive(Debug, Default)]
pub(crate) struct KnownIncarnation {
    by_connection: AtomicU64,
    by_request: AtomicU64,
}

impl KnownIncarnation {
    /// Stores that its node has this incarnation. Returns whether that is another than the one that was known.
    pub(crate) fn note(&self, evidence: Evidence, incarnation: u64) -> bool {
        let known = self.by(evidence);
        // Read first: most messages tell nothing new.
        if known.load(Ordering::Acquire) == incarnation {
            return false;
        }
        let before = known.swap(incarnation, Ordering::AcqRel);
        before != 0 && before != incarnation
    }

    /// Forgets what is known: its node has been started again, as another of its peer NIs has shown.
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
        // What is met, and whether it shows a restart.
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
