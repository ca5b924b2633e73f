//! Waiting for events.
//!
//! A thread that waits reads the node's sockets itself for a while, so that the message it waits for needs
//! no second thread to wake it: first it asks again and again without sleeping, as long as that pays
//! (`spin`), then it sleeps in the driver; when nothing comes it sleeps outside, and the driver's own thread
//! wakes it.

use crate::node::Node;
use lnet_core::event::EventQueue;
use lnet_core::lnd::{Driver, Progress};
use lnet_core::{EqHandle, Errno, Polled};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How long a waiting thread sits in the driver before it looks at its queues again: an event that another
/// thread delivered meanwhile is seen this much late at worst.
const DRIVER_TURN: Duration = Duration::from_millis(1);
/// After so many turns in which nothing came the thread sleeps.
const IDLE_TURNS: u32 = 3;

impl Node {
    /// Waits for an event on any of `eqs`: `LNetEQPoll`, and `LNetEQWait` with one queue and no `timeout`.
    /// The first queue that has one gives it; its index comes with it. `None` when `timeout` has passed.
    /// [`Errno::NotFound`] for no queue at all, or one that is not there.
    pub fn eq_poll(
        &self,
        eqs: &[EqHandle],
        timeout: Option<Duration>,
    ) -> Result<Option<(usize, Polled)>, Errno> {
        match eqs {
            [] => Err(Errno::NotFound),
            [eq] => Ok(self.wait(&[self.core().eq(*eq)?], timeout)),
            eqs => {
                let queues = eqs.iter().map(|eq| self.core().eq(*eq)).collect::<Result<Vec<_>, _>>()?;
                Ok(self.wait(&queues, timeout))
            }
        }
    }

    fn wait(&self, queues: &[Arc<EventQueue>], timeout: Option<Duration>) -> Option<(usize, Polled)> {
        let look = || queues.iter().enumerate().find_map(|(at, queue)| Some((at, queue.get()?)));
        if let Some(found) = look() {
            return Some(found);
        }
        if timeout == Some(Duration::ZERO) {
            return None;
        }
        // Beyond what a clock can add up to is for ever.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        if let Some(found) = self.spin.run(timeout, || (self.tcp.progress(Duration::ZERO), look())) {
            return Some(found);
        }
        let _reading = Reading::join(queues);
        let mut idle_turns = 0;
        loop {
            if let Some(found) = look() {
                return Some(found);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return None;
            }
            if idle_turns < IDLE_TURNS {
                match self.tcp.progress(left.map_or(DRIVER_TURN, |left| left.min(DRIVER_TURN))) {
                    Progress::Worked => idle_turns = 0,
                    Progress::Idle => idle_turns += 1,
                    Progress::NotOffered => idle_turns = IDLE_TURNS,
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

/// The calling thread as a reader of queues, until dropped.
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
