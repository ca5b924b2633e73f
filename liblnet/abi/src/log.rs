//! The library's messages on standard error, where the program brings no logger of its own.
//!
//! `LNET_DEBUG` (off, error, warn, info, debug, trace) says how much; warnings and worse by default.

use log::{Level, LevelFilter, Log, Metadata, Record};
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Equal messages within this time are counted instead of printed.
const QUIET: Duration = Duration::from_secs(10);
/// Kinds of message that are remembered for that.
const REMEMBERED: usize = 32;

/// Installs the logger, unless the program has installed one. Harmless when called again.
pub(crate) fn install() {
    static LOGGER: Stderr = Stderr { recent: Mutex::new(Recent::new()) };
    if log::set_logger(&LOGGER).is_ok() {
        let level = std::env::var("LNET_DEBUG").ok().and_then(|level| level.parse().ok());
        log::set_max_level(level.unwrap_or(LevelFilter::Warn));
    }
}

struct Stderr {
    recent: Mutex<Recent>,
}

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let text = record.args().to_string();
        let similar = match record.level() {
            // Only what an operator sees is thinned out; who asks for debug messages wants them all.
            Level::Error | Level::Warn => {
                let place = (record.file().unwrap_or_default(), record.line().unwrap_or_default());
                let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
                match recent.see(place, &text, Instant::now()) {
                    Seen::Print { suppressed } => suppressed,
                    Seen::Suppress => return,
                }
            }
            _ => 0,
        };
        let mut out = std::io::stderr().lock();
        // Nobody can be told that standard error is closed.
        if similar > 0 {
            let _ = writeln!(out, "LNet: {similar} similar lines suppressed");
        }
        let _ = writeln!(out, "{}{text}", prefix(record.level()));
    }

    fn flush(&self) {}
}

fn prefix(level: Level) -> &'static str {
    match level {
        Level::Error => "LNetError: ",
        Level::Warn => "LNet: warning: ",
        Level::Info => "LNet: ",
        Level::Debug => "LNet: debug: ",
        Level::Trace => "LNet: trace: ",
    }
}

/// Which messages were printed a short while ago: by the place in the code, with the text last printed.
struct Recent {
    entries: Vec<Entry>,
}

struct Entry {
    place: (&'static str, u32),
    text: String,
    printed: Instant,
    suppressed: u32,
}

#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Print { suppressed: u32 },
    Suppress,
}

impl Recent {
    const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// What to do with `text` from `place` at `now`: the same text is printed once in a while only.
    fn see(&mut self, place: (&str, u32), text: &str, now: Instant) -> Seen {
        let known = |e: &&mut Entry| e.place.0 == place.0 && e.place.1 == place.1 && e.text == text;
        if let Some(entry) = self.entries.iter_mut().find(known) {
            if now.duration_since(entry.printed) < QUIET {
                entry.suppressed += 1;
                return Seen::Suppress;
            }
            entry.printed = now;
            return Seen::Print { suppressed: std::mem::take(&mut entry.suppressed) };
        }
        if self.entries.len() >= REMEMBERED
            && let Some(oldest) =
                self.entries.iter().enumerate().min_by_key(|(_, e)| e.printed).map(|(i, _)| i)
        {
            self.entries.swap_remove(oldest);
        }
        self.entries.push(Entry { place: (leak_free(place.0), place.1), text: text.to_owned(), printed: now, suppressed: 0 });
        Seen::Print { suppressed: 0 }
    }
}
