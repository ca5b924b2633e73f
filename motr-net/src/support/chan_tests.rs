//! Which clinks get which signals, and that threads wait for them.

use super::*;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

/// A channel with some clinks, all of which are added. Boxed: clinks do not move.
struct Rig {
    guard: Box<m0_mutex>,
    chan: Box<m0_chan>,
    clinks: Vec<*mut m0_clink>,
}

// SAFETY: what is shared is guarded by the guard, and clinks by themselves.
unsafe impl Sync for Rig {}

impl Rig {
    fn new(callbacks: &[m0_chan_cb_t]) -> Self {
        let mut guard = Box::new(m0_mutex::new());
        let mut chan =
            Box::new(m0_chan { ch_links: m0_list::new(), ch_guard: ptr::null_mut(), ch_waiters: 0 });
        // SAFETY: all of them live as long as the rig.
        unsafe {
            m0_chan_init(&raw mut *chan, &raw mut *guard);
            let clinks = callbacks.iter().map(|callback| {
                let clink = Box::into_raw(Box::<m0_clink>::new_uninit()).cast::<m0_clink>();
                m0_clink_init(clink, *callback);
                m0_clink_add_lock(&raw mut *chan, clink);
                clink
            });
            let clinks = clinks.collect();
            Self { guard, chan, clinks }
        }
    }

    fn chan(&self) -> *mut m0_chan {
        ptr::from_ref(&*self.chan).cast_mut()
    }

    /// How many waits each clink has to its credit; they are used up.
    fn signals(&self) -> Vec<u32> {
        let count = |clink: &*mut m0_clink| {
            // SAFETY: a clink of the rig.
            std::iter::repeat_with(|| unsafe { m0_chan_trywait(*clink) }).take_while(|taken| *taken).count()
                as u32
        };
        self.clinks.iter().map(count).collect()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        for clink in &self.clinks {
            // SAFETY: made by `new`.
            unsafe {
                if m0_clink_is_armed(*clink) {
                    m0_clink_del_lock(*clink);
                }
                m0_clink_fini(*clink);
                drop(Box::from_raw(*clink));
            }
        }
        // SAFETY: no clink is left.
        unsafe { m0_chan_fini_lock(self.chan()) };
        assert!(!self.guard.is_locked());
    }
}

unsafe extern "C" fn consumes(_: *mut m0_clink) -> bool {
    true
}

unsafe extern "C" fn lets_through(_: *mut m0_clink) -> bool {
    false
}

unsafe extern "C" fn takes_itself_off(clink: *mut m0_clink) -> bool {
    // SAFETY: the clink that is signalled, under the guard.
    unsafe { m0_clink_del(clink) };
    false
}

#[test]
fn signals_go_round_and_a_broadcast_goes_to_each_clink_once() {
    // What is done: s a signal, b a broadcast; what each of three clinks has after it.
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
            // SAFETY: the channel of the rig.
            unsafe {
                match action {
                    's' => m0_chan_signal_lock(rig.chan()),
                    _ => m0_chan_broadcast_lock(rig.chan()),
                }
            }
        }
        assert_eq!(rig.signals(), expected, "{actions}");
    }
}

#[test]
fn a_callback_that_returns_true_uses_the_signal_up() {
    let rig = Rig::new(&[Some(consumes), Some(lets_through), Some(takes_itself_off)]);
    // SAFETY: the channel of the rig.
    unsafe { m0_chan_broadcast_lock(rig.chan()) };
    // SAFETY: as above.
    unsafe { m0_chan_broadcast_lock(rig.chan()) };
    assert_eq!(rig.signals(), [0, 2, 1]);
    assert_eq!(rig.chan.ch_waiters, 2);
}

#[test]
fn what_comes_before_a_clink_is_added_or_is_left_when_it_is_taken_off_is_lost() {
    let rig = Rig::new(&[None]);
    let clink = rig.clinks[0];
    // SAFETY: the channel and the clink of the rig.
    unsafe {
        m0_chan_signal_lock(rig.chan());
        m0_clink_del_lock(clink);
        m0_chan_broadcast_lock(rig.chan());
        m0_clink_add_lock(rig.chan(), clink);
        assert_eq!(rig.signals(), [0]);
        m0_chan_broadcast_lock(rig.chan());
        assert_eq!(rig.signals(), [1]);
    }
}

#[test]
fn a_one_shot_clink_is_taken_off_by_its_first_signal() {
    let rig = Rig::new(&[None]);
    // SAFETY: the channel and the clink of the rig.
    unsafe {
        let clink = rig.clinks[0];
        (*clink).cl_is_oneshot = true;
        m0_chan_broadcast_lock(rig.chan());
        m0_chan_broadcast_lock(rig.chan());
        assert!(!m0_clink_is_armed(clink) && !m0_chan_has_waiters(rig.chan()));
    }
    assert_eq!(rig.signals(), [1]);
}

#[test]
fn signals_of_a_groups_members_end_waits_for_its_head() {
    let (rig, other) = (Rig::new(&[None]), Rig::new(&[]));
    let head = rig.clinks[0];
    let mut member = std::mem::MaybeUninit::<m0_clink>::uninit();
    let member = member.as_mut_ptr();
    // SAFETY: the channels and clinks live to the end of the test.
    unsafe {
        m0_clink_attach(member, head, None);
        m0_clink_add_lock(other.chan(), member);
        m0_chan_signal_lock(other.chan());
        m0_chan_signal_lock(rig.chan());
        m0_chan_broadcast_lock(other.chan());
        assert_eq!(rig.signals(), [3]);
        assert!(!m0_chan_trywait(member));
        m0_clink_del_lock(member);
        m0_clink_fini(member);
    }
}

#[test]
fn threads_of_the_programs_own_wait_for_as_many_signals_as_there_are() {
    const WAITERS: usize = 4;
    let (rig, waits) = (Rig::new(&[None; WAITERS]), AtomicU32::new(0));
    thread::scope(|scope| {
        let waits = &waits;
        for clink in &rig.clinks {
            let clink = AtomicClink((*clink).cast());
            scope.spawn(move || {
                for _ in 0..500 {
                    // SAFETY: a clink of the rig, which outlives this thread.
                    unsafe { m0_chan_wait(clink.get()) };
                    waits.fetch_add(1, SeqCst);
                }
            });
        }
        for round in 0..500 {
            // SAFETY: the channel of the rig.
            unsafe {
                if round % 2 == 0 {
                    m0_chan_broadcast_lock(rig.chan());
                } else {
                    (0..WAITERS).for_each(|_| m0_chan_signal_lock(rig.chan()));
                }
            }
        }
    });
    assert_eq!(waits.load(SeqCst), 500 * WAITERS as u32);
    assert_eq!(rig.signals(), [0; WAITERS]);
}

#[test]
fn a_wait_with_a_deadline_tells_whether_there_was_a_signal() {
    let rig = Rig::new(&[None]);
    // SAFETY: the channel and the clink of the rig.
    unsafe {
        let now = super::super::time::m0_time_now();
        assert!(!m0_chan_timedwait(rig.clinks[0], now));
        m0_chan_signal_lock(rig.chan());
        assert!(m0_chan_timedwait(rig.clinks[0], now));
        m0_chan_signal_lock(rig.chan());
        assert!(m0_chan_timedwait(rig.clinks[0], TIME_NEVER));
    }
}

/// A clink for another thread.
struct AtomicClink(*mut c_void);

impl AtomicClink {
    fn get(&self) -> *mut m0_clink {
        self.0.cast()
    }
}

// SAFETY: waiting needs no lock.
unsafe impl Send for AtomicClink {}
