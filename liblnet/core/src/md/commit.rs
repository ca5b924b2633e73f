//! The start of an operation of an MD: whether it may start, and what it takes of the MD.

use super::{Md, MdState, ResponseKind, ResponseTracker, TrackerNumber};
use crate::environment::time::Time;
use crate::memory::MdOptions;
use crate::sync::SpinlockGuard;

/// The needs of a PUT or GET that looks for an MD.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) needs: MdOptions,
    pub(crate) length: u32,
    pub(crate) remote_offset: u32,
}

/// The result of [`Md::commit_put_or_get`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// The MD does not accept the message: continue the search.
    No,
    /// The MD matches, but the message is too long for it: drop the message (TRAP-14).
    TooLong,
    /// The MD accepts the message. `threshold`: that of the MD from now on. `last`: it is removed from the portal now.
    Yes { offset: u32, length: u32, threshold: i32, last: bool },
}

/// A PUT or GET of this node that is about to be committed. The MD is locked.
pub(crate) struct BegunRequest<'a> {
    md: &'a Md,
    state: SpinlockGuard<'a, MdState>,
    response: Option<ResponseKind>,
}

impl BegunRequest<'_> {
    /// Commits the request, whose response `tracker` tracks, if no other request of the MD is tracked.
    #[inline(always)]
    pub(crate) fn commit(self, tracker: Option<ResponseTracker>) -> CommittedRequest {
        let Self { md, mut state, response } = self;
        if let Some(response) = response {
            let due = state.due(response);
            *due = due.saturating_add(1);
            // A response to another request would be taken for that of the measured one.
            state.begun = None;
        }
        let tracker = match (&state.tracker, tracker) {
            (None, Some(tracker)) => Some(state.set_tracker(tracker)),
            _ => None,
        };
        CommittedRequest { threshold: md.commit(&mut state), tracker }
    }
}

/// The result of [`BegunRequest::commit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommittedRequest {
    /// The threshold of the MD from now on.
    pub(crate) threshold: i32,
    /// The number of the request's tracker, for [`Md::untrack`]; `None` if it is to be set later ([`Md::track`]).
    pub(crate) tracker: Option<TrackerNumber>,
}

/// The result of [`Md::commit_response`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommittedResponse {
    /// The number of bytes to deliver.
    pub(crate) length: u32,
    /// The threshold of the MD from now on.
    pub(crate) threshold: i32,
    /// The time of the call of the request, if that is measured.
    pub(crate) begun: Option<Time>,
}

impl Md {
    /// Commits an incoming PUT or GET, if this MD accepts it (MA-11 to MA-13, without the match criteria).
    #[inline(always)]
    pub(crate) fn commit_put_or_get(&self, access: Access) -> Commit {
        let state = &mut *self.state.lock();
        if state.unlinking || self.exhausted(state) || !self.spec.options.has(access.needs) {
            return Commit::No;
        }
        let remote = self.spec.options.has(MdOptions::MANAGE_REMOTE);
        let offset = if remote { access.remote_offset } else { state.offset };
        let Some(room) = self.memory.len().checked_sub(offset) else {
            // MA-12a: only a remote offset can be beyond the memory.
            return Commit::TooLong;
        };
        let limit = self.max_size.unwrap_or(room);
        let length = match access.length {
            length if length <= limit.min(room) => length,
            _ if self.spec.options.has(MdOptions::TRUNCATE) => limit.min(room),
            _ => return Commit::TooLong,
        };
        let threshold = self.commit(state);
        state.offset = offset + length;
        let last = self.auto_unlink && self.exhausted(state);
        state.unlinking |= last;
        Commit::Yes { offset, length, threshold, last }
    }

    /// Begins to commit a PUT or GET of this node that requests `response`; `None` if the MD is attached, exhausted or being unlinked
    /// (MA-31). The MD is locked until the request is committed: the caller does little, and locks nothing that is held while an MD is locked.
    #[inline(always)]
    pub(crate) fn begin_request(&self, response: Option<ResponseKind>) -> Option<BegunRequest<'_>> {
        if self.attached.is_some() {
            return None;
        }
        let state = self.state.lock();
        if state.unlinking || state.threshold == Some(0) {
            return None;
        }
        Some(BegunRequest { md: self, state, response })
    }

    /// Commits a PUT or GET of this node: see [`BegunRequest::commit`].
    #[cfg(test)]
    pub(crate) fn commit_request(
        &self,
        response: Option<ResponseKind>,
        tracker: Option<ResponseTracker>,
    ) -> Option<CommittedRequest> {
        self.begin_request(response).map(|begun| begun.commit(tracker))
    }

    /// Commits the arrival of an ACK or REPLY with `length` bytes (MA-42); returns what is to be delivered.
    /// The response must have been requested: a peer that knows the handle from a PUT must not write into its memory,
    /// nor respond twice.
    #[inline(always)]
    pub(crate) fn commit_response(&self, response: ResponseKind, length: u32) -> Option<CommittedResponse> {
        if self.attached.is_some() {
            return None;
        }
        let room = self.memory.len();
        if length > room && !self.spec.options.has(MdOptions::TRUNCATE) {
            return None;
        }
        let state = &mut *self.state.lock();
        if state.unlinking || state.threshold == Some(0) {
            return None;
        }
        let due = state.due(response);
        *due = due.checked_sub(1)?;
        let begun = state.begun.take();
        state.forget_tracker();
        Some(CommittedResponse { length: length.min(room), threshold: self.commit(state), begun })
    }

    /// Starts an operation; returns the threshold from now on.
    fn commit(&self, state: &mut MdState) -> i32 {
        state.busy += 1;
        if let Some(left) = &mut state.threshold {
            *left -= 1;
        }
        self.threshold(state)
    }
}
