//! The work of a service's timer thread, by time: early replies, and work that event handlers leave to it.

use crate::clock::{Clock, Time};
use lnet_api::sync::{Condition, lock};
use std::collections::VecDeque;
use std::sync::Mutex;

/// Requests (`R`), each with the time of its next early reply, and deferred work (`W`). Any thread adds to it, event handlers too.
pub(crate) struct TimerQueue<R, W> {
    state: Mutex<TimerState<R, W>>,
    changed: Condition,
}

struct TimerState<R, W> {
    work: VecDeque<W>,
    /// The requests, by index. Most of them end long before their early reply is due: so they are not in the order of their times.
    requests: Vec<Option<TimedRequest<R>>>,
    free: Vec<usize>,
    last_number: u64,
    /// No request is due before this time; `None`: none is due.
    first: Option<Time>,
    needs_buffers: bool,
    is_closed: bool,
}

struct TimedRequest<R> {
    number: u64,
    due: Time,
    request: R,
}

/// Identifies an early reply that is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimerKey {
    index: usize,
    number: u64,
}

/// The work that is due when the timer thread wakes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimerTick {
    pub(crate) now: Time,
    /// Whether request buffers are to be attached.
    pub(crate) replenish: bool,
}

impl<R, W> Default for TimerQueue<R, W> {
    fn default() -> Self {
        let state = TimerState {
            work: VecDeque::new(),
            requests: Vec::new(),
            free: Vec::new(),
            last_number: 0,
            first: None,
            needs_buffers: false,
            is_closed: false,
        };
        Self { state: Mutex::new(state), changed: Condition::new() }
    }
}

impl<R, W> TimerQueue<R, W> {
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

    /// Schedules the next early reply of a request, in place of the one that is scheduled as `before`.
    pub(crate) fn schedule(&self, before: Option<TimerKey>, request: R, due: Time) -> TimerKey {
        let mut state = lock(&self.state);
        let replaced = before.and_then(|before| state.remove(before));
        state.last_number += 1;
        let number = state.last_number;
        let timed = Some(TimedRequest { number, due, request });
        let index = match state.free.pop() {
            Some(index) => {
                state.requests[index] = timed;
                index
            }
            None => {
                state.requests.push(timed);
                state.requests.len() - 1
            }
        };
        if state.first.is_none_or(|first| due < first) {
            state.first = Some(due);
            self.changed.notify_one();
        }
        drop(state);
        drop(replaced);
        TimerKey { index, number }
    }

    /// The request needs no early reply any more.
    pub(crate) fn cancel(&self, key: TimerKey) {
        let removed = lock(&self.state).remove(key);
        drop(removed);
    }

    /// Takes the requests whose early reply is due.
    pub(crate) fn take_due(&self, now: Time) -> Vec<R> {
        let mut state = lock(&self.state);
        if state.first.is_none_or(|first| first > now) {
            return Vec::new();
        }
        let mut due = Vec::new();
        let TimerState { requests, free, first, .. } = &mut *state;
        *first = None;
        for (index, entry) in requests.iter_mut().enumerate() {
            match entry {
                Some(timed) if timed.due <= now => {
                    due.extend(entry.take());
                    free.push(index);
                }
                Some(timed) => *first = Some(first.map_or(timed.due, |first| first.min(timed.due))),
                None => {}
            }
        }
        drop(state);
        due.sort_by_key(|timed| timed.due);
        due.into_iter().map(|timed| timed.request).collect()
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
            let first = state.first;
            let buffers = state.needs_buffers.then_some(buffers_not_before);
            let now = clock.now();
            let until = first.into_iter().chain(next_check).chain(buffers).min();
            if until.is_some_and(|until| until <= now) {
                break;
            }
            state = self.changed.wait_until(clock, state, until);
        }
        if state.is_closed && state.work.is_empty() {
            return None;
        }
        let now = clock.now();
        let replenish = buffers_not_before <= now && std::mem::take(&mut state.needs_buffers);
        Some(TimerTick { now, replenish })
    }
}

impl<R, W> TimerState<R, W> {
    /// Removes a request, if it is still there. The time of the first one stays, so that the next request does not wake the thread.
    fn remove(&mut self, key: TimerKey) -> Option<TimedRequest<R>> {
        let entry = self.requests.get_mut(key.index)?;
        entry.as_ref().filter(|timed| timed.number == key.number)?;
        self.free.push(key.index);
        entry.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use std::time::Duration;

    #[test]
    fn requests_are_due_at_the_time_that_was_scheduled_last() {
        let queue = TimerQueue::<&str, ()>::default();
        let start = Time::START;
        let at = |seconds| start + Duration::from_secs(seconds);
        let first = queue.schedule(None, "first", at(5));
        queue.schedule(None, "second", at(5));
        queue.schedule(Some(first), "first", at(9));
        let third = queue.schedule(None, "third", at(5));
        queue.cancel(third);
        queue.cancel(first);
        assert!(queue.take_due(at(4)).is_empty());
        assert_eq!(queue.take_due(at(5)), ["second"]);
        assert_eq!(queue.take_due(at(9)), ["first"]);
        assert!(queue.take_due(at(99)).is_empty());
    }

    #[test]
    fn the_thread_wakes_for_work_for_buffers_and_for_what_is_due() {
        let clock = ManualClock::default();
        let now = clock.now();
        let later = now + Duration::from_secs(1);
        let queue = TimerQueue::<&str, u32>::default();
        queue.push_work(7);
        assert!(!queue.wait(&clock, now, None).unwrap().replenish);
        assert_eq!((queue.pop_work(), queue.pop_work()), (Some(7), None));
        queue.request_buffers();
        assert!(queue.wait(&clock, now, None).unwrap().replenish);
        queue.request_buffers();
        assert!(!queue.wait(&clock, later, Some(now)).unwrap().replenish, "not before its time");
        clock.advance(Duration::from_secs(1));
        assert!(queue.wait(&clock, later, None).unwrap().replenish);
        queue.schedule(None, "due", now);
        assert_eq!(queue.wait(&clock, later, None).unwrap().now, later);
        queue.push_work(8);
        queue.close();
        assert!(queue.wait(&clock, later, None).is_some(), "there is work left");
        queue.pop_work();
        assert!(queue.wait(&clock, later, None).is_none());
    }
}
