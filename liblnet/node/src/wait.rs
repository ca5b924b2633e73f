//! Waits for events.
//!
//! A thread that waits polls the node's sockets itself for a while, so that the message it waits for needs no second
//! thread to wake it: first it spins, as long as that pays (`spin`), then it sleeps in the driver; without a message
//! it sleeps outside, and the driver's own thread wakes it.

use crate::node::Node;
use lnet_core::event::{EventQueue, in_handler};
use lnet_core::lnd::Progress;
use lnet_core::{EqHandle, Errno, Polled};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The time for which a waiting thread polls the driver before it checks its queues again: the maximum delay of an event that
/// another thread has delivered meanwhile.
const DRIVER_POLL: Duration = Duration::from_millis(1);
/// The number of polls without a message after which the thread sleeps.
const MAX_IDLE_POLLS: u32 = 3;

impl Node {
    /// Waits for an event on any of `eqs`: `LNetEQPoll`, and `LNetEQWait` with one queue and no `timeout`. Returns
    /// the event with the index of its queue, the first that has one; `None` after `timeout`. [`Errno::NotFound`]
    /// without queues, or for one that does not exist or is freed meanwhile; [`Errno::NetworkDown`] when the node
    /// shuts down; [`Errno::Busy`] in an event handler, unless `timeout` is zero: the awaited event might have to
    /// wait for the handler.
    pub fn eq_poll(
        &self,
        eqs: &[EqHandle],
        timeout: Option<Duration>,
    ) -> Result<Option<(usize, Polled)>, Errno> {
        if in_handler() && timeout != Some(Duration::ZERO) {
            return Err(Errno::Busy);
        }
        let queue = |eq: &EqHandle| match self.core().data_path().eq(*eq) {
            Err(_) if self.core().is_ending() => Err(Errno::NetworkDown),
            found => found,
        };
        let found = match eqs {
            [] => return Err(Errno::NotFound),
            [eq] => self.wait(&[queue(eq)?], timeout),
            eqs => self.wait(&eqs.iter().map(queue).collect::<Result<Vec<_>, _>>()?, timeout),
        };
        found.transpose()
    }

    /// Waits for the first event or the end of a queue; `None` after the timeout.
    fn wait(
        &self,
        queues: &[Arc<EventQueue>],
        timeout: Option<Duration>,
    ) -> Option<Result<(usize, Polled), Errno>> {
        let look = || {
            let mut each = queues.iter().enumerate();
            each.find_map(|(at, queue)| queue.get().map(|found| Some((at, found?))).transpose())
        };
        if let Some(found) = look() {
            return Some(found);
        }
        if timeout == Some(Duration::ZERO) {
            return None;
        }
        // A deadline that the clock cannot represent means no limit.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        if let Some(found) = self.spin.run(timeout, || (self.drivers.progress(Duration::ZERO), look())) {
            return Some(found);
        }
        let _reading = Reading::join(queues);
        let mut idle_polls = 0;
        loop {
            if let Some(found) = look() {
                return Some(found);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return None;
            }
            if idle_polls < MAX_IDLE_POLLS {
                match self.drivers.progress(left.map_or(DRIVER_POLL, |left| left.min(DRIVER_POLL))) {
                    Progress::Worked => idle_polls = 0,
                    Progress::Idle => idle_polls += 1,
                    Progress::NotOffered => idle_polls = MAX_IDLE_POLLS,
                }
            } else {
                match left {
                    Some(left) => thread::park_timeout(left),
                    None => thread::park(),
                }
            }
        }
    }
}

/// The registration of the calling thread as a reader of queues, until dropped.
struct Reading<'a>(&'a [Arc<EventQueue>]);

impl<'a> Reading<'a> {
    fn join(queues: &'a [Arc<EventQueue>]) -> Self {
        queues.iter().for_each(|queue| queue.join_reader());
        Self(queues)
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|queue| queue.leave_reader());
    }
}
