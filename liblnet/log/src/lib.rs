//! A library's messages on standard error, where the program brings no logger of its own. Each shared library has its
//! own.
//!
//! `LNET_DEBUG` (off, error, warn, info, debug, trace) says how much. Where standard error is the journal's
//! (`JOURNAL_STREAM`), each line has its priority before it, as journald reads it: `<3>`.
#![forbid(unsafe_code)]

use log::{Level, LevelFilter, Log, Metadata, Record};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// One place in the code prints so many lines in a period; the others are counted.
const LINES_PER_PERIOD: u32 = 10;
const PERIOD: Duration = Duration::from_secs(10);

/// Installs the logger, unless the program has installed one: lines begin with `name`, and `default` applies where
/// `LNET_DEBUG` says nothing. Harmless when called again.
pub fn install(name: &'static str, default: LevelFilter) {
    static LOGGER: OnceLock<Stderr> = OnceLock::new();
    let logger = LOGGER.get_or_init(|| Stderr {
        name,
        recent: Mutex::new(Recent(Vec::new())),
        style: if is_journal() { Style::Journal } else { Style::Plain },
    });
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
        let suppressed = match record.level() {
            // Only what an operator sees is thinned out; who asks for debug messages wants them all.
            Level::Error | Level::Warn => {
                let place = place_of(record.file().unwrap_or_default(), record.line().unwrap_or_default());
                match lock(&self.recent).see(place, Instant::now()) {
                    Seen::Print { suppressed } => suppressed,
                    Seen::Suppress => return,
                }
            }
            _ => 0,
        };
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
    fn prefix(&self, level: Level) -> String {
        prefix(self.name, level, self.style)
    }
}

fn prefix(name: &str, level: Level, style: Style) -> String {
    match (style, level) {
        (Style::Plain, Level::Error) => format!("{name}Error: "),
        (Style::Plain, Level::Warn) => format!("{name}: warning: "),
        (Style::Plain, Level::Info) => format!("{name}: "),
        (Style::Plain, Level::Debug) => format!("{name}: debug: "),
        (Style::Plain, Level::Trace) => format!("{name}: trace: "),
        // syslog's numbers; the journal shows who writes.
        (Style::Journal, Level::Error) => "<3>".to_owned(),
        (Style::Journal, Level::Warn) => "<4>".to_owned(),
        (Style::Journal, Level::Info) => "<6>".to_owned(),
        (Style::Journal, Level::Debug | Level::Trace) => "<7>".to_owned(),
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
    fn every_level_has_its_prefix() {
        assert_eq!(prefix("LNet", Level::Error, Style::Plain), "LNetError: ");
        assert_eq!(prefix("PtlRPC", Level::Warn, Style::Plain), "PtlRPC: warning: ");
        assert_eq!(prefix("LNet", Level::Warn, Style::Journal), "<4>");
    }
}
