//! Threads, and the processors that they run on (motr-net 8.1). Threads that the library did not make are adopted when they ask for
//! themselves.

use super::bitmap::{m0_bitmap, m0_bitmap_reset, m0_bitmap_set};
use super::semaphore::m0_semaphore;
use super::time::TIME_NEVER;
use crate::contract::require;
use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::ptr;

/// `TS_PARKED`: not started, or joined.
const PARKED: c_uint = 0;
/// `TS_RUNNING`
const RUNNING: c_uint = 1;
/// Bytes of a name, with the NUL.
const NAME_LENGTH: usize = 16;

/// A thread; zeros before it is started.
#[repr(C)]
#[derive(Debug)]
pub struct m0_thread {
    /// `TS_PARKED` or `TS_RUNNING`.
    pub t_state: c_uint,
    /// What the first function returned.
    pub t_initrc: c_int,
    /// The thread to the C library.
    pub t_handle: libc::pthread_t,
    /// The first function.
    pub t_init: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    /// The thread's own.
    pub t_func: Option<unsafe extern "C" fn(*mut c_void)>,
    /// What both are called with.
    pub t_arg: *mut c_void,
    /// The first function has returned.
    pub t_wait: m0_semaphore,
    /// Its name.
    pub t_namebuf: [c_char; NAME_LENGTH],
}

const fn not_started() -> m0_thread {
    // SAFETY: zeros are a thread that was not started.
    unsafe { std::mem::zeroed() }
}

thread_local! {
    /// The calling thread, if the library started it.
    static STARTED: Cell<*mut m0_thread> = const { Cell::new(ptr::null_mut()) };
    /// The calling thread otherwise.
    static ADOPTED: UnsafeCell<m0_thread> = const { UnsafeCell::new(not_started()) };
}

