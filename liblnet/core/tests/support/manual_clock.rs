//! A clock that the test sets.

use lnet_core::{Clock, Time};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Hook = Box<dyn FnOnce() + Send>;

/// A clock that stands still until the test moves it. Clones show the same time.
#[derive(Clone, Default)]
pub struct ManualClock(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    now: Time,
    /// The number of reads until the hook is called, and the hook.
    hook: Option<(u32, Hook)>,
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ManualClock")
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        let (now, due) = {
            let state = &mut *self.0.lock().unwrap();
            if let Some((reads, _)) = &mut state.hook {
                *reads -= 1;
            }
            (state.now, state.hook.take_if(|(reads, _)| *reads == 0))
        };
        if let Some((_, due)) = due {
            due();
        }
        now
    }
}

impl ManualClock {
    pub fn advance(&self, by: Duration) {
        let state = &mut *self.0.lock().unwrap();
        state.now = state.now + by;
    }

    /// Sets the clock to this time after the node's start.
    pub fn set(&self, to: Duration) {
        self.0.lock().unwrap().now = Time(to);
    }

    /// Calls `hook` within the `read`-th read from now on.
    pub fn at_read(&self, read: u32, hook: impl FnOnce() + Send + 'static) {
        self.0.lock().unwrap().hook = Some((read, Box::new(hook)));
    }

    /// Whether the hook has yet to be called.
    pub fn has_hook(&self) -> bool {
        self.0.lock().unwrap().hook.is_some()
    }
}
