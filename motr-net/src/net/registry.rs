//! The transports that a program can choose from (motr-net 1.1).

use super::types::m0_net_xprt;
use crate::contract::require;
use crate::sync::{Mutex, lock};
use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// How many there can be.
const SLOTS: usize = 4;

/// The transports first, then NULLs, of which the last is never anything else.
static TRANSPORTS: [AtomicPtr<m0_net_xprt>; SLOTS + 1] =
    [const { AtomicPtr::new(ptr::null_mut()) }; SLOTS + 1];
static DEFAULT: AtomicPtr<m0_net_xprt> = AtomicPtr::new(ptr::null_mut());
/// Held while the others are changed.
static CHANGE: LazyLock<Mutex<()>> = LazyLock::new(Mutex::default);

fn all() -> impl Iterator<Item = *mut m0_net_xprt> {
    TRANSPORTS.iter().map(|slot| slot.load(Ordering::Acquire)).take_while(|it| !it.is_null())
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_xprt_register(xprt: *const m0_net_xprt) {
    require!("m0_net_xprt_register", !xprt.is_null(), "there is no transport");
    let _change = lock(&CHANGE);
    if all().any(|it| ptr::eq(it, xprt)) {
        return;
    }
    let count = all().count();
    require!("m0_net_xprt_register", count < SLOTS, "there are {SLOTS} transports already");
    TRANSPORTS[count].store(xprt.cast_mut(), Ordering::Release);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_xprt_deregister(xprt: *const m0_net_xprt) {
    let _change = lock(&CHANGE);
    let left: Vec<_> = all().filter(|it| !ptr::eq(*it, xprt)).collect();
    for (index, slot) in TRANSPORTS.iter().enumerate() {
        slot.store(left.get(index).copied().unwrap_or(ptr::null_mut()), Ordering::Release);
    }
    if ptr::eq(DEFAULT.load(Ordering::Acquire), xprt) {
        DEFAULT.store(left.first().copied().unwrap_or(ptr::null_mut()), Ordering::Release);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_xprt_default_set(xprt: *const m0_net_xprt) {
    DEFAULT.store(xprt.cast_mut(), Ordering::Release);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_xprt_default_get() -> *mut m0_net_xprt {
    DEFAULT.load(Ordering::Acquire)
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_all_xprt_get() -> *mut *mut m0_net_xprt {
    TRANSPORTS[0].as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_xprt_nr() -> c_int {
    all().count() as c_int
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_check_xprt(xprt: *const m0_net_xprt) -> bool {
    !xprt.is_null() && all().any(|it| ptr::eq(it, xprt))
}

#[unsafe(no_mangle)]
#[expect(clippy::disallowed_macros, reason = "the program asks for this text, and waits until it is printed")]
pub extern "C" fn m0_net_print_xprt() {
    for xprt in all() {
        // SAFETY: a registered transport is valid, and its name a string.
        let name = unsafe { CStr::from_ptr((*xprt).nx_name) };
        eprintln!("{}", name.to_string_lossy());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_transports_stand_one_behind_the_other() {
        let transport = || m0_net_xprt { nx_name: c"a test's".as_ptr(), nx_ops: ptr::null() };
        let (first, second) = (transport(), transport());
        m0_net_xprt_register(&raw const first);
        m0_net_xprt_register(&raw const second);
        m0_net_xprt_register(&raw const first);
        m0_net_xprt_default_set(&raw const first);
        assert!(m0_net_xprt_nr() >= 2 && m0_net_check_xprt(&raw const second));
        m0_net_xprt_deregister(&raw const first);
        assert!(!m0_net_check_xprt(&raw const first));
        assert!(!ptr::eq(m0_net_xprt_default_get(), &raw const first));
        m0_net_xprt_deregister(&raw const second);
        assert!(!m0_net_check_xprt(ptr::null()));
    }
}
