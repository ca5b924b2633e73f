//! Whether an MD waits for a response, and until when.

use crate::environment::time::Time;
use lnet_wire::Nid;

/// Whether an MD waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseState {
    No,
    /// At the longest.
    Until(Time),
    /// For one from this NID, until now.
    TooLong(Nid),
}

/// What an MD remembers of whom it asked last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResponseTracker {
    pub(crate) deadline: Time,
    pub(crate) asked: Nid,
}

impl ResponseTracker {
    /// Who has been asked for too long.
    pub(crate) fn state(tracker: Option<&Self>, now: Time) -> ResponseState {
        match tracker {
            None => ResponseState::No,
            Some(tracker) if now < tracker.deadline => ResponseState::Until(tracker.deadline),
            Some(tracker) => ResponseState::TooLong(tracker.asked),
        }
    }
}
