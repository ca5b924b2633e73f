//! Wake-ups of the threads that share a scheduler's epoll set: each reaches the thread that it is for.
//!
//! Two threads may wait in the set: the scheduler's own (the owner), and one application thread that waits for
//! an LNet event and reads sockets meanwhile (the app poller). The kernel gives an edge-triggered event to
//! one of them, whichever comes first. Therefore:
//!
//! - Work that either thread can do is announced with [`Signals::wake_any`]; the thread that takes the event does the work.
//! - Work that only the owner does is announced with [`Signals::wake_owner`], which stays signalled until the owner
//!   has cleared it. The app poller sees it and leaves it.
//! - Work that only the app poller waits for is announced with [`Signals::wake_any`], too: an owner that takes that
//!   event while there is an app poller signals again, and then stays out of the set.
//!
//! Every condition is set before the check whether its thread sleeps, and that thread checks the condition after it has
//! marked itself as sleeping; a fence between the two on both sides lets neither miss the other.

use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

/// The two signals of an epoll set.
pub(crate) trait Signals {
    /// Wakes one thread: an event that the first thread to come takes.
    fn wake_any(&self);
    /// Wakes every thread, until [`Signals::clear_owner`].
    fn wake_owner(&self);
    /// Ends [`Signals::wake_owner`]. By the owner only.
    fn clear_owner(&self);
}

/// The signals that a thread saw when it stopped waiting.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Woken {
    pub(crate) any: bool,
    pub(crate) owner: bool,
}

/// Whether a thread that looks for events may sleep until there are some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MayWait {
    Yes,
    No,
}

/// Wait state of the threads of a scheduler, and the signals that wake them.
#[derive(Debug)]
pub(crate) struct Wakeups<S> {
    signals: S,
    stopped: AtomicBool,
    /// Whether the owner waits, perhaps without a time limit.
    owner_sleeps: AtomicBool,
    /// Whether there is an app poller.
    app_polls: AtomicBool,
    /// Number that grows whenever other threads have done something that the app poller may wait for.
    work: AtomicU64,
}

impl<S: Signals> Wakeups<S> {
    pub(crate) fn new(signals: S) -> Self {
        Self {
            signals,
            stopped: AtomicBool::new(false),
            owner_sleeps: AtomicBool::new(false),
            app_polls: AtomicBool::new(false),
            work: AtomicU64::new(0),
        }
    }

    /// Makes the owner end, and the app poller leave.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.signals.wake_owner();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Wakes a thread for work that any thread can do.
    pub(crate) fn wake_any(&self) {
        self.signals.wake_any();
    }

    /// Wakes the app poller, if there is one, for work that the calling owner checks before it sleeps.
    pub(crate) fn wake_app_poller(&self) {
        fence(Ordering::SeqCst);
        if self.app_polls() {
            self.signals.wake_any();
        }
    }

    /// Wakes a thread only if the owner sleeps, for work that the owner looks for before it sleeps.
    pub(crate) fn wake_any_if_owner_sleeps(&self) {
        fence(Ordering::SeqCst);
        if self.owner_sleeps.load(Ordering::Relaxed) {
            self.signals.wake_any();
        }
    }

    /// Wakes the owner if it sleeps, for work that it checks before it sleeps.
    pub(crate) fn wake_owner_if_it_sleeps(&self) {
        fence(Ordering::SeqCst);
        if self.owner_sleeps.load(Ordering::Relaxed) {
            self.signals.wake_owner();
        }
    }

    /// Wakes the owner for work that it is to do as soon as it can.
    pub(crate) fn wake_owner(&self) {
        self.signals.wake_owner();
    }

    /// Notes that something was done that an app poller may be waiting for.
    pub(crate) fn note_work(&self) {
        self.work.fetch_add(1, Ordering::Release);
        self.wake_app_poller();
    }

    /// Whether there is an app poller. The owner stays out of the set as long as there is one.
    pub(crate) fn app_polls(&self) -> bool {
        self.app_polls.load(Ordering::Acquire)
    }

    /// Notes that the app poller is blocked in an event handler, and takes no events until it comes back.
    pub(crate) fn app_is_kept(&self) {
        self.app_polls.store(false, Ordering::Release);
    }

    /// Whether the owner waits, or is about to.
    pub(crate) fn owner_sleeps(&self) -> bool {
        self.owner_sleeps.load(Ordering::Relaxed)
    }

    /// Lets the owner wait: `wait` checks the conditions once more, and sleeps if none is set.
    pub(crate) fn owner_waits<R>(&self, wait: impl FnOnce() -> (Woken, R)) -> R {
        self.owner_sleeps.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let (woken, result) = wait();
        self.owner_sleeps.store(false, Ordering::Relaxed);
        // After a stop the wake-up stays signalled, for the app poller.
        if woken.owner && !self.is_stopped() {
            self.signals.clear_owner();
        }
        if woken.any && self.app_polls() {
            self.signals.wake_any();
        }
        result
    }

    /// Lets the app poller wait in `wait`, which only polls, and does not sleep, if more work has been done than it has
    /// `seen`: so another scheduler that is always busy keeps no thread from being served. Returns whether more had been
    /// done, or `wait` has done something.
    pub(crate) fn app_waits(&self, seen: &mut u64, wait: impl FnOnce(MayWait) -> bool) -> bool {
        self.app_polls.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        let more_done = *seen != self.work.load(Ordering::Acquire);
        let worked = wait(if more_done { MayWait::No } else { MayWait::Yes }) || more_done;
        let work = self.work.load(Ordering::Acquire);
        let worked = worked || *seen != work;
        *seen = work;
        self.app_polls.store(false, Ordering::Release);
        worked
    }
}

#[cfg(all(test, loom))]
#[path = "wakeups_loom.rs"]
mod wakeups_loom;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    struct NobodySleeps;

    impl Signals for NobodySleeps {
        fn wake_any(&self) {}
        fn wake_owner(&self) {}
        fn clear_owner(&self) {}
    }

    #[test]
    fn an_app_poller_looks_at_its_own_sockets_though_another_scheduler_always_works() {
        let wakeups = Wakeups::new(NobodySleeps);
        let mut seen = 0;
        let mut looks = Vec::new();
        for another_works in [false, true, true, false] {
            if another_works {
                wakeups.note_work();
            }
            let worked = wakeups.app_waits(&mut seen, |may_wait| {
                looks.push(may_wait);
                false
            });
            assert_eq!(worked, another_works);
        }
        assert_eq!(looks, [MayWait::Yes, MayWait::No, MayWait::No, MayWait::Yes]);
    }
}
