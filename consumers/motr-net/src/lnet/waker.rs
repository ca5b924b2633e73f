//! What the thread of a transfer machine waits for: an event of LNet, or that another thread wakes it.

use crate::backend::EventQueue;
use crate::sync::{Condvar, Mutex, lock, wait_timeout};
use std::time::Duration;

/// Wakes the thread that waits with it.
#[derive(Debug, Default)]
pub(super) struct Waker {
    state: Mutex<State>,
    woken: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Woken since the last wait ended.
    is_woken: bool,
    /// Where the thread is.
    place: Place,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Elsewhere,
    /// In [`EventQueue::wait`].
    WithLnet,
    /// At the condition variable.
    Asleep,
}

impl Waker {
    /// Waits until woken, at most so long.
    pub(super) fn sleep(&self, timeout: Duration) {
        let mut state = lock(&self.state);
        if !state.is_woken {
            state.place = Place::Asleep;
            state = wait_timeout(&self.woken, state, timeout);
            state.place = Place::Elsewhere;
        }
        state.is_woken = false;
    }

    /// Waits for an event of LNet, or until woken, at most so long.
    pub(super) fn wait_for_event(&self, queue: &dyn EventQueue, timeout: Duration) {
        {
            let mut state = lock(&self.state);
            if state.is_woken {
                state.is_woken = false;
                return;
            }
            state.place = Place::WithLnet;
        }
        queue.wait(timeout);
        let mut state = lock(&self.state);
        *state = State::default();
    }

    /// Ends the wait of the thread, or its next one. `queue` is where it may wait.
    pub(super) fn wake(&self, queue: Option<&dyn EventQueue>) {
        let place = {
            let mut state = lock(&self.state);
            state.is_woken = true;
            state.place
        };
        match (place, queue) {
            (Place::Elsewhere, _) | (Place::WithLnet, None) => {}
            (Place::WithLnet, Some(queue)) => queue.wake(),
            (Place::Asleep, _) => self.woken.notify_all(),
        }
    }
}
