//! The queue of lines for standard error or the journal, as a state machine without I/O.
//!
//! One thread writes. While it does, others add lines and never wait: if standard error takes no lines, or fails, further
//! lines are lost, and their number stands in their place.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// Time that one write may take before further lines are lost.
pub(super) const WRITE_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum number of bytes that wait at a time.
pub(super) const MAX_BYTES: usize = 1 << 20;
/// Time from a failed write to the next try; doubles with each failure.
pub(super) const MIN_RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum time between two tries.
pub(super) const MAX_RETRY_INTERVAL: Duration = Duration::from_secs(64);

/// The reason why lines are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// Standard error took nothing for a while, or less than was written.
    Blocked,
    /// Standard error cannot be written to.
    Failed(rustix::io::Errno),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocked => f.write_str("nobody reads it, or not fast enough"),
            Self::Failed(errno) => write!(f, "{errno}"),
        }
    }
}

/// An entry of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum QueuedLine {
    /// The bytes of a line, in its form.
    Line(Vec<u8>),
    /// A place where lines are lost.
    Lost { lines: u64, cause: Cause },
}

impl QueuedLine {
    /// Number of lines that are lost if the entry is lost.
    pub(super) const fn lines(&self) -> u64 {
        match self {
            Self::Line(_) => 1,
            Self::Lost { lines, .. } => *lines,
        }
    }
}

/// The next action of the writing thread.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Write this, and report the result by [`Backlog::written`].
    Write(QueuedLine),
    /// Wait until there is a new entry, or until this time has passed.
    Wait(Option<Duration>),
}

/// The entries that wait to be written. Times are those of a monotonic clock.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    entries: VecDeque<QueuedLine>,
    bytes: usize,
    /// The time since which an entry is being written.
    writing_since: Option<Duration>,
    failure: Option<WriteFailure>,
}

/// State after a failed write.
#[derive(Clone, Copy, Debug)]
struct WriteFailure {
    cause: Cause,
    interval: Duration,
    retry_at: Duration,
}

impl Backlog {
    /// Adds a line, or counts it as lost.
    pub(super) fn add(&mut self, now: Duration, line: impl Into<Vec<u8>>) {
        let line = line.into();
        match self.cause_of_loss(now, line.len()) {
            Some(cause) => self.lose(cause),
            None => {
                self.bytes += line.len();
                self.entries.push_back(QueuedLine::Line(line));
            }
        }
    }

    /// Returns the next action of the writing thread. Takes the entry out that is to be written.
    pub(super) fn next(&mut self, now: Duration) -> Next {
        if let Some(failure) = self.failure.filter(|failure| now < failure.retry_at) {
            return Next::Wait(Some(failure.retry_at.saturating_sub(now)));
        }
        let Some(entry) = self.entries.pop_front() else { return Next::Wait(None) };
        if let QueuedLine::Line(line) = &entry {
            self.bytes = self.bytes.saturating_sub(line.len());
        }
        self.writing_since = Some(now);
        Next::Write(entry)
    }

    /// Notes the result of writing an entry with `lines` lines.
    pub(super) fn written(&mut self, now: Duration, mut lines: u64, result: Result<(), Cause>) {
        self.writing_since = None;
        let Err(cause) = result else {
            self.failure = None;
            return;
        };
        let twice = |failure: WriteFailure| (failure.interval * 2).min(MAX_RETRY_INTERVAL);
        let interval = self.failure.map_or(MIN_RETRY_INTERVAL, twice);
        self.failure = Some(WriteFailure { cause, interval, retry_at: now.saturating_add(interval) });
        if let Some(QueuedLine::Lost { lines: more, .. }) = self.entries.front() {
            lines += more;
            self.entries.pop_front();
        }
        self.entries.push_front(QueuedLine::Lost { lines, cause });
    }

    /// Whether waiting longer is useless: the queue is empty, or standard error accepts nothing.
    pub(super) fn is_settled(&self, now: Duration) -> bool {
        self.is_empty() || self.is_blocked(now) || self.failure.is_some()
    }

