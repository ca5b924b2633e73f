//! Tests of channels: which clinks get which signals, and how threads wait for them.

use super::*;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

/// A channel and clinks that are added to it. They are boxed so that none of them moves.
struct Rig {
    guard: Box<m0_mutex>,
    chan: Box<m0_chan>,
    clinks: Box<[m0_clink]>,
}

// SAFETY: what is shared is guarded by the guard, and clinks by themselves.
unsafe impl Sync for Rig {}

impl Rig {
    fn new(callbacks: &[m0_chan_cb_t]) -> Self {
        let (guard, chan) = (Box::new(m0_mutex::new()), Box::new(m0_chan::default()));
        m0_chan_init(Object::memory_of_test(&*chan), Object::of_test(&*guard));
        let clinks: Box<[_]> = callbacks.iter().map(|_| m0_clink::default()).collect();
        for (clink, callback) in clinks.iter().zip(callbacks) {
            m0_clink_init(Object::memory_of_test(clink), *callback);
            m0_clink_add_lock(Object::of_test(&*chan), Object::of_test(clink));
        }
        Self { guard, chan, clinks }
    }

    fn chan(&self) -> Object<m0_chan> {
        Object::of_test(&*self.chan)
    }

    fn clink(&self, index: usize) -> Object<m0_clink> {
        Object::of_test(&self.clinks[index])
    }

    /// The number of pending signals of each clink, which are consumed.
    fn signals(&self) -> Vec<u32> {
        let taken = |index| std::iter::repeat_with(move || m0_chan_trywait(self.clink(index)));
        (0..self.clinks.len()).map(|index| taken(index).take_while(|taken| *taken).count() as u32).collect()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        for index in 0..self.clinks.len() {
            if m0_clink_is_armed(self.clink(index)) {
                m0_clink_del_lock(self.clink(index));
            }
            m0_clink_fini(self.clink(index));
        }
        m0_chan_fini_lock(self.chan());
        assert!(!self.guard.is_locked());
    }
}

extern "C" fn consumes(_: Object<m0_clink>) -> bool {
    true
}

extern "C" fn lets_through(_: Object<m0_clink>) -> bool {
    false
}

extern "C" fn takes_itself_off(clink: Object<m0_clink>) -> bool {
    m0_clink_del(clink);
    false
}

#[test]
fn signals_go_round_and_a_broadcast_goes_to_each_clink_once() {
    // A row has the operations, s for a signal and b for a broadcast, and the signals of each of three clinks after them.
    let table = [
        ("", [0, 0, 0]),
        ("s", [1, 0, 0]),
        ("sss", [1, 1, 1]),
        ("ssss", [2, 1, 1]),
        ("b", [1, 1, 1]),
        ("bbb", [3, 3, 3]),
        ("sbs", [2, 2, 1]),
    ];
    for (actions, expected) in table {
        let rig = Rig::new(&[None, None, None]);
        for action in actions.chars() {
            match action {
                's' => m0_chan_signal_lock(rig.chan()),
                _ => m0_chan_broadcast_lock(rig.chan()),
            }
        }
        assert_eq!(rig.signals(), expected, "{actions}");
    }
}

#[test]
fn a_callback_that_returns_true_uses_the_signal_up() {
    let rig = Rig::new(&[Some(consumes), Some(lets_through), Some(takes_itself_off)]);
    m0_chan_broadcast_lock(rig.chan());
    m0_chan_broadcast_lock(rig.chan());
    assert_eq!(rig.signals(), [0, 2, 1]);
    assert_eq!(rig.chan.ch_waiters.get(), 2);
}

#[test]
fn what_comes_before_a_clink_is_added_or_is_left_when_it_is_taken_off_is_lost() {
    let rig = Rig::new(&[None]);
    let clink = rig.clink(0);
    m0_chan_signal_lock(rig.chan());
    m0_clink_del_lock(clink);
    m0_chan_broadcast_lock(rig.chan());
    m0_clink_add_lock(rig.chan(), clink);
    assert_eq!(rig.signals(), [0]);
    m0_chan_broadcast_lock(rig.chan());
    assert_eq!(rig.signals(), [1]);
}

#[test]
fn a_one_shot_clink_is_taken_off_by_its_first_signal() {
    let rig = Rig::new(&[None]);
    let clink = rig.clink(0);
    clink.cl_is_oneshot.set(true);
    m0_chan_broadcast_lock(rig.chan());
    m0_chan_broadcast_lock(rig.chan());
    assert!(!m0_clink_is_armed(clink) && !m0_chan_has_waiters(rig.chan()));
    assert_eq!(rig.signals(), [1]);
}

#[test]
fn signals_of_a_groups_members_end_waits_for_its_head() {
    let (rig, other) = (Rig::new(&[None]), Rig::new(&[]));
    let head = rig.clink(0);
    let member = Box::new(m0_clink::default());
    m0_clink_attach(Object::memory_of_test(&*member), head, None);
    let member = Object::of_test(&*member);
    m0_clink_add_lock(other.chan(), member);
    m0_chan_signal_lock(other.chan());
    m0_chan_signal_lock(rig.chan());
    m0_chan_broadcast_lock(other.chan());
    assert_eq!(rig.signals(), [3]);
    assert!(!m0_chan_trywait(member));
    m0_clink_del_lock(member);
    m0_clink_fini(member);
}

#[test]
fn threads_of_the_programs_own_wait_for_as_many_signals_as_there_are() {
    const WAITERS: usize = 4;
    let (rig, waits) = (Rig::new(&[None; WAITERS]), AtomicU32::new(0));
    thread::scope(|scope| {
        let waits = &waits;
        for index in 0..WAITERS {
            let clink = AtomicClink(rig.clink(index));
            scope.spawn(move || {
                for _ in 0..500 {
                    m0_chan_wait(clink.get());
                    waits.fetch_add(1, SeqCst);
                }
            });
        }
        for round in 0..500 {
            if round % 2 == 0 {
                m0_chan_broadcast_lock(rig.chan());
            } else {
                (0..WAITERS).for_each(|_| m0_chan_signal_lock(rig.chan()));
            }
        }
    });
    assert_eq!(waits.load(SeqCst), 500 * WAITERS as u32);
    assert_eq!(rig.signals(), [0; WAITERS]);
}

#[test]
fn a_wait_with_a_deadline_tells_whether_there_was_a_signal() {
    let rig = Rig::new(&[None]);
    let now = super::super::time::m0_time_now();
    assert!(!m0_chan_timedwait(rig.clink(0), now));
    m0_chan_signal_lock(rig.chan());
    assert!(m0_chan_timedwait(rig.clink(0), now));
    m0_chan_signal_lock(rig.chan());
    assert!(m0_chan_timedwait(rig.clink(0), TIME_NEVER));
}

/// A clink for another thread.
struct AtomicClink(Object<m0_clink>);

impl AtomicClink {
    fn get(&self) -> Object<m0_clink> {
        self.0
    }
}

// SAFETY: waiting needs no lock, and the rig outlives the thread.
unsafe impl Send for AtomicClink {}
