//! Threads, and the processors that they run on (motr-net 8.1). Threads that the library did not start get a structure when
//! they ask for their own.

use super::bitmap::{m0_bitmap, m0_bitmap_reset, m0_bitmap_set};
use super::semaphore::m0_semaphore;
use super::time::TIME_NEVER;
use crate::contract::require;
use crate::object::Object;
use lnet_api::c_pointer::Text;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::ptr;

/// The state of a thread that is not started, or joined: `TS_PARKED`.
const PARKED: c_uint = 0;
/// The state of a thread that is started and not joined: `TS_RUNNING`.
const RUNNING: c_uint = 1;
/// The number of bytes of a name, with the NUL.
const NAME_LENGTH: usize = 16;

/// The function that a thread runs first, whose result its creator waits for.
type InitFunction = Option<unsafe extern "C" fn(*mut c_void) -> c_int>;
/// The main function of a thread.
type ThreadFunction = Option<unsafe extern "C" fn(*mut c_void)>;

/// A thread; zeroed before it is started.
#[repr(C)]
#[derive(Debug)]
pub struct m0_thread {
    /// The state: `TS_PARKED` or `TS_RUNNING`.
    pub t_state: Cell<c_uint>,
    /// The result of `t_init`.
    pub t_initrc: Cell<c_int>,
    /// The handle of the C library; the thread is not joined while the state is RUNNING.
    pub t_handle: Cell<libc::pthread_t>,
    /// The function that the thread calls first.
    pub t_init: Cell<InitFunction>,
    /// The function that the thread calls if `t_init` has returned 0.
    pub t_func: Cell<ThreadFunction>,
    /// The argument of both functions.
    pub t_arg: Cell<*mut c_void>,
    /// Signalled when `t_init` has returned.
    pub t_wait: m0_semaphore,
    /// The name of the thread.
    pub t_namebuf: Cell<[c_char; NAME_LENGTH]>,
}

impl m0_thread {
    /// A thread that is not started.
    const fn new() -> Self {
        Self {
            t_state: Cell::new(PARKED),
            t_initrc: Cell::new(0),
            t_handle: Cell::new(0),
            t_init: Cell::new(None),
            t_func: Cell::new(None),
            t_arg: Cell::new(ptr::null_mut()),
            t_wait: m0_semaphore::new(0),
            t_namebuf: Cell::new([0; NAME_LENGTH]),
        }
    }

    /// Sets the structure back to a thread that is not started.
    fn reset(&self) {
        self.t_state.set(PARKED);
        self.t_initrc.set(0);
        self.t_handle.set(0);
        self.t_init.set(None);
        self.t_func.set(None);
        self.t_arg.set(ptr::null_mut());
        self.t_wait.reset();
        self.t_namebuf.set([0; NAME_LENGTH]);
    }
}

thread_local! {
    /// The structure of the calling thread, if the library started it.
    static STARTED: Cell<Object<m0_thread>> = const { Cell::new(Object::NULL) };
    /// The structure of the calling thread, if the library did not start it.
    static ADOPTED: m0_thread = const { m0_thread::new() };
}

extern "C" fn run(thread: *mut c_void) -> *mut c_void {
    // SAFETY: what `m0_thread_create` passed: a thread that stays until it is joined; the one that started it does not look at it before the
    // first function has returned.
    let thread = unsafe { Object::new(thread.cast::<m0_thread>()) };
    STARTED.set(thread);
    thread.t_handle.set(this_thread());
    let (init, func, arg) = (thread.t_init.get(), thread.t_func.get(), thread.t_arg.get());
    // SAFETY: the program's function and the argument that it is for (`lib/thread.h`).
    let code = init.map_or(0, |init| unsafe { init(arg) });
    thread.t_initrc.set(code);
    thread.t_wait.up();
    if code == 0
        && let Some(func) = func
    {
        // SAFETY: the same.
        unsafe { func(arg) };
    }
    ptr::null_mut()
}

