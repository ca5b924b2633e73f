//! The wait of an MD for the responses to its requests.

use super::{Md, MdState};
use crate::environment::time::Time;
use crate::memory::PortalPlace;
use lnet_wire::Nid;

/// The kind of response to a PUT or GET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseKind {
    /// The response to a PUT that requests one.
    Ack,
    /// The response to a GET.
    Reply,
}

/// The state of an MD's wait for responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseState {
    No,
    /// A response is awaited until this deadline.
    Until(Time),
    /// The deadline has passed without the response.
    TooLong(MissingResponse),
}

/// A request whose response has not come before its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MissingResponse {
    /// The node that was to send the response.
    pub(crate) asked: Nid,
    pub(crate) place: PortalPlace,
    /// Whether the request has left this node, and, if its receiver gives delivery ACKs, has arrived.
    pub(crate) sent: bool,
}

/// The last request of an MD whose response is tracked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResponseTracker {
    pub(crate) deadline: Time,
    pub(crate) asked: Nid,
    pub(crate) place: PortalPlace,
}

impl ResponseTracker {
    /// The state of the wait at the time `now`. `sent`: no request of the MD is in flight.
    pub(crate) fn state(tracker: Option<&Self>, sent: bool, now: Time) -> ResponseState {
        match tracker {
            None => ResponseState::No,
            Some(tracker) if now < tracker.deadline => ResponseState::Until(tracker.deadline),
            Some(Self { asked, place, .. }) => {
                ResponseState::TooLong(MissingResponse { asked: *asked, place: *place, sent })
            }
        }
    }
}

/// The number of a tracker of an MD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TrackerNumber(u32);

impl MdState {
    pub(super) const fn due(&mut self, response: ResponseKind) -> &mut u32 {
        match response {
            ResponseKind::Ack => &mut self.acks_due,
            ResponseKind::Reply => &mut self.replies_due,
        }
    }

    /// Gives up a response that will not arrive, unless it has arrived already: returns its share of the threshold.
    pub(super) fn forgo(&mut self, response: ResponseKind) {
        let due = self.due(response);
        if *due == 0 {
            return;
        }
        *due -= 1;
        self.threshold = self.threshold.map(|left| left.saturating_sub(1));
        self.forget_tracker();
    }

    pub(super) fn set_tracker(&mut self, tracker: ResponseTracker) -> TrackerNumber {
        self.tracker = Some(tracker);
        self.tracker_number = TrackerNumber(self.tracker_number.0.wrapping_add(1));
        self.tracker_number
    }

    /// Removes the deadline and the begin, if no response is awaited.
    pub(super) fn forget_tracker(&mut self) {
        if self.acks_due == 0 && self.replies_due == 0 {
            (self.tracker, self.begun) = (None, None);
        }
    }
}

impl Md {
    /// Measures the response to a request that was called at this time, unless the MD awaits others, which it could be taken for.
    pub(crate) fn measure_response(&self, begun: Time) {
        let state = &mut *self.state.lock();
        if state.acks_due.saturating_add(state.replies_due) == 1 {
            state.begun = Some(begun);
        }
    }

    /// Sets the deadline and the NID of the awaited responses (HE-40).
    #[inline(always)]
    pub(crate) fn track(&self, tracker: ResponseTracker) {
        let state = &mut *self.state.lock();
        if state.acks_due > 0 || state.replies_due > 0 {
            state.set_tracker(tracker);
        }
    }

    /// Removes the tracker of a request that is not sent now, unless that of another request has replaced it.
    pub(crate) fn untrack(&self, number: TrackerNumber) {
        let state = &mut *self.state.lock();
        if state.tracker_number == number {
            state.tracker = None;
        }
    }

    /// Records that the request is resent to another NID.
    pub(crate) fn goes_to(&self, asked: Nid) {
        if let Some(tracker) = &mut self.state.lock().tracker {
            tracker.asked = asked;
        }
    }

    /// Whether all responses of this kind have arrived, which proves that their requests have arrived.
    pub(crate) fn has_response(&self, response: ResponseKind) -> bool {
        *self.state.lock().due(response) == 0
    }

    pub(crate) fn is_tracked(&self) -> bool {
        self.state.lock().tracker.is_some()
    }

    /// The wait for responses at this time; a timeout is returned once.
    pub(crate) fn response_state(&self, now: Time) -> ResponseState {
        let state = &mut *self.state.lock();
        if state.unlinking {
            return ResponseState::No;
        }
        let waits = ResponseTracker::state(state.tracker.as_ref(), state.busy == 0, now);
        if matches!(waits, ResponseState::TooLong(_)) {
            state.tracker = None;
            state.response_timed_out = true;
        }
        waits
    }
}
