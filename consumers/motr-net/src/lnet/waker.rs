//! Waiting of the thread of a transfer machine, for an event of LNet or for another thread that wakes it.

use crate::backend::EventQueue;
use crate::sync::{Condvar, Mutex, lock, wait_timeout};
use std::time::Duration;

/// Lets a thread wait, and wakes it.
#[derive(Debug, Default)]
pub(super) struct Waker {
    state: Mutex<WakerState>,
    woken: Condvar,
}

#[derive(Debug, Default)]
struct WakerState {
    /// Whether the thread was woken since its last wait ended.
    is_woken: bool,
    /// The place at which the thread waits.
    place: Place,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Elsewhere,
    /// The thread is in [`EventQueue::wait`].
    WithLnet,
    /// The thread waits on the condition variable.
    Asleep,
}

impl Waker {
    /// Waits until woken, at most for `timeout`.
    pub(super) fn sleep(&self, timeout: Duration) {
        let mut state = lock(&self.state);
        if !state.is_woken {
            state.place = Place::Asleep;
            state = wait_timeout(&self.woken, state, timeout);
            state.place = Place::Elsewhere;
        }
        state.is_woken = false;
    }

    /// Waits for an event of LNet, or until woken, at most for `timeout`.
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
        *state = WakerState::default();
    }

    /// Ends the wait of the thread, or its next one. `queue` is the event queue in which it may wait.
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
