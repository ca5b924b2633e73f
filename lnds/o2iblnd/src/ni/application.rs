//! What an application's thread does for an interface while it waits for an event: it looks for what the device has done, so that no
//! other thread has to wake it.

use super::{Look, O2ibNi};
use lnd_common::deliverers::Role;
use lnd_common::sync::try_lock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The number of turns of which one looks at everything, which takes system calls.
const FULL_LOOK_INTERVAL: u64 = 16;

impl O2ibNi {
    /// Does what there is to do, without waiting. Returns whether there was anything. One thread at a time.
    pub(crate) fn turn_for_application(&self) -> bool {
        let turn = self.app_turns.fetch_add(1, Ordering::Relaxed);
        let Some(mut state) = try_lock(&self.state) else { return false };
        let look = if state.is_armed || turn.is_multiple_of(FULL_LOOK_INTERVAL) {
            Look::Everywhere
        } else {
            Look::AtWork
        };
        let worked = self.step_with(&mut state, look);
        drop(state);
        // Whoever put something in the inbox since then found the engine locked.
        if self.has_commands() {
            self.step();
        }
        self.deliver(Role::Application);
        worked
    }
}

/// A turn for each of these interfaces. Returns whether there was anything to do.
pub(crate) fn turn_for_all(nis: impl Iterator<Item = Arc<O2ibNi>>) -> bool {
    let mut worked = false;
    for ni in nis {
        worked |= ni.turn_for_application();
    }
    worked
}

/// Waits until a device has done something, at most `timeout`, and does what there is to do for these interfaces. Returns whether there was
/// anything.
pub(crate) fn wait_for_any(nis: &[Arc<O2ibNi>], timeout: Duration) -> bool {
    nis.iter().for_each(|ni| ni.app_waits.store(true, Ordering::SeqCst));
    if nis.iter().all(|ni| ni.has_nothing_new()) {
        let all = nis.iter().flat_map(|ni| &ni.descriptors);
        let mut fds: Vec<_> = all.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let timeout = Timespec::try_from(timeout).ok();
        // An error, such as EINTR, is as good as an event: the turns look again.
        _ = poll(&mut fds, timeout.as_ref());
    }
    // Before the turns, in which an event handler may keep this thread.
    nis.iter().for_each(|ni| ni.app_waits.store(false, Ordering::SeqCst));
    turn_for_all(nis.iter().cloned())
}
