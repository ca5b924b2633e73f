//! The queues of a service: requests that have arrived, and requests that are to be served (PR-53, PR-71).

use super::early_reply_times::{EarlyReplyTimes, TimerKey};
use crate::clock::Time;
use crate::lnet::Node;
use lnet_api::sync::{Condition, lock};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The priority of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    /// The request does not wait for others.
    Urgent,
    Normal,
}

/// The next work of a thread.
pub(crate) enum Work<R> {
    /// Decide whether the request that has arrived is served: [`Finished::Decided`].
    Decide,
    /// Serve a request: [`Finished::Served`].
    Serve(Admitted<R>),
    /// Drop a request that was admitted: the queue is closed.
    Drop(R),
    /// End the thread.
    End,
}

/// The work that a thread has finished.
pub(crate) enum Finished<R, T> {
    /// None, or that of a [`Work::Drop`].
    Nothing,
    /// The decision about a request: `None`: it is not served.
    Decided(Option<Accepted<R, T>>),
    /// The service of a request.
    Served(Ticket),
}

/// A request that is to be served.
pub(crate) struct Accepted<R, T> {
    pub(crate) request: R,
    pub(crate) priority: Priority,
    /// The request, for its early replies.
    pub(crate) timed: T,
    /// The time of its first early reply, if it gets one.
    pub(crate) early_reply: Option<Time>,
}

/// A request that the queue gives out to be served.
pub(crate) struct Admitted<R> {
    pub(crate) request: R,
    pub(crate) ticket: Ticket,
    /// Whether the request has waited since the decision about it.
    pub(crate) has_waited: bool,
}

/// Identifies a request in service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    priority: Priority,
    timer: TimerKey,
}

/// The waiting requests of a service: those that have arrived (`A`), and those that are to be served (`R`). Their number is
/// limited by their request buffers. The queue also has the times of early replies (to `T`) of those that are to be served or in service, as
/// these need no other lock than their coming and going.
pub(crate) struct RequestQueue<A, R, T> {
    state: Mutex<QueueState<A, R, T>>,
    changed: Condition,
    /// The number of requests that have arrived, for looks without the lock; `usize::MAX`: closed. Who sets it has the lock.
    arrivals: AtomicUsize,
}

struct QueueState<A, R, T> {
    arrived: VecDeque<A>,
    urgent: VecDeque<Admitted<R>>,
    normal: VecDeque<Admitted<R>>,
    early_replies: EarlyReplyTimes<T>,
    /// Whether a thread decides about a request: one at a time does, so that requests are served in the order of their arrival.
    is_deciding: bool,
    normal_in_service: usize,
    /// Maximum number of requests with normal priority in service: one less than there are threads.
    max_normal_in_service: usize,
    is_closed: bool,
    /// Whether a thread that would wait makes progress in LNet instead, and takes requests that arrive.
    is_progressing: bool,
}

impl<A, R, T> RequestQueue<A, R, T> {
    /// A queue for `threads` threads, at least 2; one of them serves urgent requests only.
    pub(crate) fn new(threads: usize) -> Self {
        let state = QueueState {
            arrived: VecDeque::new(),
            urgent: VecDeque::new(),
            normal: VecDeque::new(),
            early_replies: EarlyReplyTimes::default(),
            is_deciding: false,
            normal_in_service: 0,
            max_normal_in_service: threads.saturating_sub(1).max(1),
            is_closed: false,
            is_progressing: false,
        };
        Self { state: Mutex::new(state), changed: Condition::new(), arrivals: AtomicUsize::new(0) }
    }

    /// Adds a request that has arrived. Called by event handlers. False: the queue is closed.
    pub(crate) fn push(&self, arrived: A) -> bool {
        let mut state = lock(&self.state);
        if state.is_closed {
            return false;
        }
        state.arrived.push_back(arrived);
        self.arrivals.store(state.arrived.len(), Ordering::Release);
        // The thread that decides, or makes progress, takes this one next.
        let needs_thread = !state.is_deciding && !state.is_progressing;
        drop(state);
        if needs_thread {
            self.changed.notify_one();
        }
        true
    }

