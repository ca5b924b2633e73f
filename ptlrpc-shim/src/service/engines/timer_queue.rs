//! The work of a service's timer thread, by time: early replies, and work that event handlers leave to it.

use super::incoming_request::RequestId;
use crate::clock::{Clock, Time};
use foldhash::{HashMap, HashMapExt};
use lnet_api::sync::{Condition, lock};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

/// Requests (`R`) by the time of their next early reply, and deferred work (`W`). Any thread adds to it, event handlers too.
pub(crate) struct TimerQueue<R, W> {
    state: Mutex<TimerState<R, W>>,
    changed: Condition,
}

struct TimerState<R, W> {
    work: VecDeque<W>,
    by_time: BTreeMap<(Time, RequestId), R>,
    times: HashMap<RequestId, Time>,
    needs_buffers: bool,
    is_closed: bool,
    /// The time at which the timer thread wakes by itself. Work that is due later need not wake it.
    wakes_at: Option<Time>,
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
            by_time: BTreeMap::new(),
            times: HashMap::new(),
            needs_buffers: false,
            is_closed: false,
            wakes_at: None,
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

    /// Schedules the next early reply of a request, replacing one that is scheduled.
    pub(crate) fn schedule(&self, id: RequestId, request: R, due: Time) {
        let mut state = lock(&self.state);
        if let Some(before) = state.times.insert(id, due) {
            state.by_time.remove(&(before, id));
        }
        state.by_time.insert((due, id), request);
        if state.wakes_at.is_none_or(|at| due < at) {
            self.changed.notify_one();
        }
    }

    /// The request needs no early reply any more.
    pub(crate) fn cancel(&self, id: RequestId) {
        let mut state = lock(&self.state);
        if let Some(due) = state.times.remove(&id) {
            state.by_time.remove(&(due, id));
        }
    }

    /// Takes the requests whose early reply is due.
    pub(crate) fn take_due(&self, now: Time) -> Vec<R> {
        let mut state = lock(&self.state);
        let later = state.by_time.split_off(&(now, RequestId(u64::MAX)));
        let due = std::mem::replace(&mut state.by_time, later);
        for (_, id) in due.keys() {
            state.times.remove(id);
        }
        drop(state);
        due.into_values().collect()
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
            let first = state.by_time.first_key_value().map(|(key, _)| key.0);
            let buffers = state.needs_buffers.then_some(buffers_not_before);
            let now = clock.now();
            let until = first.into_iter().chain(next_check).chain(buffers).min();
            if until.is_some_and(|until| until <= now) {
                break;
            }
            // Most requests end long before their early reply is due. If the thread slept without a limit after each of them,
            // each would wake it.
            let until = until.into_iter().chain(state.wakes_at.filter(|at| *at > now)).min();
            state.wakes_at = until;
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
        queue.schedule(RequestId(1), "first", at(5));
        queue.schedule(RequestId(2), "second", at(5));
        queue.schedule(RequestId(1), "first", at(9));
        queue.schedule(RequestId(3), "third", at(5));
        queue.cancel(RequestId(3));
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
        queue.schedule(RequestId(1), "due", now);
        assert_eq!(queue.wait(&clock, later, None).unwrap().now, later);
        queue.push_work(8);
        queue.close();
        assert!(queue.wait(&clock, later, None).is_some(), "there is work left");
        queue.pop_work();
        assert!(queue.wait(&clock, later, None).is_none());
    }
}