extern "C" fn run(thread: *mut c_void) -> *mut c_void {
    let thread = thread.cast::<m0_thread>();
    STARTED.set(thread);
    // SAFETY: it lives until it is joined; the starter waits, and does not look at it before.
    unsafe {
        (*thread).t_handle = libc::pthread_self();
        let (init, func, arg) = ((*thread).t_init, (*thread).t_func, (*thread).t_arg);
        let code = init.map_or(0, |init| init(arg));
        (*thread).t_initrc = code;
        (*thread).t_wait.up();
        if code == 0
            && let Some(func) = func
        {
            func(arg);
        }
    }
    ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_thread_create(
    thread: *mut m0_thread,
    init: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
    func: Option<unsafe extern "C" fn(*mut c_void)>,
    arg: *mut c_void,
    name: *const c_char,
) -> c_int {
    // SAFETY: by contract; the thread is zeros, and its memory stays until it is joined.
    unsafe {
        require!(
            "m0_thread_init",
            (*thread).t_state == PARKED && (*thread).t_func.is_none(),
            "the thread is not zeros"
        );
        require!("m0_thread_init", func.is_some(), "there is no function");
        thread.write(m0_thread {
            t_state: RUNNING,
            t_initrc: 0,
            t_handle: 0,
            t_init: init,
            t_func: func,
            t_arg: arg,
            t_wait: m0_semaphore::new(0),
            t_namebuf: short_name(CStr::from_ptr(name)),
        });
        let mut handle: libc::pthread_t = 0;
        let mut code = -libc::pthread_create(&raw mut handle, ptr::null(), run, thread.cast());
        if code == 0 {
            libc::pthread_setname_np(handle, (&raw const (*thread).t_namebuf).cast());
            (*thread).t_wait.down_until(TIME_NEVER);
            code = (*thread).t_initrc;
            if code != 0 {
                libc::pthread_join(handle, ptr::null_mut());
            }
        }
        if code != 0 {
            thread.write(std::mem::zeroed());
        }
        code
    }
}

/// What the system takes of a name.
fn short_name(name: &CStr) -> [c_char; NAME_LENGTH] {
    let mut short = [0; NAME_LENGTH];
    for (to, from) in short.iter_mut().zip(name.to_bytes()).take(NAME_LENGTH - 1) {
        *to = *from as c_char;
    }
    short
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_thread_join(thread: *mut m0_thread) -> c_int {
    // SAFETY: by contract.
    unsafe {
        require!("m0_thread_join", (*thread).t_state == RUNNING, "the thread was not started, or was joined");
        require!("m0_thread_join", !ptr::eq(m0_thread_self(), thread), "the thread would wait for itself");
        let code = -libc::pthread_join((*thread).t_handle, ptr::null_mut());
        if code == 0 {
            (*thread).t_state = PARKED;
        }
        code
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_thread_fini(thread: *mut m0_thread) {
    // SAFETY: by contract.
    unsafe {
        require!("m0_thread_fini", (*thread).t_state == PARKED, "the thread was not joined");
        // As a program leaves it, that starts it again without setting it to zeros.
        (*thread).t_func = None;
    }
}

/// The calling thread, never NULL; valid as long as the thread runs.
#[unsafe(no_mangle)]
pub extern "C" fn m0_thread_self() -> *mut m0_thread {
    let started = STARTED.get();
    if !started.is_null() {
        return started;
    }
    ADOPTED.with(|thread| {
        let thread = thread.get();
        // SAFETY: only this thread writes its own.
        unsafe {
            (*thread).t_state = RUNNING;
            (*thread).t_handle = libc::pthread_self();
        }
        thread
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_thread_confine(thread: *mut m0_thread, processors: *const m0_bitmap) -> c_int {
    // SAFETY: by contract.
    unsafe { confine((*thread).t_handle, &processors_in((*processors).words())) }
}

/// The processors of a bitmap.
fn processors_in(words: &[u64]) -> libc::cpu_set_t {
    // SAFETY: zeros are the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let bits = (0..words.len() * 64).filter(|bit| words[bit / 64] >> (bit % 64) & 1 == 1);
    for bit in bits.take_while(|bit| *bit < libc::CPU_SETSIZE as usize) {
        // SAFETY: the bit is in the set.
        unsafe { libc::CPU_SET(bit, &mut set) };
    }
    set
}

fn confine(thread: libc::pthread_t, set: &libc::cpu_set_t) -> c_int {
    // SAFETY: a thread that was not joined, by contract of the callers, and a set of this size.
    -unsafe { libc::pthread_setaffinity_np(thread, size_of::<libc::cpu_set_t>(), set) }
}

/// Has the calling thread run on the processors of a bitmap's words only. 0 or a negative errno.
pub fn confine_this_thread(words: &[u64]) -> c_int {
    // SAFETY: has no preconditions.
    confine(unsafe { libc::pthread_self() }, &processors_in(words))
}

/// A number above that of every processor that is online.
#[unsafe(no_mangle)]
pub extern "C" fn m0_processor_nr_max() -> usize {
    // SAFETY: has no preconditions.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) }).unwrap_or(1)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_processors_online(map: *mut m0_bitmap) {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: the set is there to be written; zeros are an empty one. By contract the bitmap is the caller's.
    unsafe {
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr());
        let set = set.assume_init();
        m0_bitmap_reset(map);
        for bit in (0..(*map).b_nr.min(libc::CPU_SETSIZE as usize)).filter(|bit| libc::CPU_ISSET(*bit, &set))
        {
            m0_bitmap_set(map, bit, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering::SeqCst};

    struct Seen {
        init: AtomicI32,
        thread: AtomicPtr<m0_thread>,
    }

    unsafe extern "C" fn init(seen: *mut c_void) -> c_int {
        // SAFETY: the one of the test.
        unsafe { (*seen.cast::<Seen>()).init.load(SeqCst) }
    }

    unsafe extern "C" fn func(seen: *mut c_void) {
        // SAFETY: the one of the test.
        unsafe { (*seen.cast::<Seen>()).thread.store(m0_thread_self(), SeqCst) };
    }

    #[test]
    fn a_thread_runs_unless_its_first_function_fails() {
        for code in [0, -libc::ENOENT] {
            let seen = Seen { init: AtomicI32::new(code), thread: AtomicPtr::default() };
            // SAFETY: zeros are a thread that was not started; everything lives until it is joined.
            unsafe {
                let mut thread: m0_thread = std::mem::zeroed();
                let (thread, arg) = (&raw mut thread, (&raw const seen).cast_mut().cast());
                for _ in 0..2 {
                    let name = c"longer than sixteen bytes".as_ptr();
                    assert_eq!(m0_thread_create(thread, Some(init), Some(func), arg, name), code);
                    if code == 0 {
                        assert_eq!(m0_thread_join(thread), 0);
                        assert_eq!(seen.thread.load(SeqCst), thread);
                        let name = (*thread).t_namebuf;
                        assert_eq!(name[14..], [b'x' as c_char, 0]);
                    }
                    assert_eq!((*thread).t_state, PARKED);
                    m0_thread_fini(thread);
                }
                assert_eq!(seen.thread.load(SeqCst).is_null(), code != 0);
            }
        }
    }

    #[test]
    fn a_thread_of_the_programs_own_is_always_the_same() {
        let first = m0_thread_self();
        assert!(!first.is_null() && m0_thread_self() == first);
        let other = std::thread::spawn(|| m0_thread_self().addr()).join().unwrap();
        assert_ne!(other, first.addr());
    }

    #[test]
    fn a_thread_that_is_confined_runs_where_it_may() {
        std::thread::spawn(|| {
            let mut word = 0_u64;
            let mut map = m0_bitmap { b_nr: 64, b_words: &raw mut word };
            // SAFETY: a bitmap of one word.
            unsafe { m0_processors_online(&raw mut map) };
            let first = word.trailing_zeros();
            assert_eq!(confine_this_thread(&[1 << first]), 0);
            // SAFETY: has no preconditions.
            assert_eq!(unsafe { libc::sched_getcpu() }, first as c_int);
            assert_eq!(confine_this_thread(&[0]), -libc::EINVAL);
            assert_eq!(confine_this_thread(&[0; 100]), -libc::EINVAL);
        })
        .join()
        .unwrap();
    }
}
