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
        let missing = |errno| if self.core().is_ending() { Errno::NetworkDown } else { errno };
        let queue = |eq: &EqHandle| self.core().data_path().eq(*eq).map_err(missing);
        let progress = |limit| self.starter.drivers.progress(limit);
        let found = match eqs {
            [] => return Err(Errno::NotFound),
            [eq] => {
                // With an event the queue need not be kept.
                let mut read = |polled: &Polled| read(0, polled);
                let found = self.core().data_path().eq_get_with(*eq, &mut read).map_err(missing)?;
                if found.is_some() {
                    return Ok(found);
                }
                let queues = [queue(eq)?];
                event_wait::wait(&queues, timeout, &self.spin, progress, |_, polled| read(polled))
            }
            eqs => {
                let queues = eqs.iter().map(queue).collect::<Result<Vec<_>, _>>()?;
                event_wait::look(&queues, &mut read)
                    .or_else(|| event_wait::wait(&queues, timeout, &self.spin, progress, read))
            }
        };
        found.transpose()
    }
}