    /// Whether all entries are written.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.writing_since.is_none()
    }

    fn cause_of_loss(&self, now: Duration, len: usize) -> Option<Cause> {
        match self.failure {
            Some(failure) => Some(failure.cause),
            None => {
                (self.is_blocked(now) || self.bytes.saturating_add(len) > MAX_BYTES).then_some(Cause::Blocked)
            }
        }
    }

    fn is_blocked(&self, now: Duration) -> bool {
        self.writing_since.is_some_and(|since| now.saturating_sub(since) > WRITE_TIMEOUT)
    }

    fn lose(&mut self, cause: Cause) {
        match self.entries.back_mut() {
            Some(QueuedLine::Lost { lines, .. }) => *lines += 1,
            _ => self.entries.push_back(QueuedLine::Lost { lines: 1, cause }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;
    use rustix::io::Errno;

    const FULL: Cause = Cause::Failed(Errno::NOSPC);

    fn line(text: &str) -> QueuedLine {
        QueuedLine::Line(text.into())
    }

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn begin(backlog: &mut Backlog, now: Duration) -> QueuedLine {
        match backlog.next(now) {
            Next::Write(entry) => entry,
            wait => panic!("{wait:?}"),
        }
    }

    #[test]
    fn lines_are_written_in_order_and_one_at_a_time() {
        let mut backlog = Backlog::default();
        assert!(backlog.is_settled(at(0)));
        backlog.add(at(0), "a".to_owned());
        backlog.add(at(0), "b".to_owned());
        for text in ["a", "b"] {
            assert!(!backlog.is_settled(at(1)));
            let entry = begin(&mut backlog, at(1));
            assert_eq!(entry, line(text));
            backlog.written(at(1), entry.lines(), Ok(()));
        }
        assert_eq!(backlog.next(at(2)), Next::Wait(None));
        assert!(backlog.is_settled(at(2)));
    }

    #[test]
    fn while_a_write_is_blocked_lines_are_lost_and_their_number_stands_in_their_place() {
        let mut backlog = Backlog::default();
        backlog.add(at(0), "a".to_owned());
        let entry = begin(&mut backlog, at(0));
        backlog.add(at(500), "in time".to_owned());
        assert!(!backlog.is_settled(at(500)));
        for _ in 0..3 {
            backlog.add(at(501), "too late".to_owned());
        }
        assert!(backlog.is_settled(at(501)));
        backlog.written(at(9000), entry.lines(), Ok(()));
        backlog.add(at(9000), "again".to_owned());
        let lost = QueuedLine::Lost { lines: 3, cause: Cause::Blocked };
        for expected in [line("in time"), lost, line("again")] {
            let entry = begin(&mut backlog, at(9000));
            assert_eq!(entry, expected);
            backlog.written(at(9000), entry.lines(), Ok(()));
        }
        assert_eq!(backlog.next(at(9000)), Next::Wait(None));
    }

    #[test]
    fn after_a_failure_lines_are_lost_until_their_number_could_be_written() {
        let mut backlog = Backlog::default();
        backlog.add(at(0), "a".to_owned());
        let entry = begin(&mut backlog, at(0));
        backlog.written(at(0), entry.lines(), Err(FULL));
        assert!(backlog.is_settled(at(0)));
        backlog.add(at(10), "b".to_owned());
        // Each time twice as long.
        assert_eq!(backlog.next(at(10)), Next::Wait(Some(at(990))));
        let entry = begin(&mut backlog, at(1000));
        assert_eq!(entry, QueuedLine::Lost { lines: 2, cause: FULL });
        backlog.add(at(1000), "c".to_owned());
        backlog.written(at(1000), entry.lines(), Err(Cause::Failed(Errno::PIPE)));
        assert_eq!(backlog.next(at(1000)), Next::Wait(Some(at(2000))));
        let entry = begin(&mut backlog, at(3000));
        assert_eq!(entry, QueuedLine::Lost { lines: 3, cause: Cause::Failed(Errno::PIPE) });
        backlog.written(at(3000), entry.lines(), Ok(()));
        backlog.add(at(3000), "d".to_owned());
        assert_eq!(begin(&mut backlog, at(3000)), line("d"));
    }

    #[test]
    fn intervals_between_tries_have_a_limit() {
        let mut backlog = Backlog::default();
        backlog.add(at(0), "a".to_owned());
        let mut now = at(0);
        for _ in 0..20 {
            let entry = begin(&mut backlog, now);
            backlog.written(now, entry.lines(), Err(FULL));
            let Next::Wait(Some(wait)) = backlog.next(now) else { panic!("no wait") };
            assert!((MIN_RETRY_INTERVAL..=MAX_RETRY_INTERVAL).contains(&wait));
            now += wait;
        }
        assert!(now > MAX_RETRY_INTERVAL * 10);
    }

    #[test]
    fn no_more_bytes_wait_than_the_limit_and_their_room_is_free_when_they_are_written() {
        let mut backlog = Backlog::default();
        let half = "x".repeat(MAX_BYTES / 2);
        for _ in 0..3 {
            backlog.add(at(0), half.clone());
        }
        let entry = begin(&mut backlog, at(0));
        assert_eq!(entry, line(&half));
        backlog.written(at(0), entry.lines(), Ok(()));
        backlog.add(at(0), half.clone());
        let lost = QueuedLine::Lost { lines: 1, cause: Cause::Blocked };
        assert_eq!(backlog.entries, [line(&half), lost, line(&half)]);
    }
}
