//! Detection of threads that are blocked in an event handler and so do not do a driver's work: other threads replace them.
//!
//! The watching thread sleeps while no thread serves; the first to serve again wakes it. Then it checks every
//! [`LOOK_INTERVAL`]: a thread that is inside the same handler at two checks in a row is replaced. Where no thread has been inside
//! a handler for a while it checks every [`RARE_LOOK_INTERVAL`], and every [`LOOK_INTERVAL`] again as soon as one is. The watching
//! thread runs no handler itself.

use lnet_core::event::HandlerState;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

/// Interval of the checks: a thread that is inside one handler for longer, and at most for twice as long, is replaced.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
/// Interval of the checks after [`FREE_LOOKS`] in a row that found no thread inside a handler: each check may delay a message where
/// CPUs are few.
const RARE_LOOK_INTERVAL: Duration = Duration::from_millis(20);
const FREE_LOOKS: u32 = 64;
/// Number of checks without a serving thread after which the watch sleeps.
const MAX_IDLE_LOOKS: u32 = 20;

/// Work of a driver that one thread of its own (the owner) does, and at times also one thread of the application (the app
/// poller).
pub trait Served: Send + Sync {
    /// Whether the work has ended, and with it the watch.
    fn is_stopped(&self) -> bool;
    /// Whether a thread does the work at this moment, as far as it has called [`WatchSignal::note_serving`].
    fn is_served(&self) -> bool;
    /// Returns the handler states of the owner and of the last app poller.
    fn servers(&self) -> [Option<Arc<HandlerState>>; 2];
    /// Lets the owner do all work: the app poller is blocked in a handler.
    fn app_poller_is_kept(&self);
    /// Makes the owner do what a blocked or replaced thread has left undone.
    fn relieve(&self);
}

/// Wakes the thread of the watch.
#[derive(Debug, Default)]
pub struct WatchSignal {
    sleeps: AtomicBool,
    thread: OnceLock<Thread>,
}

/// The result of examining a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finding {
    /// The thread is not inside a handler.
    Free,
    /// The thread is inside a handler, perhaps only shortly; or it has been replaced.
    Inside,
    /// The thread is blocked in a handler and is to be replaced.
    Kept,
}

/// The last check of one server: see [`lnet_core::event::HandlerState::inside`].
#[derive(Clone, Copy, Debug, Default)]
struct LastCheck {
    inside: Option<u64>,
    replaced: bool,
}

impl LastCheck {
    /// Examines a server thread. A thread that is blocked is marked as kept, so that its handler's messages are no longer
    /// held back for it.
    fn look_at(&mut self, server: Option<&Arc<HandlerState>>) -> Finding {
        let inside = server.and_then(|server| server.inside());
        let finding = self.look(inside);
        if let (Finding::Kept, Some(server), Some(inside)) = (finding, server, inside) {
            server.set_kept(inside);
        }
        finding
    }

    fn look(&mut self, inside: Option<u64>) -> Finding {
        let is_same = inside.is_some() && inside == self.inside;
        let finding = match (inside, is_same && !self.replaced) {
            (None, _) => Finding::Free,
            (Some(_), false) => Finding::Inside,
            (Some(_), true) => Finding::Kept,
        };
        *self = Self { inside, replaced: is_same };
        finding
    }
}

impl WatchSignal {
    /// Notes that the calling thread begins to serve. The thread must have set the state that [`Served::is_served`] reads.
    pub fn note_serving(&self) {
        fence(Ordering::SeqCst);
        if self.sleeps.load(Ordering::Relaxed) && self.sleeps.swap(false, Ordering::Relaxed) {
            self.wake();
        }
    }

    /// Wakes the watch, also to let it end.
    pub fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// Sleeps until a thread serves, unless `is_busy`.
    fn sleep(&self, is_busy: impl Fn() -> bool) {
        self.sleeps.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if !is_busy() {
            thread::park();
        }
        self.sleeps.store(false, Ordering::Relaxed);
    }
}

/// Runs the watching thread until one of `all` is stopped. `replace` starts a thread that becomes the owner.
pub fn run<S: Served>(signal: &WatchSignal, all: &[Arc<S>], replace: impl Fn(&Arc<S>)) {
    let _ = signal.thread.set(thread::current());
    let is_stopped = || all.iter().any(|served| served.is_stopped());
    let mut seen = vec![[LastCheck::default(); 2]; all.len()];
    // Threads that have been replaced, until they end: they may have more reports for the core.
    let mut former: Vec<(Arc<HandlerState>, LastCheck)> = Vec::new();
    let mut idle_looks = 0;
    let mut free_looks: u32 = 0;
    while !is_stopped() {
        let mut is_served = false;
        let mut anybody_is_inside = false;
        let mut anybody_is_kept = false;
        for (served, [owner, app_poller]) in all.iter().zip(&mut seen) {
            let [by_owner, by_app_poller] = served.servers();
            let findings = [owner.look_at(by_owner.as_ref()), app_poller.look_at(by_app_poller.as_ref())];
            anybody_is_inside |= findings != [Finding::Free; 2];
            is_served |= served.is_served();
            anybody_is_kept |= findings.contains(&Finding::Kept);
            if findings[1] == Finding::Kept {
                served.app_poller_is_kept();
            }
            if findings[0] == Finding::Kept {
                former.extend(by_owner.map(|state| (state, *owner)));
                replace(served);
            }
        }
        // The thread itself has the other reference.
        former.retain(|(state, _)| Arc::strong_count(state) > 1);
        for (state, seen) in &mut former {
            anybody_is_inside = true;
            anybody_is_kept |= seen.look_at(Some(state)) == Finding::Kept;
        }
        if anybody_is_kept {
            // Work that the thread has left undone may be for peers of any owner.
            all.iter().for_each(|served| served.relieve());
        }
        free_looks = if anybody_is_inside { 0 } else { free_looks.saturating_add(1) };
        idle_looks = if is_served || anybody_is_inside { 0 } else { idle_looks + 1 };
        if idle_looks < MAX_IDLE_LOOKS {
            thread::park_timeout(interval(free_looks));
        } else {
            signal.sleep(|| is_stopped() || all.iter().any(|served| served.is_served()));
            idle_looks = 0;
        }
    }
}

/// Returns the time until the next check after `free_looks` in a row that found no thread inside a handler.
fn interval(free_looks: u32) -> Duration {
    if free_looks < FREE_LOOKS { LOOK_INTERVAL } else { RARE_LOOK_INTERVAL }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_rare_only_where_no_thread_has_been_inside_a_handler_for_a_while() {
        for (free_looks, expected) in [
            (0, LOOK_INTERVAL),
            (FREE_LOOKS - 1, LOOK_INTERVAL),
            (FREE_LOOKS, RARE_LOOK_INTERVAL),
            (u32::MAX, RARE_LOOK_INTERVAL),
        ] {
            assert_eq!(interval(free_looks), expected, "{free_looks}");
        }
    }

    #[test]
    fn a_thread_that_is_inside_one_handler_at_two_looks_is_replaced_once() {
        use Finding::{Free, Inside, Kept};
        let mut seen = LastCheck::default();
        for (at, (inside, finding)) in [
            (None, Free),
            (Some(3), Inside),
            (Some(5), Inside),
            (Some(5), Kept),
            (Some(5), Inside),
            (Some(5), Inside),
            (None, Free),
            (Some(9), Inside),
            (Some(9), Kept),
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(seen.look(inside), finding, "look {at}");
        }
    }
}
