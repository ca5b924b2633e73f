//! The completion of the operations of an MD, and its unlinking: which event is the last is decided here.

use super::{Md, ResponseKind};
use crate::event::Event;
use crate::memory::MdSpec;
use lnet_wire::Errno;

/// Whether the completed operation was the last of the MD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    /// The MD remains.
    Active,
    /// The MD has ended: remove its handle from the table.
    Ended,
}

impl Md {
    /// Completes an operation as [`Md::complete_without`] does, whose response may arrive.
    #[cfg(test)]
    pub(crate) fn complete(&self, event: impl FnOnce() -> Event) -> Completion {
        self.complete_without(None, |place| *place = event())
    }

    /// Completes an operation with the event that `write` writes, in which the MD says whether it has ended; of a PUT or GET the
    /// `response`, if given, will not arrive. `write` is called at most once, under locks: it is brief, and calls nothing that may lock.
    #[inline(always)]
    pub(crate) fn complete_without(
        &self,
        response: Option<ResponseKind>,
        write: impl FnOnce(&mut Event),
    ) -> Completion {
        let mut state = self.state.lock();
        if let Some(response) = response {
            state.forgo(response);
        }
        state.busy -= 1;
        let last = state.busy == 0
            && !state.ended
            && (state.unlinking || self.auto_unlink && self.exhausted(&state));
        state.unlinking |= last;
        state.ended |= last;
        let timed_out = last && state.response_timed_out;
        self.deliver(state, last, |event| {
            write(event);
            if timed_out {
                event.status = event.status.and(Err(Errno::TimedOut));
            }
            event.unlinked = last;
        });
        if last { Completion::Ended } else { Completion::Active }
    }

    /// Unlinks the MD by a call. If idle, the UNLINK event is delivered before this returns (TRAP-2), with [`Errno::TimedOut`]
    /// if a response did not arrive. If busy, the event of the last operation reports it. [`Errno::NotFound`] if the MD is
    /// being unlinked already.
    pub(crate) fn unlink(&self) -> Result<Completion, Errno> {
        self.unlink_as(true)
    }

    /// Unlinks the MD, but does not cancel operations in progress.
    pub(crate) fn retire(&self) -> Result<Completion, Errno> {
        self.unlink_as(false)
    }

    /// Undoes [`Md::new`] for an MD that could not be attached, unless a caller has guessed its handle and unlinked
    /// it.
    pub(crate) fn discard(&self) {
        let state = &mut *self.state.lock();
        if state.ended {
            return;
        }
        state.unlinking = true;
        state.ended = true;
        if let Some(queue) = &self.queue {
            queue.md_ending();
            queue.md_ended();
        }
    }

    fn unlink_as(&self, aborted: bool) -> Result<Completion, Errno> {
        let mut state = self.state.lock();
        if state.unlinking {
            return Err(Errno::NotFound);
        }
        state.unlinking = true;
        state.aborted = aborted;
        if state.busy > 0 {
            return Ok(Completion::Active);
        }
        state.ended = true;
        let status = if state.response_timed_out { Err(Errno::TimedOut) } else { Ok(()) };
        let spec = MdSpec { threshold: self.threshold(&state), ..self.spec };
        self.deliver(state, true, |event| *event = Event { status, ..Event::unlink(self.handle, spec) });
        self.wait_until_delivered();
        Ok(Completion::Ended)
    }
}
