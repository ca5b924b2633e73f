//! Wake-ups reach the thread that they are for, under every interleaving: `make test` runs these with loom. A
//! thread that is not woken is a deadlock, which loom reports.

use super::*;
use loom::sync::{Condvar, Mutex};
use loom::thread;
use std::sync::Arc;

/// A model of the kernel's epoll set, with two signals.
#[derive(Default)]
struct Set {
    woken: Mutex<Woken>,
    changed: Condvar,
}

/// State that the threads of a model share.
type Shared = Arc<Wakeups<Arc<Set>>>;

impl Signals for Arc<Set> {
    fn wake_any(&self) {
        self.woken.lock().unwrap().any = true;
        self.changed.notify_all();
    }

    fn wake_owner(&self) {
        self.woken.lock().unwrap().owner = true;
        self.changed.notify_all();
    }

    fn clear_owner(&self) {
        self.woken.lock().unwrap().owner = false;
    }
}

impl Set {
    fn new() -> Arc<Self> {
        Arc::new(Self { woken: Mutex::new(Woken::default()), changed: Condvar::new() })
    }

    /// Takes the signals: the first to come has the edge-triggered one, all have the level-triggered one.
    fn look(&self) -> Woken {
        let mut woken = self.woken.lock().unwrap();
        let seen = *woken;
        woken.any = false;
        seen
    }

    /// Sleeps until there is a signal, and takes the signals.
    fn sleep(&self) -> Woken {
        let mut woken = self.woken.lock().unwrap();
        while !woken.any && !woken.owner {
            woken = self.changed.wait(woken).unwrap();
        }
        let seen = *woken;
        woken.any = false;
        seen
    }
}

fn start_owner(wakeups: &Shared, set: &Arc<Set>) -> thread::JoinHandle<()> {
    let (wakeups, set) = (Arc::clone(wakeups), Arc::clone(set));
    thread::spawn(move || own(&wakeups, &set))
}

/// Starts an application's thread that sleeps until it is woken; `has_it` says whether it has its event then.
fn start_sleeper(wakeups: &Shared, set: &Arc<Set>, has_it: bool) -> thread::JoinHandle<bool> {
    let (wakeups, set) = (Arc::clone(wakeups), Arc::clone(set));
    thread::spawn(move || {
        wakeups.app_waits(&mut 0, |may_wait| {
            match may_wait {
                MayWait::Yes => set.sleep(),
                MayWait::No => set.look(),
            };
            has_it
        })
    })
}

/// The owner's loop, as in [`crate::scheduler`].
fn own(wakeups: &Shared, set: &Set) {
    while !wakeups.is_stopped() {
        if wakeups.app_polls() {
            thread::yield_now();
            continue;
        }
        wakeups.owner_waits(|| (set.sleep(), ()));
    }
}

/// Runs one turn of an application thread that does not sleep, or whose time-out passes.
fn poll(wakeups: &Shared, set: &Set) {
    wakeups.app_waits(&mut 0, |_| {
        set.look();
        false
    });
}

#[test]
fn loom_the_owner_ends_although_an_application_thread_takes_events() {
    loom::model(|| {
        let set = Set::new();
        let wakeups: Shared = Arc::new(Wakeups::new(Arc::clone(&set)));
        let owner = start_owner(&wakeups, &set);
        let app = {
            let (wakeups, set) = (Arc::clone(&wakeups), Arc::clone(&set));
            thread::spawn(move || poll(&wakeups, &set))
        };
        wakeups.stop();
        app.join().unwrap();
        owner.join().unwrap();
    });
}

#[test]
fn loom_the_owner_is_woken_for_its_own_work_although_an_application_thread_takes_events() {
    loom::model(|| {
        let set = Set::new();
        let wakeups: Shared = Arc::new(Wakeups::new(Arc::clone(&set)));
        let owes = Arc::new(AtomicBool::new(false));
        let owner = {
            let (wakeups, set, owes) = (Arc::clone(&wakeups), Arc::clone(&set), Arc::clone(&owes));
            // The thread ends when it has found the event that it was woken for.
            thread::spawn(move || {
                let mut found = false;
                while !found {
                    if wakeups.app_polls() {
                        thread::yield_now();
                        continue;
                    }
                    wakeups.owner_waits(|| {
                        found = owes.load(Ordering::Relaxed);
                        if found { (set.look(), ()) } else { (set.sleep(), ()) }
                    });
                }
            })
        };
        // The application thread reads a socket, after which the owner owes work, takes the events of the set, and never
        // polls again.
        owes.store(true, Ordering::Relaxed);
        wakeups.wake_owner_if_it_sleeps();
        poll(&wakeups, &set);
        owner.join().unwrap();
    });
}

#[test]
fn loom_an_application_thread_is_woken_for_work_although_the_owner_takes_events() {
    // Three threads wait in turns: the model tries all interleavings with up to three switches that nothing forces.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let set = Set::new();
        let wakeups: Shared = Arc::new(Wakeups::new(Arc::clone(&set)));
        let owner = start_owner(&wakeups, &set);
        let app = start_sleeper(&wakeups, &set, true);
        wakeups.note_work();
        assert!(app.join().unwrap());
        wakeups.stop();
        owner.join().unwrap();
    });
}

#[test]
fn loom_an_application_thread_that_sleeps_leaves_at_the_end_although_the_owner_has_seen_it_first() {
    loom::model(|| {
        let set = Set::new();
        let wakeups: Shared = Arc::new(Wakeups::new(Arc::clone(&set)));
        let owner = start_owner(&wakeups, &set);
        let app = start_sleeper(&wakeups, &set, false);
        wakeups.stop();
        app.join().unwrap();
        owner.join().unwrap();
    });
}

/// The owner stands back while the application's thread polls, which then has to do the work that the owner has queued before.
#[test]
fn loom_what_the_owner_puts_in_is_done_although_an_application_thread_sleeps() {
    loom::model(|| {
        let set = Set::new();
        let wakeups: Shared = Arc::new(Wakeups::new(Arc::clone(&set)));
        let ready = Arc::new(AtomicBool::new(false));
        let app = {
            let (wakeups, set, ready) = (Arc::clone(&wakeups), Arc::clone(&set), Arc::clone(&ready));
            thread::spawn(move || {
                wakeups.app_waits(&mut 0, |_| {
                    // As in the scheduler, the thread sleeps only if nothing is ready, and then does the work that is. The
                    // owner ends its sleep if it has done that itself.
                    if !ready.load(Ordering::Acquire) {
                        set.sleep();
                    }
                    ready.swap(false, Ordering::AcqRel)
                });
            })
        };
        ready.store(true, Ordering::Release);
        wakeups.wake_app_poller();
        // The owner's next turn.
        while wakeups.app_polls() {
            thread::yield_now();
        }
        ready.swap(false, Ordering::AcqRel);
        set.wake_any();
        app.join().unwrap();
        assert!(!ready.load(Ordering::Acquire));
    });
}
