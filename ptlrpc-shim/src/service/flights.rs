//! Descriptors that have not had their last event.

use crate::lnet::{Md, Node};
use crate::sync::{lock, wait_until};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

/// Those of one kind, which can be unlinked and waited for together.
#[derive(Debug, Default)]
pub(super) struct Flights {
    state: Mutex<State>,
    gone: Condvar,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// `None`: not made yet, or not named.
    flying: BTreeMap<u64, Option<Md>>,
    are_given_up: bool,
}

/// One of them: the sink of a descriptor has it, so it is dropped after the last event.
#[derive(Debug)]
pub(super) struct Flight {
    flights: Arc<Flights>,
    id: u64,
}

/// Which one it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FlightId(u64);

impl Flights {
    /// One more.
    pub(super) fn begin(self: &Arc<Self>) -> Flight {
        let mut state = lock(&self.state);
        let id = state.next;
        state.next += 1;
        state.flying.insert(id, None);
        drop(state);
        Flight { flights: Arc::clone(self), id }
    }

    /// The descriptor of a flight, which may have ended.
    pub(super) fn name(&self, flight: FlightId, md: Md) {
        if let Some(named) = lock(&self.state).flying.get_mut(&flight.0) {
            *named = Some(md);
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        lock(&self.state).flying.len()
    }

    /// Whether all have been unlinked: nothing is to be begun in their place.
    pub(super) fn are_given_up(&self) -> bool {
        lock(&self.state).are_given_up
    }

    /// Unlinks all that are there. Not from an event handler.
    pub(super) fn unlink_all(&self, node: &Node) {
        let flying: Vec<Md> = {
            let mut state = lock(&self.state);
            state.are_given_up = true;
            state.flying.values().flatten().copied().collect()
        };
        flying.into_iter().for_each(|md| node.unlink(md));
    }

    /// Waits until none is there; whether that is so.
    pub(super) fn wait_for_none(&self, until: Instant) -> bool {
        let mut state = lock(&self.state);
        while !state.flying.is_empty() && Instant::now() < until {
            state = wait_until(&crate::clock::SystemClock, &self.gone, state, Some(until));
        }
        state.flying.is_empty()
    }
}

impl Flight {
    pub(super) const fn id(&self) -> FlightId {
        FlightId(self.id)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut state = lock(&self.flights.state);
        state.flying.remove(&self.id);
        if state.flying.is_empty() {
            self.flights.gone.notify_all();
        }
    }
}
