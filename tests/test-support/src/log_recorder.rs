//! A logger that keeps all lines of the process, for tests of what is logged.

use log::{Level, LevelFilter, Log, Metadata, Record};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// A logged line.
#[derive(Clone, Debug)]
pub struct LogLine {
    /// The level.
    pub level: Level,
    /// The target, such as `lnet::subnet_shared`.
    pub target: String,
    /// The text, without time and level.
    pub text: String,
}

impl LogLine {
    /// Whether the text contains all these words.
    pub fn has_all(&self, words: &[&str]) -> bool {
        words.iter().all(|word| self.text.contains(word))
    }
}

/// Keeps the lines of the process up to this level from now on. The other tests of the process log into the same list.
pub fn listen(max_level: LevelFilter) {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let _ = log::set_logger(&RECORDER);
    });
    log::set_max_level(max_level);
}

/// Returns the lines since the last [`take`].
pub fn lines() -> Vec<LogLine> {
    recorded().clone()
}

/// Removes the lines since the last call, and returns them.
pub fn take() -> Vec<LogLine> {
    std::mem::take(&mut *recorded())
}

/// The number of lines at this level that contain all these words, since the last [`take`].
pub fn said(level: Level, words: &[&str]) -> usize {
    recorded().iter().filter(|line| line.level == level && line.has_all(words)).count()
}

struct Recorder(Mutex<Vec<LogLine>>);

static RECORDER: Recorder = Recorder(Mutex::new(Vec::new()));

fn recorded() -> MutexGuard<'static, Vec<LogLine>> {
    RECORDER.0.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Log for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let (target, text) = (record.target().to_owned(), record.args().to_string());
        recorded().push(LogLine { level: record.level(), target, text });
    }

    fn flush(&self) {}
}
