//! Writes records to standard error or to the journal, if the program has no logger of its own.
//!
//! `LNET_DEBUG` (off, error, warn, info, debug, trace) sets the level, `LNET_LOG_FORMAT` (text, json, journald) the form of the lines
//! (`../line`). Where standard error is the journal's (`JOURNAL_STREAM`) and nothing else is said, lines go to the journal's socket, with
//! fields.
//!
//! No line makes its caller wait: a thread of the logger writes them (`writer.rs`). Lines that are not taken are lost and counted
//! (`backlog.rs`).

mod backlog;
mod output;
mod writer;

use crate::line::{FORMAT_VARIABLE, Format, Line, Wish, choose};
use crate::{LogClass, write_line};
use backlog::QueuedLine;
use log::{Level, LevelFilter, Log, Metadata, Record};
use output::{JOURNAL_SOCKET, Output};
use std::fmt::Arguments;
use std::panic::PanicHookInfo;
use std::sync::OnceLock;
use std::time::SystemTime;
use writer::Writer;

static LOGGER: OnceLock<Logger> = OnceLock::new();

/// Installs the logger, unless the program has installed one: lines begin with `name`, and `default` applies where
/// `LNET_DEBUG` says nothing. Harmless when called again.
///
/// Lines that have been logged when the process ends by `exit`, or returns from `main`, are written before; so are those before
/// a call of [`flush`]. Both wait for half a second at most where standard error takes nothing.
pub fn install(name: &'static str, default: LevelFilter) {
    extern "C" fn write_the_last_lines() {
        flush();
    }
    let wished = std::env::var(FORMAT_VARIABLE).unwrap_or_default();
    let wish = Wish::parse(&wished);
    let logger = LOGGER.get_or_init(|| Logger::new(name, wish));
    if log::set_logger(logger).is_ok() {
        let level = std::env::var("LNET_DEBUG").ok().and_then(|level| level.parse().ok());
        log::set_max_level(level.unwrap_or(default));
        log_panics();
        warn_of_format(&wished, wish, logger.format);
        // Without this call only the last lines may be lost.
        let _ = lnet_os::exit::at_exit(write_the_last_lines);
    }
}

/// Logs that the form of the lines is not the one that was asked for.
fn warn_of_format(wished: &str, wish: Option<Wish>, format: Format) {
    let wished = wished.trim();
    if wish.is_none() && !wished.is_empty() {
        write_line!(
            LogClass::ConfigIgnored,
            "LNET_LOG_FORMAT={wished}: wanted is text, json or journald; ignored"
        );
    }
    if wish == Some(Wish::Journal) && format != Format::Journal {
        write_line!(
            LogClass::ConfigIgnored,
            "LNET_LOG_FORMAT=journald: no journal receives at {JOURNAL_SOCKET}; lines of text are written"
        );
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

/// Writes a line to standard error at every level, as it is, before the calling thread ends the process; waits for it as [`flush`] does.
pub fn last_words(text: Arguments<'_>) {
    static WRITER: Writer = Writer::new(bytes_of, Output::Stderr);
    WRITER.write(format!("{text}\n").into_bytes());
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

/// The name by which the journal knows the program: that of its file.
fn program_name(otherwise: &str) -> String {
    let program = std::env::args_os().next().unwrap_or_default();
    let name =
        std::path::Path::new(&program).file_name().map(|name| name.to_string_lossy().replace('\n', " "));
    name.unwrap_or_else(|| otherwise.to_owned())
}

struct Logger {
    name: &'static str,
    program: String,
    format: Format,
    writer: Writer,
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        self.writer.write(self.line(record.level(), record.target(), *record.args()));
    }

    fn flush(&self) {
        self.writer.flush();
    }
}

/// Returns the bytes that are written for an entry.
fn bytes_of(entry: QueuedLine) -> Vec<u8> {
    match (entry, LOGGER.get()) {
        (QueuedLine::Line(line), _) => line,
        (QueuedLine::Lost { .. }, None) => Vec::new(),
        (QueuedLine::Lost { lines, cause }, Some(logger)) if logger.format == Format::Journal => logger
            .of_class(
                LogClass::LinesLost,
                format_args!("journal: {lines} lines lost here ({cause}); it takes lines again"),
            ),
        (QueuedLine::Lost { lines, cause }, Some(logger)) => logger.of_class(
            LogClass::LinesLost,
            format_args!("standard error: {lines} lines lost here ({cause}); it takes lines again"),
        ),
    }
}

impl Logger {
    fn new(name: &'static str, wish: Option<Wish>) -> Self {
        let format = choose(wish, is_journal(), output::journal_answers);
        let output = match format {
            Format::Journal => Output::Journal(JOURNAL_SOCKET),
            Format::Text | Format::TextForJournal | Format::Json => Output::Stderr,
        };
        Self { name, program: program_name(name), format, writer: Writer::new(bytes_of, output) }
    }

    fn write(&self, class: LogClass, text: Arguments<'_>) {
        self.writer.write(self.of_class(class, text));
    }

    fn of_class(&self, class: LogClass, text: Arguments<'_>) -> Vec<u8> {
        self.line(class.level(), class.target(), text)
    }

    fn line(&self, level: Level, target: &str, text: Arguments<'_>) -> Vec<u8> {
        let message = text.to_string();
        let line = Line { subsystem: self.name, level, target, message: &message };
        line.bytes(self.format, &self.program, SystemTime::now())
    }
}
