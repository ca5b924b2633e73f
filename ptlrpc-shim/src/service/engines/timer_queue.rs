//! The work of a service's timer thread: work that event handlers leave to it, request buffers, and what is due at a time.

use crate::clock::{Clock, Time};
use lnet_api::sync::{Condition, lock};
use std::collections::VecDeque;
use std::sync::Mutex;

/// Deferred work (`W`), and the time at which the thread is to wake. Any thread adds to it, event handlers too.
pub(crate) struct TimerQueue<W> {
    state: Mutex<TimerState<W>>,
    changed: Condition,
}

struct TimerState<W> {
    work: VecDeque<W>,
    /// The thread is to wake at this time.
    wake_at: Option<Time>,
    needs_buffers: bool,
    is_closed: bool,
}

/// The work that is due when the timer thread wakes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimerTick {
    pub(crate) now: Time,
    /// Whether request buffers are to be attached.
    pub(crate) replenish: bool,
}

impl<W> Default for TimerQueue<W> {
    fn default() -> Self {
        let state =
            TimerState { work: VecDeque::new(), wake_at: None, needs_buffers: false, is_closed: false };
        Self { state: Mutex::new(state), changed: Condition::new() }
    }
}

impl<W> TimerQueue<W> {
    /// Adds work for the timer thread.
    pub(crate) fn push_work(&self, work: W) {
        lock(&self.state).work.push_back(work);
        self.changed.notify_one();
    }

    pub(crate) fn pop_work(&self) -> Option<W> {
        lock(&self.state).work.pop_front()
    }

    /// Makes the timer thread attach request buffers.
    pub(crate) fn request_buffers(&self) {
        let mut state = lock(&self.state);
        if !state.needs_buffers {
            state.needs_buffers = true;
            self.changed.notify_one();
        }
    }

    /// Makes the timer thread wake at this time, or earlier.
    pub(crate) fn wake_at(&self, at: Time) {
        let mut state = lock(&self.state);
        if state.wake_at.is_none_or(|before| at < before) {
            state.wake_at = Some(at);
            self.changed.notify_one();
        }
    }

    /// Makes [`TimerQueue::wait`] return `None` when the work is done. A caller that adds work later has to do it itself.
    pub(crate) fn close(&self) {
        lock(&self.state).is_closed = true;
        self.changed.notify_one();
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.state).is_closed
    }

    /// Waits until work is due, until `next_check` at most. Request buffers are not reported before `buffers_not_before`.
    /// `None`: the queue is closed, and no work is left.
    pub(crate) fn wait(
        &self,
        clock: &dyn Clock,
        buffers_not_before: Time,
        next_check: Option<Time>,
    ) -> Option<TimerTick> {
        let mut state = lock(&self.state);
        while state.work.is_empty() && !state.is_closed {
            let wake_at = state.wake_at;
            let buffers = state.needs_buffers.then_some(buffers_not_before);
            let now = clock.now();
            let until = wake_at.into_iter().chain(next_check).chain(buffers).min();
            if until.is_some_and(|until| until <= now) {
                break;
            }
            state = self.changed.wait_until(clock, state, until);
        }
        if state.is_closed && state.work.is_empty() {
            return None;
        }
        let now = clock.now();
        state.wake_at.take_if(|at| *at <= now);
        let replenish = buffers_not_before <= now && std::mem::take(&mut state.needs_buffers);
        Some(TimerTick { now, replenish })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use std::time::Duration;

    #[test]
    fn the_thread_wakes_for_work_for_buffers_and_for_what_is_due() {
        let clock = ManualClock::default();
        let now = clock.now();
        let later = now + Duration::from_secs(1);
        let queue = TimerQueue::<u32>::default();
        queue.push_work(7);
        assert!(!queue.wait(&clock, now, None).unwrap().replenish);
        assert_eq!((queue.pop_work(), queue.pop_work()), (Some(7), None));
        queue.request_buffers();
        assert!(queue.wait(&clock, now, None).unwrap().replenish);
        queue.request_buffers();
        assert!(!queue.wait(&clock, later, Some(now)).unwrap().replenish, "not before its time");
        clock.advance(Duration::from_secs(1));
        assert!(queue.wait(&clock, later, None).unwrap().replenish);
        queue.wake_at(later);
        queue.wake_at(later + Duration::from_secs(1));
        assert_eq!(queue.wait(&clock, later, None).unwrap().now, later);
        queue.push_work(8);
        queue.close();
        assert!(queue.wait(&clock, later, None).is_some(), "there is work left");
        queue.pop_work();
        assert!(queue.wait(&clock, later, None).is_none());
    }
}
