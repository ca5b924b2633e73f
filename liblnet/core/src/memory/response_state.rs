//! Whether an MD awaits a response, and until when.

use crate::environment::time::Time;
use lnet_wire::Nid;

/// Whether an MD awaits a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseState {
    No,
    /// Until this deadline.
    Until(Time),
    /// The deadline has passed, for the response of this NID.
    TooLong(Nid),
}

/// The last request of an MD whose response is tracked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResponseTracker {
    pub(crate) deadline: Time,
    pub(crate) asked: Nid,
}

impl ResponseTracker {
    /// The state of a tracker at this time.
    pub(crate) fn state(tracker: Option<&Self>, now: Time) -> ResponseState {
        match tracker {
            None => ResponseState::No,
            Some(tracker) if now < tracker.deadline => ResponseState::Until(tracker.deadline),
            Some(tracker) => ResponseState::TooLong(tracker.asked),
        }
    }
}
