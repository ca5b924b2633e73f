//! The log of the control server, rate-limited per user.

use crate::clock::MonotonicClock;
use lnet_core::Clock;
use lnet_log::{History, LogClass, RateLimitedLog};
use std::fmt::{Arguments, Display};
use std::sync::Arc;

/// The log of one server. It has its own clock, as the server may serve another backend than a node.
#[derive(Debug)]
pub(super) struct ServerLog {
    clock: MonotonicClock,
    log: RateLimitedLog,
}

impl ServerLog {
    pub(super) fn new(history: Option<Arc<History>>) -> Self {
        Self { clock: MonotonicClock::start(), log: RateLimitedLog::new().keeping(history) }
    }

    /// Writes a line; the subject is the user of the client, or the socket.
    pub(super) fn log(&self, class: LogClass, subject: impl Display, line: Arguments<'_>) {
        self.log.write(self.clock.now(), class, subject, line);
    }

    /// Logs the numbers of suppressed lines; to be called periodically.
    pub(super) fn poll(&self) {
        self.log.poll(self.clock.now());
    }
}