    /// Takes note of finished work, and waits for the next, with the request that it may be about in `arrived`: no more than that is to be
    /// moved about. One thread makes progress in `node` before it waits. `wake_timer` is called if an early reply is due at a time before
    /// all others.
    pub(crate) fn next(
        &self,
        finished: Finished<R, T>,
        arrived: &mut Option<A>,
        node: &Node,
        wake_timer: impl FnOnce(Time),
    ) -> Work<R> {
        let mut state = lock(&self.state);
        // A thread that has decided takes the next arrival, or the request that it has admitted.
        let needs_thread = matches!(finished, Finished::Decided(Some(_))) && !state.arrived.is_empty();
        let Note { work, wake_at, ended } = state.finish(finished);
        if let Some(work) = work.or_else(|| self.take(&mut state, arrived)) {
            drop(state);
            drop(ended);
            if let Some(at) = wake_at {
                wake_timer(at);
            }
            if needs_thread {
                self.changed.notify_one();
            }
            return work;
        }
        let may_progress = !state.is_progressing && !state.is_closed;
        state.is_progressing |= may_progress;
        drop(state);
        drop(ended);
        if let Some(at) = wake_at {
            wake_timer(at);
        }
        if may_progress {
            node.progress(|| self.arrivals.load(Ordering::Acquire) > 0);
        }
        state = lock(&self.state);
        if may_progress {
            state.is_progressing = false;
        }
        loop {
            if let Some(work) = self.take(&mut state, arrived) {
                return work;
            }
            state = self.changed.wait(state);
        }
    }

    /// Takes the next work, if there is some.
    #[inline]
    fn take(&self, state: &mut QueueState<A, R, T>, arrived: &mut Option<A>) -> Option<Work<R>> {
        let work = state.next(arrived)?;
        if let Work::Decide = work {
            self.arrivals.store(state.arrived.len(), Ordering::Release);
        }
        Some(work)
    }

    /// Changes the time of the early reply to a request, unless its service has ended; `None`: it gets none. Returns the time if it is
    /// before all others.
    pub(crate) fn set_early_reply(&self, is_request: impl Fn(&T) -> bool, due: Option<Time>) -> Option<Time> {
        lock(&self.state).early_replies.set(is_request, due)
    }

    /// Closes the queue: threads end when they have finished their request. Returns the requests that wait.
    pub(crate) fn close(&self) -> (VecDeque<A>, VecDeque<R>) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        self.arrivals.store(usize::MAX, Ordering::Release);
        self.changed.notify_all();
        let arrived = std::mem::take(&mut state.arrived);
        let mut admitted = std::mem::take(&mut state.urgent);
        admitted.append(&mut state.normal);
        let ended: Vec<_> =
            admitted.iter().map(|admitted| state.early_replies.remove(admitted.ticket.timer)).collect();
        drop(state);
        drop(ended);
        (arrived, admitted.into_iter().map(|admitted| admitted.request).collect())
    }
}

impl<A, R, T: Clone> RequestQueue<A, R, T> {
    /// Takes note that the early replies that are due are being sent; returns their requests, and the time of the next one.
    pub(crate) fn take_early_replies(&self, now: Time) -> (Vec<T>, Option<Time>) {
        lock(&self.state).early_replies.take_due(now)
    }
}

/// The consequences of finished work.
struct Note<R, T> {
    /// The next work, if it follows from the work that was finished.
    work: Option<Work<R>>,
    /// The time of an early reply that is due before all others.
    wake_at: Option<Time>,
    /// A request whose service has ended, to be dropped without the lock.
    ended: Option<T>,
}

