//! A library's messages on standard error, where the program brings no logger of its own. Each shared library has its
//! own.
//!
//! `LNET_DEBUG` (off, error, warn, info, debug, trace) says how much. Each line begins with the time, in UTC, to the
//! millisecond (RFC 3339). Where standard error is the journal's (`JOURNAL_STREAM`), which has a time stamp of its own, it
//! begins with its priority instead, as journald reads it: `<3>`.
#![forbid(unsafe_code)]

use log::{Level, LevelFilter, Log, Metadata, Record};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The target of records that are never suppressed: each tells once that something is in another state.
pub const STATE_CHANGES: &str = "lnet::state";

/// One place in the code prints so many lines in a period; the others are counted.
const LINES_PER_PERIOD: u32 = 10;
const PERIOD: Duration = Duration::from_secs(10);

/// Installs the logger, unless the program has installed one: lines begin with `name`, and `default` applies where
/// `LNET_DEBUG` says nothing. Harmless when called again.
pub fn install(name: &'static str, default: LevelFilter) {
    static LOGGER: OnceLock<Stderr> = OnceLock::new();
    let logger =
        LOGGER.get_or_init(|| Stderr::new(name, if is_journal() { Style::Journal } else { Style::Plain }));
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
    recent: Mutex<Recent>,
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
        let Some(suppressed) = self.admit(record, Instant::now()) else { return };
        let mut out = std::io::stderr().lock();
        // Nobody can be told that standard error is closed.
        if suppressed > 0 {
            let _ = writeln!(out, "{}{suppressed} similar lines suppressed", self.prefix(Level::Info));
        }
        let _ = writeln!(out, "{}{}", self.prefix(record.level()), record.args());
    }

    fn flush(&self) {}
}

impl Stderr {
    fn new(name: &'static str, style: Style) -> Self {
        Self { name, recent: Mutex::new(Recent(Vec::new())), style }
    }

    /// How many lines from the same place have been suppressed before this one; `None`: this one is, too.
    fn admit(&self, record: &Record<'_>, now: Instant) -> Option<u32> {
        match record.level() {
            // Only what an operator sees is thinned out; who asks for debug messages wants them all.
            Level::Error | Level::Warn if record.target() != STATE_CHANGES => {
                let place = place_of(record.file().unwrap_or_default(), record.line().unwrap_or_default());
                match lock(&self.recent).see(place, now) {
                    Seen::Print { suppressed } => Some(suppressed),
                    Seen::Suppress => None,
                }
            }
            _ => Some(0),
        }
    }

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

/// A number for a place in the code that logs.
fn place_of(file: &str, line: u32) -> u64 {
    let mut hasher = DefaultHasher::new();
    (file, line).hash(&mut hasher);
    hasher.finish()
}

fn lock(recent: &Mutex<Recent>) -> MutexGuard<'_, Recent> {
    recent.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often each place in the code has logged a short while ago.
struct Recent(Vec<Place>);

struct Place {
    place: u64,
    since: Instant,
    printed: u32,
    suppressed: u32,
}

#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Print { suppressed: u32 },
    Suppress,
}

impl Recent {
    /// What to do with a line from `place` at `now`; a new period starts with what the last suppressed.
    fn see(&mut self, place: u64, now: Instant) -> Seen {
        let Some(known) = self.0.iter_mut().find(|known| known.place == place) else {
            self.0.push(Place { place, since: now, printed: 1, suppressed: 0 });
            return Seen::Print { suppressed: 0 };
        };
        if now.duration_since(known.since) >= PERIOD {
            let suppressed = known.suppressed;
            *known = Place { place, since: now, printed: 1, suppressed: 0 };
            return Seen::Print { suppressed };
        }
        if known.printed < LINES_PER_PERIOD {
            known.printed += 1;
            return Seen::Print { suppressed: 0 };
        }
        known.suppressed += 1;
        Seen::Suppress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_logs_too_much_is_suppressed_and_says_so_later() {
        let (mut recent, start) = (Recent(Vec::new()), Instant::now());
        for _ in 0..LINES_PER_PERIOD {
            assert_eq!(recent.see(1, start), Seen::Print { suppressed: 0 });
        }
        assert_eq!(recent.see(1, start), Seen::Suppress);
        assert_eq!(recent.see(1, start), Seen::Suppress);
        assert_eq!(recent.see(2, start), Seen::Print { suppressed: 0 });
        assert_eq!(recent.see(1, start + PERIOD), Seen::Print { suppressed: 2 });
        assert_eq!(recent.see(1, start + PERIOD), Seen::Print { suppressed: 0 });
    }

    #[test]
    fn a_change_of_state_is_never_suppressed() {
        let (log, now) = (Stderr::new("LNet", Style::Plain), Instant::now());
        let admitted = |target: &str| {
            let record = Record::builder().target(target).level(Level::Warn).line(Some(1)).build();
            (0..100).filter(|_| log.admit(&record, now).is_some()).count()
        };
        assert_eq!((admitted(STATE_CHANGES), admitted("lnet")), (100, LINES_PER_PERIOD as usize));
        assert_eq!(STATE_CHANGES, lnet_core::STATE_CHANGES);
    }

    #[test]
    fn a_line_begins_with_the_time_in_utc_and_who_says_how_urgently() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_042);
        assert_eq!(plain_prefix("LNet", Level::Error, now), "2023-11-14T22:13:20.042Z LNetError: ");
        assert_eq!(plain_prefix("PtlRPC", Level::Warn, now), "2023-11-14T22:13:20.042Z PtlRPC: warning: ");
    }
}
