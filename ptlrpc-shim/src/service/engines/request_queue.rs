//! The queues of a service: requests that have arrived, and requests that are to be served (PR-53, PR-71).

use crate::lnet::Node;
use lnet_api::sync::{Condition, lock};
use std::collections::VecDeque;
use std::sync::Mutex;

/// The priority of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    /// The request does not wait for others.
    Urgent,
    Normal,
}

/// The next work of a thread.
pub(crate) enum Work<A, R> {
    /// Decide whether a request is served: [`Finished::Decided`].
    Decide(A),
    /// Serve a request: [`Finished::Served`].
    Serve(R, Priority),
    /// Drop a request that was admitted: the queue is closed.
    Drop(R),
    /// End the thread.
    End,
}

/// The work that a thread has finished.
pub(crate) enum Finished<R> {
    /// None, or that of a [`Work::Drop`].
    Nothing,
    /// The decision about a request: whether it is served, and how.
    Decided(Option<(R, Priority)>),
    /// The service of a request.
    Served(Priority),
}

/// The waiting requests of a service: those that have arrived (`A`), and those that are to be served (`R`). Their number is
/// limited by their request buffers.
pub(crate) struct RequestQueue<A, R> {
    state: Mutex<QueueState<A, R>>,
    changed: Condition,
}

struct QueueState<A, R> {
    arrived: VecDeque<A>,
    urgent: VecDeque<R>,
    normal: VecDeque<R>,
    /// Whether a thread decides about a request: one at a time does, so that requests are served in the order of their arrival.
    is_deciding: bool,
    normal_in_service: usize,
    /// Maximum number of requests with normal priority in service: one less than there are threads.
    max_normal_in_service: usize,
    is_closed: bool,
    /// Whether a thread that would wait makes progress in LNet instead, and takes requests that arrive.
    is_progressing: bool,
}

impl<A, R> RequestQueue<A, R> {
    /// A queue for `threads` threads, at least 2; one of them serves urgent requests only.
    pub(crate) fn new(threads: usize) -> Self {
        let state = QueueState {
            arrived: VecDeque::new(),
            urgent: VecDeque::new(),
            normal: VecDeque::new(),
            is_deciding: false,
            normal_in_service: 0,
            max_normal_in_service: threads.saturating_sub(1).max(1),
            is_closed: false,
            is_progressing: false,
        };
        Self { state: Mutex::new(state), changed: Condition::new() }
    }

    /// Adds a request that has arrived. Called by event handlers. False: the queue is closed.
    pub(crate) fn push(&self, arrived: A) -> bool {
        let mut state = lock(&self.state);
        if state.is_closed {
            return false;
        }
        state.arrived.push_back(arrived);
        // The thread that decides, or makes progress, takes this one next.
        let needs_thread = !state.is_deciding && !state.is_progressing;
        drop(state);
        if needs_thread {
            self.changed.notify_one();
        }
        true
    }

    /// Takes note of finished work, and waits for the next. One thread makes progress in `node` before it waits.
    pub(crate) fn next(&self, finished: Finished<R>, node: &Node) -> Work<A, R> {
        let mut state = lock(&self.state);
        // A thread that has decided takes the next arrival, or the request that it has admitted.
        let needs_thread = matches!(finished, Finished::Decided(Some(_))) && !state.arrived.is_empty();
        if let Some(work) = state.finish(finished).or_else(|| state.next()) {
            drop(state);
            if needs_thread {
                self.changed.notify_one();
            }
            return work;
        }
        if !state.is_progressing && !state.is_closed {
            state.is_progressing = true;
            drop(state);
            node.progress(|| lock(&self.state).has_arrivals());
            state = lock(&self.state);
            state.is_progressing = false;
        }
        loop {
            if let Some(work) = state.next() {
                return work;
            }
            state = self.changed.wait(state);
        }
    }

    /// Closes the queue: threads end when they have finished their request. Returns the requests that wait.
    pub(crate) fn close(&self) -> (VecDeque<A>, VecDeque<R>) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        self.changed.notify_all();
        let arrived = std::mem::take(&mut state.arrived);
        let mut admitted = std::mem::take(&mut state.urgent);
        admitted.append(&mut state.normal);
        (arrived, admitted)
    }
}