impl<A, R, T> QueueState<A, R, T> {
    /// Takes note of finished work.
    fn finish(&mut self, finished: Finished<R, T>) -> Note<R, T> {
        let nothing = Note { work: None, wake_at: None, ended: None };
        match finished {
            Finished::Nothing => nothing,
            Finished::Served(Ticket { priority, timer }) => {
                if priority == Priority::Normal {
                    self.normal_in_service -= 1;
                }
                Note { ended: self.early_replies.remove(timer), ..nothing }
            }
            Finished::Decided(admission) => {
                self.is_deciding = false;
                match admission {
                    None => nothing,
                    Some(admission) => self.admit(admission),
                }
            }
        }
    }

    /// Adds a request that is to be served. The thread that has decided serves it at once if nothing else is to be done before.
    fn admit(&mut self, admission: Accepted<R, T>) -> Note<R, T> {
        let Accepted { request, priority, timed, early_reply } = admission;
        if self.is_closed {
            return Note { work: Some(Work::Drop(request)), wake_at: None, ended: Some(timed) };
        }
        let (timer, wake_at) = self.early_replies.add(timed, early_reply);
        let ticket = Ticket { priority, timer };
        let is_next = self.arrived.is_empty() && self.urgent.is_empty();
        let work = match priority {
            Priority::Urgent if is_next => Some(Work::Serve(Admitted { request, ticket, has_waited: false })),
            Priority::Normal if is_next && self.normal.is_empty() && self.may_serve_normal() => {
                self.normal_in_service += 1;
                Some(Work::Serve(Admitted { request, ticket, has_waited: false }))
            }
            Priority::Urgent => {
                self.urgent.push_back(Admitted { request, ticket, has_waited: true });
                None
            }
            Priority::Normal => {
                self.normal.push_back(Admitted { request, ticket, has_waited: true });
                None
            }
        };
        Note { work, wake_at, ended: None }
    }

    const fn may_serve_normal(&self) -> bool {
        self.normal_in_service < self.max_normal_in_service
    }

