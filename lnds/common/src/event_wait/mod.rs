//! Waits of a program's thread for an event of one of several queues.
//!
//! A thread that waits polls the sockets or devices of drivers itself for a while, so that the message it waits for needs no second
//! thread to wake it: first it spins, as long as that pays ([`Spin`]), then it sleeps in the driver; without a message it sleeps outside,
//! and the driver's own thread wakes it.

mod spin;
#[cfg(test)]
mod tests;

pub use spin::Spin;

use lnet_core::event::EventQueue;
use lnet_core::lnd::Progress;
use lnet_core::{Errno, Polled};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The time for which a waiting thread polls the driver before it checks its queues again: the maximum delay of an event that
/// another thread has delivered meanwhile.
const DRIVER_POLL: Duration = Duration::from_millis(1);
/// The number of polls without a message after which the thread sleeps.
const MAX_IDLE_POLLS: u32 = 3;

/// Waits for the first event of `queues`, in which the caller has just found none ([`look`]), or for the end of one. Returns what `read`
/// makes of the event and the index of its queue, the first that has one; the error of [`EventQueue::get`] for a queue that has ended;
/// `None` after `timeout`, which is no limit if it is `None`. `read` is called as [`EventQueue::get_with`] does.
///
/// Events come from `progress`, which runs the I/O of drivers on the calling thread for the time that it is given at most, as
/// [`lnet_core::lnd::Driver::progress`] does for one, or from other threads. It is not called if `timeout` is zero.
/// The caller is not inside an event handler, unless `timeout` is zero: the awaited event might have to wait for the handler.
pub fn wait<R>(
    queues: &[Arc<EventQueue>],
    timeout: Option<Duration>,
    spin: &Spin,
    progress: impl Fn(Duration) -> Progress,
    mut read: impl FnMut(usize, &Polled) -> R,
) -> Option<Result<R, Errno>> {
    if timeout == Some(Duration::ZERO) {
        return None;
    }
    let mut look = || look(queues, &mut read);
    // A deadline that the clock cannot represent means no limit.
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    if let Some(found) = spin.run(timeout, || (progress(Duration::ZERO), look())) {
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
            match progress(left.map_or(DRIVER_POLL, |left| left.min(DRIVER_POLL))) {
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

/// Does what [`wait`] does without waiting: `None` if there is no event.
pub fn look<R>(
    queues: &[Arc<EventQueue>],
    mut read: impl FnMut(usize, &Polled) -> R,
) -> Option<Result<R, Errno>> {
    queues.iter().enumerate().find_map(|(at, queue)| queue.get_with(|polled| read(at, polled)).transpose())
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
