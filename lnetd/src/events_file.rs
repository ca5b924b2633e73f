//! The file in which the changes of state of the node are kept over restarts of the daemon: a JSON object in each line, the oldest first.

use lnet_log::{History, LogClass, MAX_CHANGES, StateChange};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, UNIX_EPOCH};

/// The interval at which changes are written.
const INTERVAL: Duration = Duration::from_secs(1);
/// The number of lines with which the file is written anew, with the changes that the node keeps.
const MAX_LINES: usize = 4 * MAX_CHANGES;

/// The file of a daemon. What has happened is in it when this is dropped.
#[derive(Debug)]
pub(crate) struct EventsFile {
    /// Nothing is ever sent: its end ends the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl EventsFile {
    /// Reads the changes of an earlier daemon into `history`, and writes those that come. What cannot be read or written is said in the
    /// log, and the daemon goes on.
    pub(crate) fn open(path: PathBuf, history: &Arc<History>) -> Self {
        let path = std::path::absolute(&path).unwrap_or(path);
        let earlier = read(&path).unwrap_or_else(|error| {
            log::warn!(
                "{}: cannot be read ({error}); the events of earlier daemons are not shown",
                path.display()
            );
            Vec::new()
        });
        let lines = earlier.len();
        history.restore(earlier);
        // They have the first numbers. Of this daemon nothing is in the file.
        let written = lines as u64;
        let (end, ended) = channel::<()>();
        let mut writer = Writer { path, history: Arc::clone(history), written, lines, has_failed: false };
        let thread = thread::Builder::new().name("events-file".to_owned()).spawn(move || {
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                writer.write_new();
            }
            writer.write_new();
        });
        let thread = thread.inspect_err(|error| log::error!("events file: no thread ({error})")).ok();
        Self { end: Some(end), thread }
    }
}

impl Drop for EventsFile {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

/// What the thread has.
struct Writer {
    path: PathBuf,
    history: Arc<History>,
    /// The number of the last change that is in the file.
    written: u64,
    /// The number of lines in the file.
    lines: usize,
    /// Whether the last write has failed.
    has_failed: bool,
}

impl Writer {
    fn write_new(&mut self) {
        let new = self.history.after(self.written, MAX_CHANGES);
        let Some(last) = new.last().map(|change| change.number) else { return };
        let result = match self.lines + new.len() > MAX_LINES {
            true => self.write_anew(),
            false => append(&self.path, &new).map(|()| self.lines += new.len()),
        };
        match result {
            Ok(()) => (self.written, self.has_failed) = (last, false),
            Err(error) if !self.has_failed => {
                self.has_failed = true;
                log::warn!("{}: cannot be written ({error}); tried again every second", self.path.display());
            }
            Err(_) => {}
        }
    }

    fn write_anew(&mut self) -> io::Result<()> {
        let all = self.history.after(0, MAX_CHANGES);
        let new = self.path.with_extension("new");
        _ = std::fs::remove_file(&new);
        append(&new, &all)?;
        std::fs::rename(&new, &self.path)?;
        self.lines = all.len();
        Ok(())
    }
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    at_ms: u64,
    kind: String,
    subject: String,
    text: String,
}

fn append(path: &Path, changes: &[StateChange]) -> io::Result<()> {
    let mut text = Vec::new();
    for StateChange { at, class, subject, text: line, .. } in changes {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let line = Line {
            at_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            kind: class.name().to_owned(),
            subject: subject.clone(),
            text: line.clone(),
        };
        serde_json::to_writer(&mut text, &line)?;
        text.push(b'\n');
    }
    OpenOptions::new().create(true).append(true).open(path)?.write_all(&text)
}

/// The last changes in the file; none if there is no file. Lines that are none, such as one that was cut short, are passed over.
fn read(path: &Path) -> io::Result<Vec<StateChange>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut all = Vec::new();
    for line in BufReader::new(file).split(b'\n') {
        all.extend(serde_json::from_slice(&line?).ok().and_then(change_of));
    }
    Ok(all)
}

fn change_of(Line { at_ms, kind, subject, text }: Line) -> Option<StateChange> {
    let class = LogClass::ALL.into_iter().find(|class| class.name() == kind)?;
    let at = UNIX_EPOCH.checked_add(Duration::from_millis(at_ms))?;
    // The history numbers it.
    Some(StateChange { number: 0, at, class, subject, text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    fn history() -> Arc<History> {
        Arc::new(History::new(SystemTime::now))
    }

    fn texts(history: &History) -> Vec<String> {
        history.after(0, MAX_CHANGES).into_iter().map(|change| change.text).collect()
    }

    #[test]
    fn what_has_happened_is_there_after_a_restart_and_a_line_cut_short_is_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events");
        let first = history();
        let file = EventsFile::open(path.clone(), &first);
        first.add(LogClass::NiState, "a", format_args!("one"));
        drop(file);
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"at_ms\": 7, \n").unwrap();
        let second = history();
        second.add(LogClass::NiState, "a", format_args!("during the start"));
        let file = EventsFile::open(path.clone(), &second);
        second.add(LogClass::NiState, "a", format_args!("two"));
        assert_eq!(texts(&second), ["one", "during the start", "two"]);
        drop(file);
        let third = history();
        drop(EventsFile::open(path, &third));
        assert_eq!(texts(&third), ["one", "during the start", "two"]);
    }

    #[test]
    fn the_file_does_not_grow_without_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events");
        let history = history();
        let mut writer = Writer {
            path: path.clone(),
            history: Arc::clone(&history),
            written: 0,
            lines: 0,
            has_failed: false,
        };
        for round in 0..6 {
            for number in 0..MAX_CHANGES {
                history.add(LogClass::NiState, "a", format_args!("{round} {number}"));
            }
            writer.write_new();
        }
        let lines = read(&path).unwrap().len();
        assert!((MAX_CHANGES..=MAX_LINES).contains(&lines), "{lines}");
        assert_eq!(lines, writer.lines);
    }
}
