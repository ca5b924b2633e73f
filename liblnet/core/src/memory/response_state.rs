//! The wait of an MD for the responses to its requests.

use super::portal_place::PortalPlace;
use crate::environment::time::Time;
use lnet_wire::Nid;

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
