//! The common part of all functions of the C API: no panic leaves the library, and errors become C's numbers.
//!
//! An entry point is written as `entry("LNetPut", || { ... })`. A panic inside is a bug of this library: the caller gets `-EIO`, and from
//! then on every entry point refuses with `-ENETDOWN`, because data that was being changed at that moment may be inconsistent.

use crate::backend;
use crate::types::{lnet_handle_eq, lnet_handle_md, lnet_handle_me};
use lnet_core::Errno;
use lnet_log::{LogClass, write_line};
use std::ffi::{c_char, c_int};
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

static POISONED: AtomicBool = AtomicBool::new(false);

/// Runs one call of the API. Refuses it after an earlier panic; logs the result at debug level.
pub(crate) fn entry<T: FromErrno + Debug>(name: &'static str, body: impl FnOnce() -> Result<T, Errno>) -> T {
    if POISONED.load(Ordering::Relaxed) {
        return T::from_errno(Errno::NetworkDown);
    }
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => {
            log::debug!(target: "lnet::api", "{name}: {result:?}");
            if matches!(result, Err(Errno::NetworkDown)) && !backend::has_started() {
                log_early_call(name);
            }
            result.unwrap_or_else(T::from_errno)
        }
        Err(_) => {
            POISONED.store(true, Ordering::Relaxed);
            write_line!(
                LogClass::ApiDisabled,
                "{name}: internal error (panic), see above; please report; further calls fail with ENETDOWN"
            );
            T::from_errno(Errno::Io)
        }
    }
}

/// Logs, once in a process, that a function was called before there was a network. `LNetNIInit` has lines of its own, and the
/// configuration calls need no network of this process.
#[cold]
fn log_early_call(name: &'static str) {
    static LOGGED: AtomicBool = AtomicBool::new(false);
    if name == "LNetNIInit" || !name.starts_with("LNet") || LOGGED.swap(true, Ordering::Relaxed) {
        return;
    }
    lnet_log::install("LNet", log::LevelFilter::Warn);
    write_line!(
        LogClass::NetworkDown,
        "{name}: refused (ENETDOWN); the network of this process is down until LNetNIInit has succeeded"
    );
    lnet_log::close();
}

/// Runs a call that needs no network, such as a conversion of strings. It works after a panic elsewhere, and
/// returns `fallback` if it panics itself.
pub(crate) fn helper<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(fallback)
}

/// A type of result of the C API that can express an error.
pub(crate) trait FromErrno {
    /// The value for `errno`.
    fn from_errno(errno: Errno) -> Self;
}

impl FromErrno for c_int {
    fn from_errno(errno: Errno) -> Self {
        errno.to_c()
    }
}

impl FromErrno for () {
    fn from_errno(_: Errno) -> Self {}
}

impl FromErrno for bool {
    fn from_errno(_: Errno) -> Self {
        false
    }
}

/// A string that the call reads: `char *` where C's prototype has no `const`.
pub(crate) type InString<'a> = lnet_os::c_pointer::Text<'a>;

/// A string that the call reads: `const char *`.
pub(crate) type InConstString<'a> = lnet_os::c_pointer::Text<'a>;

/// Checks the caller's pointer to memory that the call needs or fills.
pub(crate) fn not_null<T>(pointer: *mut T) -> Result<NonNull<T>, Errno> {
    NonNull::new(pointer).ok_or(Errno::Fault)
}

/// The bytes of a C string; `None` for NULL.
///
/// # Safety
/// `string` is NULL or points to a NUL-terminated string that lives and does not change during `'a`.
pub(crate) unsafe fn bytes_of<'a>(string: *const c_char) -> Option<&'a [u8]> {
    if string.is_null() {
        return None;
    }
    // SAFETY: checked for NULL; a string of the program's, which is there and unchanged as long as the result is used (`'a`).
    Some(unsafe { std::ffi::CStr::from_ptr(string) }.to_bytes())
}

impl From<lnet_handle_md> for lnet_core::MdHandle {
    fn from(handle: lnet_handle_md) -> Self {
        Self::from_cookie(handle.cookie)
    }
}

impl From<lnet_handle_me> for lnet_core::MeHandle {
    fn from(handle: lnet_handle_me) -> Self {
        Self::from_cookie(handle.cookie)
    }
}

impl From<lnet_handle_eq> for lnet_core::EqHandle {
    fn from(handle: lnet_handle_eq) -> Self {
        Self::from_cookie(handle.cookie)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_returns_eio_and_later_calls_fail() {
        assert_eq!(entry("f", || Ok::<c_int, _>(3)), 3);
        assert_eq!(entry("f", || Err::<c_int, _>(Errno::Busy)), -libc::EBUSY);
        #[allow(clippy::panic)]
        let broken = entry("f", || -> Result<c_int, Errno> { panic!("on purpose") });
        assert_eq!(broken, -libc::EIO);
        assert_eq!(entry("f", || Ok::<c_int, _>(3)), -libc::ENETDOWN);
        assert_eq!(helper(1, || 2), 2);
        POISONED.store(false, Ordering::Relaxed);
    }
}
