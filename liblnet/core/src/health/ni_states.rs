//! Changes of the states of local NIs by their health values, until they are logged.
//!
//! A message that fails on a dead path lowers the health of its NI, whose other messages raise it again. A change that does
//! not last is nothing that an operator could act on, and is not logged.

use crate::environment::time::Time;
use crate::model::NiState;
use crate::sync::{Mutex, lock};
use lnet_wire::Nid;
use std::collections::BTreeMap;
use std::time::Duration;

/// The minimum duration of a state that is logged.
const SETTLES: Duration = Duration::from_secs(2);

/// The NIs whose states have changed, each with the state that was logged last, and the time at which the change is logged.
#[derive(Debug, Default)]
pub(super) struct NiStates(Mutex<BTreeMap<Nid, (NiState, Time)>>);

impl NiStates {
    /// Records that the state has changed from `before`, which is the state that was logged last unless there was another
    /// change since.
    pub(super) fn changed(&self, nid: Nid, before: NiState, now: Time) {
        let at = now + SETTLES;
        lock(&self.0).entry(nid).and_modify(|pending| pending.1 = at).or_insert((before, at));
    }

    /// Takes the changes that are due, each with the state that was logged last.
    pub(super) fn take_due(&self, now: Time) -> Vec<(Nid, NiState)> {
        let mut due = Vec::new();
        lock(&self.0).retain(|nid, (before, at)| {
            let waits = *at > now;
            if !waits {
                due.push((*nid, *before));
            }
            waits
        });
        due
    }

    /// Takes the state that was logged last, if it differs from the current one: another line is written about the NI.
    pub(super) fn take(&self, nid: Nid) -> Option<NiState> {
        lock(&self.0).remove(&nid).map(|(before, _)| before)
    }

    /// The time at which the next change is due.
    pub(super) fn next(&self) -> Option<Time> {
        lock(&self.0).values().map(|(_, at)| *at).min()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_due_when_the_state_has_not_changed_again_for_a_while() {
        let nid: Nid = "10.0.0.1@tcp".parse().unwrap();
        let at = |millis| Time(Duration::from_millis(millis));
        let states = NiStates::default();
        states.changed(nid, NiState::Active, at(0));
        states.changed(nid, NiState::Degraded, at(1500));
        assert_eq!((states.take_due(at(3400)), states.next()), (vec![], Some(at(3500))));
        assert_eq!(states.take_due(at(3500)), [(nid, NiState::Active)]);
        assert_eq!((states.next(), states.take(nid)), (None, None));
        states.changed(nid, NiState::Active, at(4000));
        assert_eq!(states.take(nid), Some(NiState::Active));
    }
}
