//! Log of the libraries for the operator of a node: the classes of lines, the rate limit, and the logger that writes to
//! standard error or the journal. Each shared library has a logger of its own.
//!
//! A line of level `error`, `warn` or `info` belongs to a [`LogClass`], which fixes its level, its target
//! (`lnet::ni_state`) and its description in `docs/logs.md`. A line is written like this:
//!
//! ```
//! use lnet_log::{LogClass, RateLimitedLog, write_line};
//! use std::time::Duration;
//!
//! // One for each node (or library): a field, passed by reference. The time is the node's own.
//! let log = RateLimitedLog::new();
//! let now = Duration::from_secs(17);
//! // Events that a peer or a failure may repeat: at a limited rate for each subject; if any peer can cause
//! // them, also for each class and in all.
//! let from = "192.0.2.1@tcp";
//! log.write(now, LogClass::MessageDropped, from, format_args!("PUT from {from} dropped (no match)"));
//! // From the thread that has the timers, periodically: logs how many lines were suppressed.
//! log.poll(now);
//! // Only for classes without a limit, whose lines an operator's own action causes.
//! write_line!(LogClass::FaultRule, "{} -> *: dropping 1 of 2 messages", from);
//! ```
//!
//! A new kind of line gets a class in the file of `class/` that has its subject. The text is a literal at the place that writes it, because
//! `docs/logs.md` is generated from there: `subject: event (cause); what the node does about it`, and `A -> B` for a pair of NIDs.
//! `log::debug!` and `log::trace!` need no class.
//!
//! The logger is for Unix; on other targets lines go to the logger that the program has, if any.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

mod class;
mod history;
#[cfg(unix)]
mod line;
mod rate_limited_log;
#[cfg(unix)]
mod stderr;

pub use class::{Limit, LogClass};
pub use history::{History, MAX_CHANGES, StateChange};
#[doc(hidden)]
pub use log;
pub use rate_limited_log::{
    LINES_PER_PERIOD, MAX_LINES_IN_ALL, MAX_LINES_PER_CLASS, MAX_SUBJECTS, PERIOD, RateLimitedLog,
};
#[cfg(unix)]
pub use stderr::{close, flush, install, last_words};

/// Writes a line of a class that has no limit: `write_line!(LogClass::FaultRule, "{subject}: {event}")`. Does not compile
/// with a class that has one.
#[macro_export]
macro_rules! write_line {
    ($class:expr, $($text:tt)+) => {{
        const CLASS: $crate::LogClass = $class;
        const { assert!(!CLASS.is_limited(), "lines of this class go through a RateLimitedLog") };
        $crate::log::log!(target: CLASS.target(), CLASS.level(), $($text)+);
    }};
}