/// # Safety
/// `init` and `func` may be called with `arg`, on a thread of their own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_thread_create(
    thread: Object<m0_thread>,
    init: InitFunction,
    func: ThreadFunction,
    arg: *mut c_void,
    name: Text<'_>,
) -> c_int {
    let is_zeros = thread.t_state.get() == PARKED && thread.t_func.get().is_none();
    require!("m0_thread_init", is_zeros, "the thread is not zeros");
    require!("m0_thread_init", func.is_some(), "there is no function");
    thread.reset();
    thread.t_state.set(RUNNING);
    thread.t_init.set(init);
    thread.t_func.set(func);
    thread.t_arg.set(arg);
    let name = short_name(name.get().unwrap_or_default());
    thread.t_namebuf.set(name);
    let mut handle: libc::pthread_t = 0;
    // SAFETY: `run` takes the thread, which the program keeps until it has joined it.
    let mut code =
        -unsafe { libc::pthread_create(&raw mut handle, ptr::null(), run, thread.as_ptr().cast()) };
    if code == 0 {
        // SAFETY: the handle of above, which is joined below or by `m0_thread_join`; a name that ends with a NUL.
        unsafe { libc::pthread_setname_np(handle, name.as_ptr()) };
        thread.t_wait.down_until(TIME_NEVER);
        code = thread.t_initrc.get();
        if code != 0 {
            join(thread);
        }
    }
    if code != 0 {
        thread.reset();
    }
    code
}

