//! Writes records to standard error, if the program has no logger of its own.
//!
//! `LNET_DEBUG` (off, error, warn, info, debug, trace) sets the level. Each line begins with the time, in UTC, to the
//! millisecond (RFC 3339). Where standard error is the journal's (`JOURNAL_STREAM`), which has a time stamp of its own, a
//! line begins with its priority instead, as journald reads it: `<3>`.
//!
//! No line makes its caller wait: a thread of the logger writes them (`writer.rs`). Lines that standard error does not
//! take are lost and counted (`backlog.rs`).

mod backlog;
mod writer;

use crate::LogClass;
use backlog::QueuedLine;
use log::{Level, LevelFilter, Log, Metadata, Record};
use std::fmt::Arguments;
use std::panic::PanicHookInfo;
use std::sync::OnceLock;
use std::time::SystemTime;
use writer::Writer;

static LOGGER: OnceLock<Stderr> = OnceLock::new();

/// Installs the logger, unless the program has installed one: lines begin with `name`, and `default` applies where
/// `LNET_DEBUG` says nothing. Harmless when called again.
///
/// Lines that have been logged when the process ends by `exit`, or returns from `main`, are written before; so are those before
/// a call of [`flush`]. Both wait for half a second at most where standard error takes nothing.
pub fn install(name: &'static str, default: LevelFilter) {
    extern "C" fn write_the_last_lines() {
        flush();
    }
    let style = if is_journal() { Style::Journal } else { Style::Plain };
    let logger = LOGGER.get_or_init(|| Stderr { name, style, writer: Writer::new(text_of) });
    if log::set_logger(logger).is_ok() {
        let level = std::env::var("LNET_DEBUG").ok().and_then(|level| level.parse().ok());
        log::set_max_level(level.unwrap_or(default));
        log_panics();
        // Without this call only the last lines may be lost.
        let _ = lnet_os::exit::at_exit(write_the_last_lines);
    }
}

/// Waits until all logged lines are on standard error, for half a second at most if that takes nothing. To be called
/// before the process ends, or before a reader is told that the log is complete. Does nothing where the program has a
/// logger of its own.
pub fn flush() {
    if let Some(logger) = LOGGER.get() {
        logger.writer.flush();
    }
}

/// Waits as [`flush`] does, and ends the writing thread, unless standard error takes nothing; the next line starts
/// another. For the end of a library's work.
pub fn close() {
    if let Some(logger) = LOGGER.get() {
        logger.writer.close();
    }
}

/// Writes a line at every level, without a time, before the calling thread ends the process; waits for it as [`flush`] does.
pub fn last_words(text: Arguments<'_>) {
    static WRITER: Writer = Writer::new(text_of);
    WRITER.write(format!("{text}\n"));
    WRITER.flush();
}

/// Makes panics on the threads of the libraries go to the log: the standard library's message would be written by the
/// thread itself, which standard error may block.
fn log_panics() {
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic: &PanicHookInfo<'_>| match LOGGER.get() {
        Some(logger) if lnet_os::thread::is_own() => {
            let thread = std::thread::current();
            let thread = thread.name().unwrap_or("without a name");
            let panic = panic.to_string().replace('\n', " ");
            logger.write(LogClass::InternalError, format_args!("thread {thread}: {panic}"));
        }
        _ => others(panic),
    }));
}

/// Whether standard error is the stream that systemd names as the journal's: a child may have inherited
/// the variable and have another standard error.
fn is_journal() -> bool {
    let named = std::env::var("JOURNAL_STREAM").unwrap_or_default();
    rustix::fs::fstat(rustix::stdio::stderr())
        .is_ok_and(|found| named == format!("{}:{}", found.st_dev, found.st_ino))
}

/// The beginning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Plain,
    Journal,
}

struct Stderr {
    name: &'static str,
    style: Style,
    writer: Writer,
}

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        self.writer.write(self.line(record.level(), *record.args()));
    }

    fn flush(&self) {
        self.writer.flush();
    }
}

/// Returns the text that is written for an entry.
fn text_of(entry: QueuedLine) -> String {
    match entry {
        QueuedLine::Line(line) => line,
        QueuedLine::Lost { lines, cause } => LOGGER.get().map_or_else(String::new, |logger| {
            logger.of_class(
                LogClass::LinesLost,
                format_args!("standard error: {lines} lines lost here ({cause}); it takes lines again"),
            )
        }),
    }
}

impl Stderr {
    fn write(&self, class: LogClass, text: Arguments<'_>) {
        self.writer.write(self.of_class(class, text));
    }

    fn of_class(&self, class: LogClass, text: Arguments<'_>) -> String {
        self.line(class.level(), text)
    }

    fn line(&self, level: Level, text: Arguments<'_>) -> String {
        format!("{}{text}\n", self.prefix(level))
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
