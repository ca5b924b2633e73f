//! Entry points of the C API: panics, pointers, memory.

use crate::Errno;
use crate::clock::{Clock, SystemClock, Time};
use crate::lnet::{Loan, ProcessId, Region, lnet_process_id};
use crate::message::Name;
use lnet_api::c_pointer::{Out, Text};
use lnet_log::{LogClass, RateLimitedLog};
use lnet_os::owner::Owner;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// The log for panics in calls, which have no service or import whose log could be used.
static PANICS: LazyLock<RateLimitedLog> = LazyLock::new(RateLimitedLog::new);

/// The process that owns the library's threads, between `ptlrpc_init` and the last `ptlrpc_fini`.
pub(super) static OWNER: Owner = Owner::nobody();

/// Runs one call: an error becomes the error value of the function's type, and so does a panic, which is a bug in this library.
/// In a child of `fork` it fails with `-ENETDOWN` until `ptlrpc_init`.
pub(super) fn entry<T: FromErrno>(name: &'static str, body: impl FnOnce() -> Result<T, Errno>) -> T {
    if OWNER.is_ancestor() {
        return T::from_errno(Errno::NetworkDown);
    }
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result.unwrap_or_else(T::from_errno),
        Err(_) => {
            PANICS.write(
                SystemClock.now(),
                LogClass::InternalError,
                name,
                format_args!(
                    "{name}: internal error (panic), see above; the call fails with EIO, please report"
                ),
            );
            T::from_errno(Errno::Io)
        }
    }
}

/// The error value of a C type.
pub(super) trait FromErrno {
    /// The value for `errno`.
    fn from_errno(errno: Errno) -> Self;
}

impl FromErrno for c_int {
    fn from_errno(errno: Errno) -> Self {
        errno.to_c()
    }
}

impl FromErrno for u32 {
    fn from_errno(_: Errno) -> Self {
        0
    }
}

impl FromErrno for u64 {
    fn from_errno(_: Errno) -> Self {
        0
    }
}

impl FromErrno for () {
    fn from_errno(_: Errno) -> Self {}
}

impl<T> FromErrno for *mut T {
    fn from_errno(_: Errno) -> Self {
        std::ptr::null_mut()
    }
}

impl<T> FromErrno for *const T {
    fn from_errno(_: Errno) -> Self {
        std::ptr::null()
    }
}

/// A name or UUID. `EINVAL`: NULL, invalid, or empty.
pub(super) fn name(string: Text<'_>) -> Result<Name, Errno> {
    let text = string.utf8_or(Errno::Invalid)?;
    if text.is_empty() {
        return Err(Errno::Invalid);
    }
    Name::new(text.as_bytes()).map_err(|_| Errno::Invalid)
}

/// Writes a process ID. `EINVAL`: NULL.
pub(super) fn store_process(mut to: Out<'_, lnet_process_id>, id: ProcessId) -> Result<c_int, Errno> {
    to.store(id.to_c().ok_or(Errno::Invalid)?, Errno::Invalid).map(|()| 0)
}

/// Converts milliseconds; 0 is the default: `None`.
pub(super) fn ms(milliseconds: u32) -> Option<Duration> {
    (milliseconds != 0).then(|| Duration::from_millis(milliseconds.into()))
}

/// Returns the end of a wait that begins now; `None` for a negative timeout, which means no end.
pub(super) fn until(timeout_ms: c_int) -> Option<Time> {
    u64::try_from(timeout_ms).ok().map(|ms| SystemClock.now() + Duration::from_millis(ms))
}

/// Memory of the program as a region.
///
/// # Safety
/// It is NULL and empty, or stays valid, and is not accessed otherwise, until the loan has ended.
pub(super) unsafe fn lend(memory: *mut c_void, len: usize) -> Result<(Arc<Region>, Loan), Errno> {
    let start = match NonNull::new(memory.cast::<u8>()) {
        Some(start) => start,
        None if len == 0 => NonNull::dangling(),
        None => return Err(Errno::Invalid),
    };
    // SAFETY: not NULL unless `len` is 0; `len` bytes of the program's, which are there, and which it leaves alone, until the loan has ended.
    let (region, loan) = unsafe { Region::lent(start, len) };
    Ok((Arc::new(region), loan))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_the_error_value_of_the_type() {
        #[allow(clippy::panic)]
        let broken = entry("f", || -> Result<c_int, Errno> { panic!("on purpose") });
        assert_eq!(broken, -libc::EIO);
        assert_eq!(entry("f", || Ok::<c_int, _>(3)), 3);
        assert_eq!(entry("f", || Err::<c_int, _>(Errno::Busy)), -libc::EBUSY);
        assert!(entry("f", || Err::<*mut u8, _>(Errno::Busy)).is_null());
        assert_eq!(entry("f", || Err::<u64, _>(Errno::Busy)), 0);
    }

    #[test]
    fn null_is_an_invalid_argument() {
        // SAFETY: NULL is allowed by each of them.
        unsafe {
            assert_eq!(lend(std::ptr::null_mut(), 1).err(), Some(Errno::Invalid));
            assert!(lend(std::ptr::null_mut(), 0).is_ok());
            assert_eq!(name(Text::new(std::ptr::null())), Err(Errno::Invalid));
        }
        assert_eq!(name(Text::of(c"")), Err(Errno::Invalid));
        assert_eq!(name(Text::of(c"a name of more than thirty-eight bytes!")), Err(Errno::Invalid));
    }

    #[test]
    fn times_of_zero_are_the_default_and_negative_ones_without_end() {
        assert_eq!((ms(0), ms(1500)), (None, Some(Duration::from_millis(1500))));
        assert_eq!(until(-1), None);
        assert!(until(0).is_some_and(|until| until <= SystemClock.now()));
    }
}
