//! Whether an MD awaits a response, and until when.

use super::portal_place::PortalPlace;
use crate::environment::time::Time;
use lnet_wire::Nid;

/// Whether an MD awaits a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseState {
    No,
    /// Until this deadline.
    Until(Time),
    /// The deadline has passed.
    TooLong(MissingResponse),
}

/// A request whose response has not come before its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MissingResponse {
    /// The node that was to send the response.
    pub(crate) asked: Nid,
    pub(crate) place: PortalPlace,
    /// The request has left this node, and arrived if its receiver gives delivery ACKs.
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
    /// The state of a tracker at this time. `sent`: no request of the MD is on its way.
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