impl<A, R> QueueState<A, R> {
    fn has_arrivals(&self) -> bool {
        self.is_closed || !self.arrived.is_empty()
    }

    /// Takes note of finished work. Returns work if the request that was admitted is to be dropped.
    fn finish(&mut self, finished: Finished<R>) -> Option<Work<A, R>> {
        match finished {
            Finished::Nothing | Finished::Served(Priority::Urgent) => {}
            Finished::Served(Priority::Normal) => self.normal_in_service -= 1,
            Finished::Decided(admitted) => {
                self.is_deciding = false;
                match admitted? {
                    (admitted, _) if self.is_closed => return Some(Work::Drop(admitted)),
                    (admitted, Priority::Urgent) => self.urgent.push_back(admitted),
                    (admitted, Priority::Normal) => self.normal.push_back(admitted),
                }
            }
        }
        None
    }

    fn next(&mut self) -> Option<Work<A, R>> {
        if self.is_closed {
            return Some(Work::End);
        }
        if !self.is_deciding
            && let Some(arrived) = self.arrived.pop_front()
        {
            self.is_deciding = true;
            return Some(Work::Decide(arrived));
        }
        if let Some(urgent) = self.urgent.pop_front() {
            return Some(Work::Serve(urgent, Priority::Urgent));
        }
        if self.normal_in_service < self.max_normal_in_service
            && let Some(normal) = self.normal.pop_front()
        {
            self.normal_in_service += 1;
            return Some(Work::Serve(normal, Priority::Normal));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the work that the next thread would get, without waiting.
    fn next(queue: &RequestQueue<u32, u32>, finished: Finished<u32>) -> Option<(&'static str, u32)> {
        let mut state = lock(&queue.state);
        match state.finish(finished).or_else(|| state.next())? {
            Work::Decide(request) => Some(("decide", request)),
            Work::Serve(request, Priority::Urgent) => Some(("urgent", request)),
            Work::Serve(request, Priority::Normal) => Some(("normal", request)),
            Work::Drop(request) => Some(("drop", request)),
            Work::End => Some(("end", 0)),
        }
    }

    const fn admitted(request: u32, priority: Priority) -> Finished<u32> {
        Finished::Decided(Some((request, priority)))
    }

    #[test]
    fn one_thread_at_a_time_decides_and_one_is_reserved_for_urgent_requests() {
        let queue = RequestQueue::new(2);
        assert!((1..=4).all(|request| queue.push(request)));
        for (finished, want) in [
            (Finished::Nothing, Some(("decide", 1))),
            (Finished::Nothing, None),
            // Before any is served.
            (admitted(1, Priority::Normal), Some(("decide", 2))),
            (admitted(2, Priority::Normal), Some(("decide", 3))),
            (admitted(3, Priority::Urgent), Some(("decide", 4))),
            (Finished::Decided(None), Some(("urgent", 3))),
            (Finished::Nothing, Some(("normal", 1))),
            // The other thread is reserved.
            (Finished::Nothing, None),
            (Finished::Served(Priority::Urgent), None),
            (Finished::Served(Priority::Normal), Some(("normal", 2))),
        ] {
            assert_eq!(next(&queue, finished), want);
        }
    }

    #[test]
    fn a_closed_queue_returns_what_waits_and_accepts_nothing() {
        let queue = RequestQueue::new(2);
        assert!((1..=3).all(|request| queue.push(request)));
        assert_eq!(next(&queue, Finished::Nothing), Some(("decide", 1)));
        assert_eq!(next(&queue, admitted(1, Priority::Normal)), Some(("decide", 2)));
        let (arrived, waiting) = queue.close();
        assert_eq!((Vec::from(arrived), Vec::from(waiting)), (vec![3], vec![1]));
        assert_eq!(next(&queue, admitted(2, Priority::Normal)), Some(("drop", 2)));
        assert!(!queue.push(4));
        assert_eq!(next(&queue, Finished::Nothing), Some(("end", 0)));
    }
}