/// The part of a name that the system accepts.
fn short_name(name: &CStr) -> [c_char; NAME_LENGTH] {
    let mut short = [0; NAME_LENGTH];
    for (to, from) in short.iter_mut().zip(name.to_bytes()).take(NAME_LENGTH - 1) {
        *to = *from as c_char;
    }
    short
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_thread_join(thread: Object<m0_thread>) -> c_int {
    let is_running = thread.t_state.get() == RUNNING;
    require!("m0_thread_join", is_running, "the thread was not started, or was joined");
    require!("m0_thread_join", m0_thread_self() != thread, "the thread would wait for itself");
    join(thread)
}

/// Waits for the end of a thread that runs. Returns 0 or a negative errno.
fn join(thread: Object<m0_thread>) -> c_int {
    // SAFETY: the handle of a thread that was started, and not joined: its state, which only this changes, is RUNNING.
    let code = -unsafe { libc::pthread_join(thread.t_handle.get(), ptr::null_mut()) };
    if code == 0 {
        thread.t_state.set(PARKED);
    }
    code
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_thread_fini(thread: Object<m0_thread>) {
    require!("m0_thread_fini", thread.t_state.get() == PARKED, "the thread was not joined");
    // The state from which a program may start it again without zeroing it.
    thread.t_func.set(None);
}

/// The structure of the calling thread, never NULL; valid as long as the thread runs.
#[unsafe(no_mangle)]
pub extern "C" fn m0_thread_self() -> Object<m0_thread> {
    if let Some(started) = STARTED.get().get() {
        return started;
    }
    ADOPTED.with(|thread| {
        thread.t_state.set(RUNNING);
        thread.t_handle.set(this_thread());
        // SAFETY: the calling thread's own, which stays until it ends; it changes in cells only.
        unsafe { Object::new(ptr::from_ref(thread).cast_mut()) }
    })
}

/// The handle of the calling thread in the C library.
fn this_thread() -> libc::pthread_t {
    // SAFETY: has no preconditions.
    unsafe { libc::pthread_self() }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_thread_confine(thread: Object<m0_thread>, processors: Object<m0_bitmap>) -> c_int {
    let is_running = thread.t_state.get() == RUNNING;
    require!("m0_thread_confine", is_running, "the thread was not started, or was joined");
    let processors = processors_in(processors.numbers());
    // SAFETY: the handle of a thread that was started and not joined, as was checked.
    unsafe { confine(thread.t_handle.get(), &processors) }
}

/// The processors whose bits are set in the words of a bitmap.
fn processors_in(words: impl Iterator<Item = u64>) -> libc::cpu_set_t {
    let mut set = no_processors();
    let bits = words.enumerate().flat_map(|(index, word)| {
        (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| index * 64 + bit)
    });
    for bit in bits.take_while(|bit| *bit < libc::CPU_SETSIZE as usize) {
        // SAFETY: the bit is in the set, as was checked.
        unsafe { libc::CPU_SET(bit, &mut set) };
    }
    set
}

const fn no_processors() -> libc::cpu_set_t {
    // SAFETY: a set is an array of numbers: zeros are the empty one.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Restricts a thread to these processors. Returns 0 or a negative errno.
///
/// # Safety
/// The thread is not joined.
unsafe fn confine(thread: libc::pthread_t, set: &libc::cpu_set_t) -> c_int {
    // SAFETY: a thread that was not joined, for which the caller vouches, and a set of this size.
    -unsafe { libc::pthread_setaffinity_np(thread, size_of::<libc::cpu_set_t>(), set) }
}

/// Restricts the calling thread to the processors whose bits are set in `words`. Returns 0 or a negative errno.
pub fn confine_this_thread(words: &[u64]) -> c_int {
    // SAFETY: the calling thread, which runs.
    unsafe { confine(this_thread(), &processors_in(words.iter().copied())) }
}

/// The number of processors, which is above the number of every processor that is online.
#[unsafe(no_mangle)]
pub extern "C" fn m0_processor_nr_max() -> usize {
    // SAFETY: has no preconditions.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) }).unwrap_or(1)
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_processors_online(map: Object<m0_bitmap>) {
    let mut set = no_processors();
    // SAFETY: a set of this size, which is there to be written until the call returns.
    unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    m0_bitmap_reset(map);
    for bit in 0..map.b_nr.get().min(libc::CPU_SETSIZE as usize) {
        // SAFETY: the bit is in the set, as was checked.
        m0_bitmap_set(map, bit, unsafe { libc::CPU_ISSET(bit, &set) });
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
        unsafe { (*seen.cast::<Seen>()).thread.store(m0_thread_self().as_ptr(), SeqCst) };
    }

    #[test]
    fn a_thread_runs_unless_its_first_function_fails() {
        for code in [0, -libc::ENOENT] {
            let seen = Seen { init: AtomicI32::new(code), thread: AtomicPtr::default() };
            // SAFETY: everything lives until it is joined.
            unsafe {
                let mut thread = m0_thread::new();
                let (thread, arg) = (Object::new(&raw mut thread), (&raw const seen).cast_mut().cast());
                for _ in 0..2 {
                    let name = Text::of(c"longer than sixteen bytes");
                    assert_eq!(m0_thread_create(thread, Some(init), Some(func), arg, name), code);
                    if code == 0 {
                        assert_eq!(m0_thread_join(thread), 0);
                        assert_eq!(seen.thread.load(SeqCst), thread.as_ptr());
                        let name = thread.t_namebuf.get();
                        assert_eq!(name[14..], [b'x' as c_char, 0]);
                    }
                    assert_eq!(thread.t_state.get(), PARKED);
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
        let other = std::thread::spawn(|| m0_thread_self().as_ptr().addr()).join().unwrap();
        assert_ne!(other, first.as_ptr().addr());
    }

    #[test]
    fn a_thread_that_is_confined_runs_where_it_may() {
        std::thread::spawn(|| {
            let mut word = 0_u64;
            let mut map = m0_bitmap::default();
            map.b_nr.set(64);
            // SAFETY: one word and the bitmap of it, which stay to the end of the test.
            unsafe {
                map.b_words.set(Object::new(&raw mut word));
                m0_processors_online(Object::new(&raw mut map));
            }
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
