//! Waits for events of a node's queues.

use crate::node::Node;
use lnd_common::event_wait;
use lnet_core::event::in_handler;
use lnet_core::{EqHandle, Errno, Polled};
use std::time::Duration;

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
        let mut found = Ok(None);
        if let Err(errno) = self.eq_poll_with(eqs, timeout, |at, polled| found = Ok(Some((at, *polled)))) {
            found = Err(errno);
        }
        found
    }

    /// Does the same, and returns what `read` makes of the event where it is stored, and of the index of its queue. `read` is called with
    /// the lock of the queue: it is brief, and calls nothing of the node.
    pub fn eq_poll_with<R>(
        &self,
        eqs: &[EqHandle],
        timeout: Option<Duration>,
        mut read: impl FnMut(usize, &Polled) -> R,
    ) -> Result<Option<R>, Errno> {
        if in_handler() && timeout != Some(Duration::ZERO) {
            return Err(Errno::Busy);
        }
        // With an event the queues need not be kept.
        for (at, eq) in eqs.iter().enumerate() {
            if let Ok(Some(found)) = self.core().data_path().eq_get_with(*eq, |polled| read(at, polled)) {
                return Ok(Some(found));
            }
        }
        let queue = |eq: &EqHandle| match self.core().data_path().eq(*eq) {
            Err(_) if self.core().is_ending() => Err(Errno::NetworkDown),
            found => found,
        };
        let mut wait = |queues: &[_]| {
            let progress = |limit| self.starter.drivers.progress(limit);
            event_wait::wait(queues, timeout, &self.spin, progress, &mut read)
        };
        let found = match eqs {
            [] => return Err(Errno::NotFound),
            [eq] => wait(&[queue(eq)?]),
            eqs => wait(&eqs.iter().map(queue).collect::<Result<Vec<_>, _>>()?),
        };
        found.transpose()
    }
}
