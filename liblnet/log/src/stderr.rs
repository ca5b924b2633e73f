//! Writes records to standard error, where the program brings no logger of its own.
//!
//! `LNET_DEBUG` (off, error, warn, info, debug, trace) says how much. Each line begins with the time, in UTC, to the
//! millisecond (RFC 3339). Where standard error is the journal's (`JOURNAL_STREAM`), which has a time stamp of its own, it
//! begins with its priority instead, as journald reads it: `<3>`.

use log::{Level, LevelFilter, Log, Metadata, Record};
use std::io::Write;
use std::sync::OnceLock;
use std::time::SystemTime;

/// Installs the logger, unless the program has installed one: lines begin with `name`, and `default` applies where
/// `LNET_DEBUG` says nothing. Harmless when called again.
pub fn install(name: &'static str, default: LevelFilter) {
    static LOGGER: OnceLock<Stderr> = OnceLock::new();
    let logger = LOGGER
        .get_or_init(|| Stderr { name, style: if is_journal() { Style::Journal } else { Style::Plain } });
    if log::set_logger(logger).is_ok() {
        let level = std::env::var("LNET_DEBUG").ok().and_then(|level| level.parse().ok());
        log::set_max_level(level.unwrap_or(default));
    }
}

/// Whether standard error is the stream that systemd says goes to the journal: a child may have inherited
/// the variable and have its standard error elsewhere.
fn is_journal() -> bool {
    let named = std::env::var("JOURNAL_STREAM").unwrap_or_default();
    rustix::fs::fstat(std::io::stderr())
        .is_ok_and(|found| named == format!("{}:{}", found.st_dev, found.st_ino))
}

/// How a line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Plain,
    Journal,
}

struct Stderr {
    name: &'static str,
    style: Style,
}

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        // Nobody can be told that standard error is closed.
        // One write for each line: several processes may share standard error.
        let line = format!("{}{}\n", self.prefix(record.level()), record.args());
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }

    fn flush(&self) {}
}

impl Stderr {
    fn prefix(&self, level: Level) -> String {
        match self.style {
            Style::Plain => plain_prefix(self.name, level, SystemTime::now()),
            Style::Journal => journal_prefix(level).to_owned(),
        }
    }
}

fn plain_prefix(name: &str, level: Level, now: SystemTime) -> String {
    let level = match level {
        Level::Error => "Error: ",
        Level::Warn => ": warning: ",
        Level::Info => ": ",
        Level::Debug => ": debug: ",
        Level::Trace => ": trace: ",
    };
    format!("{} {name}{level}", humantime::format_rfc3339_millis(now))
}

/// syslog's numbers; the journal shows who writes, and when.
fn journal_prefix(level: Level) -> &'static str {
    match level {
        Level::Error => "<3>",
        Level::Warn => "<4>",
        Level::Info => "<6>",
        Level::Debug | Level::Trace => "<7>",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_line_begins_with_the_time_in_utc_and_who_says_how_urgently() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_042);
        assert_eq!(plain_prefix("LNet", Level::Error, now), "2023-11-14T22:13:20.042Z LNetError: ");
        assert_eq!(plain_prefix("PtlRPC", Level::Warn, now), "2023-11-14T22:13:20.042Z PtlRPC: warning: ");
    }
}
