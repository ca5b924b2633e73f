//! Lines of the log, written at a limited rate for each class and subject.

use lnet_log::{LogClass, RateLimitedLog};
use std::fmt::{Arguments, Display};
use std::time::Instant;

/// The log of a service or an import. Any thread may write.
pub(crate) struct Log {
    lines: RateLimitedLog,
    /// The limiter counts from here.
    epoch: Instant,
}

impl Log {
    /// A log without lines; `now` by the clock of its owner.
    pub(crate) fn new(now: Instant) -> Self {
        Self { lines: RateLimitedLog::new(), epoch: now }
    }

    /// Logs a line, rate-limited by its class and subject.
    pub(crate) fn log(&self, now: Instant, class: LogClass, subject: impl Display, line: Arguments<'_>) {
        self.lines.write(now.saturating_duration_since(self.epoch), class, subject, line);
    }

    /// Logs the number of lines that were suppressed in the periods that have ended.
    pub(crate) fn poll(&self, now: Instant) {
        self.lines.poll(now.saturating_duration_since(self.epoch));
    }
}
