//! States that the log has lines about, until they have lasted.
//!
//! While something fails, and while it comes back, a route or a peer may change its state several times within a second:
//! messages fail and succeed, and each says something about a path. A line is written when a state has lasted, and has the
//! number of changes. The history of the node has each change, and selection does not wait.

use crate::environment::time::Time;
use std::fmt;
use std::time::Duration;

/// The minimum duration of a state that is logged.
const MIN_LASTING: Duration = Duration::from_secs(2);
/// The time of changes without a state that lasts after which a line is written nevertheless.
const MAX_UNSETTLED: Duration = Duration::from_secs(60);

/// A state with the one that was logged last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settling<S> {
    logged: S,
    state: S,
    /// The time of the last change.
    since: Time,
    /// The time of the first change since the state was logged.
    first: Time,
    /// The number of changes since the state was logged.
    changes: u32,
}

/// A change that is to be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastingChange<S> {
    /// The state that was logged before.
    pub(crate) before: S,
    /// The state now: the same, if it has changed again and again.
    pub(crate) now: S,
    pub(crate) repeats: Repeats,
}

/// The number of changes that one line is about, for its text: nothing if it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repeats {
    changes: u32,
    time: Duration,
}

impl<S: Copy + PartialEq> Settling<S> {
    pub(crate) fn new(state: S) -> Self {
        Self { logged: state, state, since: Time::default(), first: Time::default(), changes: 0 }
    }

    pub(crate) const fn state(&self) -> S {
        self.state
    }

    /// The time of the last change of the state.
    pub(crate) const fn since(&self) -> Time {
        self.since
    }

    /// The state that was logged last.
    pub(crate) const fn logged(&self) -> S {
        self.logged
    }

    /// Stores the state; returns the one before if it is another.
    pub(crate) fn note(&mut self, state: S, now: Time) -> Option<S> {
        if state == self.state {
            return None;
        }
        if self.changes == 0 {
            self.first = now;
        }
        self.changes = self.changes.saturating_add(1);
        self.since = now;
        Some(std::mem::replace(&mut self.state, state))
    }

    /// The time of the next [`Settling::take`], if there were changes.
    pub(crate) fn due(&self) -> Option<Time> {
        (self.changes > 0).then(|| (self.since + MIN_LASTING).min(self.first + MAX_UNSETTLED))
    }

    /// Ends the wait, and returns the change to log: none if the state is that which was logged, unless it has changed for long.
    pub(crate) fn take(&mut self, now: Time) -> Option<LastingChange<S>> {
        let time = self.since.since(self.first);
        let repeats = Repeats { changes: std::mem::take(&mut self.changes), time };
        let before = std::mem::replace(&mut self.logged, self.state);
        let is_logged = before != self.state || repeats.changes > 0 && now.since(self.first) >= MAX_UNSETTLED;
        is_logged.then_some(LastingChange { before, now: self.state, repeats })
    }
}

impl Repeats {
    pub(crate) const fn is_one(self) -> bool {
        self.changes <= 1
    }
}

impl fmt::Display for Repeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_one() {
            true => Ok(()),
            false => write!(f, "; changed {} times in {:.1} s", self.changes, self.time.as_secs_f64()),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time(Duration::from_millis(millis))
    }

    /// Stores the states at these times, takes each change at its time, and returns them until `end`.
    fn logged(states: &[(u64, bool)], end: u64) -> Vec<(u64, bool, bool, u32)> {
        let (mut settling, mut said) = (Settling::new(true), Vec::new());
        for now in (0..=end).step_by(100) {
            for (_, state) in states.iter().filter(|(at, _)| *at == now) {
                settling.note(*state, at(now));
            }
            if settling.due().is_some_and(|due| due <= at(now))
                && let Some(LastingChange { before, now: state, repeats }) = settling.take(at(now))
            {
                said.push((now, before, state, repeats.changes));
            }
        }
        said
    }

    #[test]
    fn a_state_is_logged_when_it_has_lasted_with_the_number_of_changes() {
        // States by their times, and the lines: time, the state before, the state, changes.
        type Row = (&'static [(u64, bool)], &'static [(u64, bool, bool, u32)]);
        let table: [Row; 4] = [
            (&[(0, true)], &[]),
            (&[(100, false), (5000, true)], &[(2100, true, false, 1), (7000, false, true, 1)]),
            (&[(100, false), (1000, true)], &[]),
            (
                &[(100, false), (1000, true), (1500, false), (9000, true), (9100, false), (9200, true)],
                &[(3500, true, false, 3), (11_200, false, true, 3)],
            ),
        ];
        for (states, lines) in table {
            assert_eq!(logged(states, 20_000), lines, "{states:?}");
        }
    }

    #[test]
    fn a_state_that_never_lasts_is_logged_once_a_minute() {
        let states: Vec<_> = (1..130).map(|second| (second * 1000, second % 2 == 0)).collect();
        let lines = logged(&states, 140_000);
        assert_eq!(
            lines.iter().map(|(at, .., changes)| (*at, *changes)).collect::<Vec<_>>(),
            [(61_000, 61), (122_000, 61), (131_000, 7)]
        );
    }

    #[test]
    fn one_change_needs_no_number() {
        let text = |changes| Repeats { changes, time: Duration::from_millis(1234) }.to_string();
        assert_eq!((text(1), text(7)), (String::new(), "; changed 7 times in 1.2 s".to_owned()));
    }
}
