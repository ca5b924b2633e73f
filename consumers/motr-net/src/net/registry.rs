//! The transports that a program can choose from (motr-net 1.1).

use super::types::m0_net_xprt;
use crate::contract::require;
use crate::object::Object;
use crate::sync::{Mutex, lock};
use std::ffi::c_int;
use std::ptr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The maximum number of transports.
const SLOTS: usize = 4;

/// The transports, followed by NULLs; the last element is always NULL.
static TRANSPORTS: [AtomicPtr<m0_net_xprt>; SLOTS + 1] =
    [const { AtomicPtr::new(ptr::null_mut()) }; SLOTS + 1];
static DEFAULT: AtomicPtr<m0_net_xprt> = AtomicPtr::new(ptr::null_mut());
/// Held while the table of transports is changed.
static CHANGE: LazyLock<Mutex<()>> = LazyLock::new(Mutex::default);

/// The transport in an element of the table.
fn transport_in(slot: &AtomicPtr<m0_net_xprt>) -> Object<m0_net_xprt> {
    // SAFETY: the functions of this file store the addresses of objects; a transport stays at least until it is deregistered.
    unsafe { Object::new(slot.load(Ordering::Acquire)) }
}

fn all() -> impl Iterator<Item = Object<m0_net_xprt>> {
    TRANSPORTS.iter().map_while(|slot| transport_in(slot).get())
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_xprt_register(xprt: Object<m0_net_xprt>) {
    require!("m0_net_xprt_register", !xprt.is_null(), "there is no transport");
    let _change = lock(&CHANGE);
    if all().any(|it| it == xprt) {
        return;
    }
    let count = all().count();
    require!("m0_net_xprt_register", count < SLOTS, "there are {SLOTS} transports already");
    TRANSPORTS[count].store(xprt.as_ptr(), Ordering::Release);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_xprt_deregister(xprt: Object<m0_net_xprt>) {
    let _change = lock(&CHANGE);
    let left: Vec<_> = all().filter(|it| *it != xprt).collect();
    for (index, slot) in TRANSPORTS.iter().enumerate() {
        slot.store(left.get(index).copied().unwrap_or_default().as_ptr(), Ordering::Release);
    }
    if transport_in(&DEFAULT) == xprt {
        DEFAULT.store(left.first().copied().unwrap_or_default().as_ptr(), Ordering::Release);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_xprt_default_set(xprt: Object<m0_net_xprt>) {
    DEFAULT.store(xprt.as_ptr(), Ordering::Release);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_xprt_default_get() -> Object<m0_net_xprt> {
    transport_in(&DEFAULT)
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
pub extern "C" fn m0_net_check_xprt(xprt: Object<m0_net_xprt>) -> bool {
    !xprt.is_null() && all().any(|it| it == xprt)
}

#[unsafe(no_mangle)]
#[expect(clippy::disallowed_macros, reason = "the program asks for this text, and waits until it is printed")]
pub extern "C" fn m0_net_print_xprt() {
    for xprt in all() {
        let name = xprt.nx_name.get().unwrap_or_default();
        eprintln!("{}", name.to_string_lossy());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_api::c_pointer::Text;

    #[test]
    fn registered_transports_stand_one_behind_the_other() {
        let transport = || m0_net_xprt { nx_name: Text::of(c"a test's"), nx_ops: Object::NULL };
        let (first, second) = (transport(), transport());
        let (first, second) = (Object::of_test(&first), Object::of_test(&second));
        m0_net_xprt_register(first);
        m0_net_xprt_register(second);
        m0_net_xprt_register(first);
        m0_net_xprt_default_set(first);
        assert!(m0_net_xprt_nr() >= 2 && m0_net_check_xprt(second));
        m0_net_xprt_deregister(first);
        assert!(!m0_net_check_xprt(first));
        assert!(m0_net_xprt_default_get() != first);
        m0_net_xprt_deregister(second);
        assert!(!m0_net_check_xprt(Object::NULL));
    }
}
