//! Resends that are due.

use super::Monitor;
use crate::environment::time::Time;
use lnet_wire::Errno;

impl Monitor<'_> {
    /// Resends the messages that are due, and ends those past their deadline; returns the time at which the next is due.
    pub(crate) fn resend_due(&self, now: Time) -> Option<Time> {
        let (due, next) = self.health.take_resends(now);
        for message in due {
            match message.deadline <= now {
                true => self.data_path.end(message, Err(Errno::TimedOut.into())),
                false => self.data_path.reroute_now(message),
            }
        }
        next
    }
}
