//! The log lines of nodes.

use log::{Level, LevelFilter, Log, Metadata, Record};
use std::sync::{Mutex, Once};

/// The lines logged by all tests of a program: each test selects those with its NIDs.
struct LogRecorder(Mutex<Vec<(Level, String)>>);

static LOG_RECORDER: LogRecorder = LogRecorder(Mutex::new(Vec::new()));
static LISTEN: Once = Once::new();

impl Log for LogRecorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        self.0.lock().unwrap().push((record.level(), record.args().to_string()));
    }

    fn flush(&self) {}
}

/// The lines at this level that have all these words.
pub fn said(level: Level, words: &[&str]) -> usize {
    let said = LOG_RECORDER.0.lock().unwrap();
    let is_one = |line: &str| words.iter().all(|word| line.contains(word));
    said.iter().filter(|(of, line)| *of == level && is_one(line)).count()
}

pub fn listen() {
    LISTEN.call_once(|| {
        log::set_logger(&LOG_RECORDER).unwrap();
        log::set_max_level(LevelFilter::Info);
    });
}
