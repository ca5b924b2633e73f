//! What the server says in the log: of each of its users at a limited rate.

use crate::clock::MonotonicClock;
use lnet_core::Clock;
use lnet_log::{LogClass, RateLimitedLog};
use std::fmt::{Arguments, Display};

/// The log of one server. It has a clock of its own, for it may serve another backend than a node.
#[derive(Debug)]
pub(super) struct ServerLog {
    clock: MonotonicClock,
    log: RateLimitedLog,
}

impl ServerLog {
    pub(super) fn new() -> Self {
        Self { clock: MonotonicClock::start(), log: RateLimitedLog::new() }
    }

    /// The subject is the user that the client is of, or the socket.
    pub(super) fn log(&self, class: LogClass, subject: impl Display, line: Arguments<'_>) {
        self.log.write(self.clock.now(), class, subject, line);
    }

    /// Says what was suppressed; to be called once in a while.
    pub(super) fn poll(&self) {
        self.log.poll(self.clock.now());
    }
}
