//! The last changes of state of one node: the lines of the classes that are kept, whatever level is written to the log.

use crate::LogClass;
use std::collections::VecDeque;
use std::fmt::{self, Arguments, Debug, Display, Formatter};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// The number of changes that a node keeps.
pub const MAX_CHANGES: usize = 4096;
/// The length in bytes from which the subject of a change is cut.
const MAX_SUBJECT: usize = 160;
/// The length in bytes from which the text of a change is cut.
const MAX_TEXT: usize = 1024;

/// A change of state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// The number, one more than that of the change before.
    pub number: u64,
    /// The time of the change, by the clock of the machine.
    pub at: SystemTime,
    /// The kind.
    pub class: LogClass,
    /// The thing that has changed: a NID, a path (`A -> B`), a route, a name.
    pub subject: String,
    /// The line.
    pub text: String,
}

/// The changes of one node, the oldest of which go. Any thread may call the methods.
pub struct History {
    changes: Mutex<Changes>,
    clock: Box<dyn Fn() -> SystemTime + Send + Sync>,
}

impl Debug for History {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("History").field(&self.changes).finish()
    }
}

#[derive(Debug)]
struct Changes {
    /// The number of the next one.
    next: u64,
    kept: VecDeque<StateChange>,
}

impl History {
    /// No changes. `clock` tells the time of the machine, or that of a simulated one.
    pub fn new(clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self { changes: Mutex::new(Changes { next: 1, kept: VecDeque::new() }), clock: Box::new(clock) }
    }

    /// Adds a change.
    pub fn add(&self, class: LogClass, subject: impl Display, text: Arguments<'_>) {
        let (subject, text) = (cut(subject.to_string(), MAX_SUBJECT), cut(text.to_string(), MAX_TEXT));
        let at = (self.clock)();
        self.change(|changes| {
            let number = changes.next;
            changes.push(StateChange { number, at, class, subject, text });
        });
    }

    /// Puts changes of an earlier process before all others. Those of this one go on with the numbers after theirs.
    pub fn restore(&self, earlier: Vec<StateChange>) {
        self.change(|changes| {
            let own = std::mem::take(&mut changes.kept);
            changes.next = 1;
            earlier.into_iter().chain(own).for_each(|change| changes.push(change));
        });
    }

    /// The changes with a number greater than `after`, in their order, at most `count`.
    pub fn after(&self, after: u64, count: usize) -> Vec<StateChange> {
        self.change(|changes| {
            let first = changes.kept.partition_point(|change| change.number <= after);
            changes.kept.iter().skip(first).take(count).cloned().collect()
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Changes) -> T) -> T {
        change(&mut self.changes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Changes {
    /// Adds a change as the last, which gives it its number.
    fn push(&mut self, change: StateChange) {
        if self.kept.len() >= MAX_CHANGES {
            self.kept.pop_front();
        }
        self.kept.push_back(StateChange { number: self.next, ..change });
        self.next += 1;
    }
}

/// The text without what is beyond this number of bytes.
fn cut(mut text: String, max: usize) -> String {
    text.truncate(text.floor_char_boundary(max));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    fn history() -> History {
        History::new(|| UNIX_EPOCH + Duration::from_secs(7))
    }

    fn numbers(changes: &[StateChange]) -> Vec<u64> {
        changes.iter().map(|change| change.number).collect()
    }

    #[test]
    fn changes_are_numbered_and_the_oldest_go() {
        let history = history();
        for number in 1..=MAX_CHANGES + 2 {
            history.add(LogClass::NiState, "a", format_args!("{number}"));
        }
        let first = history.after(0, 2);
        assert_eq!((numbers(&first), first[0].text.as_str()), (vec![3, 4], "3"));
        assert_eq!(numbers(&history.after(MAX_CHANGES as u64, 9)), [4097, 4098]);
        assert_eq!(history.after(4098, 9), []);
    }

    #[test]
    fn changes_of_an_earlier_process_come_first() {
        let (earlier, history) = (history(), history());
        earlier.add(LogClass::NiState, "a", format_args!("early"));
        history.add(LogClass::NiState, "a", format_args!("late"));
        history.restore(earlier.after(0, 9));
        let texts: Vec<_> =
            history.after(0, 9).into_iter().map(|change| (change.number, change.text)).collect();
        assert_eq!(texts, [(1, "early".to_owned()), (2, "late".to_owned())]);
    }

    #[test]
    fn a_peer_cannot_fill_the_memory_with_a_long_name() {
        let history = history();
        history.add(LogClass::NiState, "é".repeat(999), format_args!("{}", "x".repeat(9999)));
        let change = history.after(0, 1).remove(0);
        assert_eq!((change.subject.len(), change.text.len()), (MAX_SUBJECT, MAX_TEXT));
    }
}
