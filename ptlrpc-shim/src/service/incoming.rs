//! Requests that wait: for being looked at, then for being served (PR-53, PR-71).

use super::buffers::PostedBuffer;
use super::request::Admitted;
use crate::lnet::{Nid, Node, ProcessId, RegionSlice};
use crate::message::Xid;
use crate::sync::{lock, wait};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

/// A request as it came.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) bytes: RegionSlice<PostedBuffer>,
    pub(super) xid: Xid,
    pub(super) at: Instant,
    /// Its client, by the primary NID.
    pub(super) peer: ProcessId,
    /// The interface that it was sent from.
    pub(super) source: ProcessId,
    /// The interface that it was sent to.
    pub(super) self_nid: Nid,
}

/// Whether a request waits for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Urgent,
    Ordinary,
}

/// What a thread does next.
pub(super) enum Work {
    /// Look at it; then [`Queue::looked_at`].
    LookAt(Arrived),
    /// Serve it; then [`Queue::served`].
    Serve(Arc<Admitted>, Class),
    /// End.
    End,
}

/// What waits in a service. Memory is bounded by the buffers that the requests lie in.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Default)]
struct State {
    arrived: VecDeque<Arrived>,
    urgent: VecDeque<Arc<Admitted>>,
    ordinary: VecDeque<Arc<Admitted>>,
    /// One at a time does it, so that requests are served in the order of their coming.
    is_looking: bool,
    ordinary_running: usize,
    /// One thread less than there are.
    ordinary_at_once: usize,
    is_closed: bool,
    /// A thread that is about to wait takes what comes just now.
    is_expecting: bool,
    /// Threads that have to be woken.
    sleeping: usize,
}

impl Queue {
    /// For so many threads, one of them for urgent requests only: at least 2.
    pub(super) fn new(threads: usize) -> Self {
        let state = State { ordinary_at_once: threads.saturating_sub(1).max(1), ..State::default() };
        Self { state: Mutex::new(state), bell: Condvar::new() }
    }

    /// A request has come. Called by event handlers. False: the queue is closed, and it is dropped.
    pub(super) fn arrive(&self, arrived: Arrived) -> bool {
        let mut state = lock(&self.state);
        if state.is_closed {
            return false;
        }
        state.arrived.push_back(arrived);
        // Who is looking looks at this one too.
        if !state.is_looking && !state.is_expecting {
            self.wake_one(&state);
        }
        true
    }

    /// Waits for something to do. What comes at once is waited for in `node`, by one thread.
    pub(super) fn next(&self, node: &Node) -> Work {
        let mut state = lock(&self.state);
        if let Some(work) = state.next() {
            return work;
        }
        if !state.is_expecting && !state.is_closed {
            state.is_expecting = true;
            drop(state);
            node.progress(|| lock(&self.state).has_news());
            state = lock(&self.state);
            state.is_expecting = false;
        }
        loop {
            if let Some(work) = state.next() {
                return work;
            }
            state.sleeping += 1;
            state = wait(&self.bell, state);
            state.sleeping -= 1;
        }
    }

    /// That is a system call, even where nobody sleeps.
    fn wake_one(&self, state: &State) {
        if state.sleeping > 0 {
            self.bell.notify_one();
        }
    }

    /// A request has been looked at; if it is to be served, here it is. It comes back if the queue is closed.
    pub(super) fn looked_at(&self, admitted: Option<(Arc<Admitted>, Class)>) -> Option<Arc<Admitted>> {
        let mut state = lock(&self.state);
        state.is_looking = false;
        let (admitted, class) = admitted?;
        if state.is_closed {
            return Some(admitted);
        }
        match class {
            Class::Urgent => state.urgent.push_back(admitted),
            Class::Ordinary => state.ordinary.push_back(admitted),
        }
        // This thread goes on with what has come, or with this one.
        if !state.arrived.is_empty() {
            self.wake_one(&state);
        }
        None
    }

    /// A request is over.
    pub(super) fn served(&self, class: Class) {
        if class == Class::Ordinary {
            lock(&self.state).ordinary_running -= 1;
        }
    }

    /// Threads end when they are done with what they have. What has not been begun comes back.
    pub(super) fn close(&self) -> (VecDeque<Arrived>, VecDeque<Arc<Admitted>>) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        self.bell.notify_all();
        let arrived = std::mem::take(&mut state.arrived);
        let mut admitted = std::mem::take(&mut state.urgent);
        admitted.append(&mut state.ordinary);
        (arrived, admitted)
    }
}

impl State {
    fn has_news(&self) -> bool {
        self.is_closed || !self.arrived.is_empty()
    }

    fn next(&mut self) -> Option<Work> {
        if self.is_closed {
            return Some(Work::End);
        }
        if !self.is_looking
            && let Some(arrived) = self.arrived.pop_front()
        {
            self.is_looking = true;
            return Some(Work::LookAt(arrived));
        }
        if let Some(urgent) = self.urgent.pop_front() {
            return Some(Work::Serve(urgent, Class::Urgent));
        }
        if self.ordinary_running < self.ordinary_at_once
            && let Some(ordinary) = self.ordinary.pop_front()
        {
            self.ordinary_running += 1;
            return Some(Work::Serve(ordinary, Class::Ordinary));
        }
        None
    }
}
