//! Log lines of the nodes of a test's world, which runs in the thread of its test.
#![allow(dead_code, reason = "shared by programs of which none needs all")]

use log::{Level, LevelFilter, Log, Metadata, Record};
use std::cell::RefCell;

/// A logged line.
pub(crate) struct Line {
    pub(crate) level: Level,
    pub(crate) target: String,
    pub(crate) text: String,
}

thread_local! {
    static LOGGED: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

struct Recorder;

impl Log for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let (target, text) = (record.target().to_owned(), record.args().to_string());
        LOGGED.with_borrow_mut(|logged| logged.push(Line { level: record.level(), target, text }));
    }

    fn flush(&self) {}
}

/// Starts to keep the lines of this thread.
pub(crate) fn listen() {
    // Another test of this process may have installed it first.
    let _ = log::set_logger(&Recorder);
    log::set_max_level(LevelFilter::Debug);
    take();
}

/// Returns the lines since the last call, or since [`listen`].
pub(crate) fn take() -> Vec<Line> {
    LOGGED.take()
}