    #[inline]
    fn next(&mut self, arrived: &mut Option<A>) -> Option<Work<R>> {
        if self.is_closed {
            return Some(Work::End);
        }
        if !self.is_deciding && !self.arrived.is_empty() {
            *arrived = self.arrived.pop_front();
            self.is_deciding = true;
            return Some(Work::Decide);
        }
        if let Some(urgent) = self.urgent.pop_front() {
            return Some(Work::Serve(urgent));
        }
        if self.may_serve_normal()
            && let Some(normal) = self.normal.pop_front()
        {
            self.normal_in_service += 1;
            return Some(Work::Serve(normal));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::time::Duration;

    type Requests = RequestQueue<u32, u32, u32>;

    /// Returns the work that the next thread would get, without waiting, and the ticket of a request to be served.
    fn next(queue: &Requests, finished: Finished<u32, u32>) -> Option<(&'static str, u32, Option<Ticket>)> {
        let mut state = lock(&queue.state);
        let mut arrived = None;
        match state.finish(finished).work.or_else(|| queue.take(&mut state, &mut arrived))? {
            Work::Decide => Some(("decide", arrived?, None)),
            Work::Serve(Admitted { request, ticket, has_waited }) => {
                let how = match (ticket.priority, has_waited) {
                    (Priority::Urgent, true) => "urgent",
                    (Priority::Urgent, false) => "urgent, at once",
                    (Priority::Normal, true) => "normal",
                    (Priority::Normal, false) => "normal, at once",
                };
                Some((how, request, Some(ticket)))
            }
            Work::Drop(request) => Some(("drop", request, None)),
            Work::End => Some(("end", 0, None)),
        }
    }

    fn admitted(request: u32, priority: Priority) -> Finished<u32, u32> {
        let early_reply = Some(Time(Duration::from_secs(request.into())));
        Finished::Decided(Some(Accepted { request, priority, timed: request, early_reply }))
    }

    enum Step {
        /// A thread that has done nothing before.
        First,
        Admitted(u32, Priority),
        NotServed,
        /// The request was served.
        Served(u32),
    }

    fn run(queue: &Requests, steps: &[(Step, Option<(&'static str, u32)>)]) {
        let mut tickets = HashMap::new();
        for (step, want) in steps {
            let finished = match *step {
                Step::First => Finished::Nothing,
                Step::Admitted(request, priority) => admitted(request, priority),
                Step::NotServed => Finished::Decided(None),
                Step::Served(request) => Finished::Served(tickets[&request]),
            };
            let work = next(queue, finished);
            if let Some((_, request, Some(ticket))) = work {
                tickets.insert(request, ticket);
            }
            assert_eq!(work.map(|(work, request, _)| (work, request)), *want);
        }
    }

    #[test]
    fn one_thread_at_a_time_decides_and_one_is_reserved_for_urgent_requests() {
        let queue = Requests::new(2);
        assert!((1..=4).all(|request| queue.push(request)));
        let steps = [
            (Step::First, Some(("decide", 1))),
            (Step::First, None),
            // Before any is served.
            (Step::Admitted(1, Priority::Normal), Some(("decide", 2))),
            (Step::Admitted(2, Priority::Normal), Some(("decide", 3))),
            (Step::Admitted(3, Priority::Urgent), Some(("decide", 4))),
            (Step::NotServed, Some(("urgent", 3))),
            (Step::First, Some(("normal", 1))),
            // The other thread is reserved.
            (Step::First, None),
            (Step::Served(3), None),
            (Step::Served(1), Some(("normal", 2))),
        ];
        run(&queue, &steps);
    }

    #[test]
    fn a_request_is_served_at_once_if_nothing_else_is_to_be_done() {
        let queue = Requests::new(2);
        assert!(queue.push(1));
        let before = [
            (Step::First, Some(("decide", 1))),
            (Step::Admitted(1, Priority::Normal), Some(("normal, at once", 1))),
        ];
        run(&queue, &before);
        assert!((2..=3).all(|request| queue.push(request)));
        let after = [
            (Step::First, Some(("decide", 2))),
            (Step::Admitted(2, Priority::Normal), Some(("decide", 3))),
            (Step::Admitted(3, Priority::Urgent), Some(("urgent, at once", 3))),
            (Step::Served(3), None),
        ];
        run(&queue, &after);
    }

    #[test]
    fn early_replies_are_due_until_the_service_of_a_request_has_ended() {
        let queue = Requests::new(2);
        let at = |seconds| Time(Duration::from_secs(seconds));
        assert!((1..=3).all(|request| queue.push(request)));
        let steps = [
            (Step::First, Some(("decide", 1))),
            (Step::Admitted(1, Priority::Urgent), Some(("decide", 2))),
            (Step::Admitted(2, Priority::Normal), Some(("decide", 3))),
            (Step::NotServed, Some(("urgent", 1))),
            (Step::Served(1), Some(("normal", 2))),
        ];
        run(&queue, &steps);
        assert_eq!(queue.take_early_replies(at(9)), (vec![2], None), "1 was served");
        assert_eq!(queue.set_early_reply(|request| *request == 2, Some(at(20))), Some(at(20)));
        assert_eq!(queue.set_early_reply(|request| *request == 1, Some(at(10))), None);
        assert_eq!(queue.take_early_replies(at(99)), (vec![2], None));
    }

    #[test]
    fn a_closed_queue_returns_what_waits_and_accepts_nothing() {
        let queue = Requests::new(2);
        assert!((1..=3).all(|request| queue.push(request)));
        let before =
            [(Step::First, Some(("decide", 1))), (Step::Admitted(1, Priority::Normal), Some(("decide", 2)))];
        run(&queue, &before);
        let (arrived, waiting) = queue.close();
        assert_eq!((Vec::from(arrived), Vec::from(waiting)), (vec![3], vec![1]));
        assert_eq!(queue.take_early_replies(Time(Duration::MAX)).0, Vec::<u32>::new());
        run(&queue, &[(Step::Admitted(2, Priority::Normal), Some(("drop", 2)))]);
        assert!(!queue.push(4));
        run(&queue, &[(Step::First, Some(("end", 0)))]);
    }
}
