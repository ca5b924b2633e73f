//! Error numbers, which the C functions return as negative numbers.

use std::ffi::c_int;
use std::fmt;

/// A Linux error number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(c_int);

impl Errno {
    /// The operation does not fit the kind of the descriptor.
    pub const NOT_PERMITTED: Self = Self(libc::EPERM);
    /// No such address on this node.
    pub const NOT_FOUND: Self = Self(libc::ENOENT);
    /// Out of memory.
    pub const NO_MEMORY: Self = Self(libc::ENOMEM);
    /// Invalid argument.
    pub const INVALID: Self = Self(libc::EINVAL);
    /// The data or the fragments are more than fit.
    pub const TOO_BIG: Self = Self(libc::EFBIG);
    /// Fragments inside a buffer do not fill their pages.
    pub const BAD_FRAGMENTS: Self = Self(libc::EBADR);
    /// The transport has no such function.
    pub const NOT_SUPPORTED: Self = Self(libc::ENOSYS);
    /// The deadline of the operation had passed before it began.
    pub const DEADLINE_PASSED: Self = Self(libc::ETIME);
    /// The deadline of an operation passed before it was complete.
    pub const TIMED_OUT: Self = Self(libc::ETIMEDOUT);
    /// The operation was cancelled.
    pub const CANCELED: Self = Self(libc::ECANCELED);
    /// Another transfer machine has the address.
    pub const ADDRESS_IN_USE: Self = Self(libc::EADDRINUSE);
    /// No address is left.
    pub const NO_ADDRESS_LEFT: Self = Self(libc::EADDRNOTAVAIL);
    /// No slot is left.
    pub const NO_SPACE: Self = Self(libc::ENOSPC);

    /// Converts the return value of a C function, where a negative number is an error.
    pub fn check(code: c_int) -> Result<c_int, Self> {
        if code >= 0 { Ok(code) } else { Err(Self(code.saturating_neg())) }
    }

    /// The negative number, which C functions return.
    pub const fn to_c(self) -> c_int {
        -self.0
    }

    /// Converts `result` to the return value of a C function: 0 or the negative error number.
    pub fn to_c_result(result: Result<(), Self>) -> c_int {
        result.map_or_else(Self::to_c, |()| 0)
    }
}

impl From<std::io::Error> for Errno {
    fn from(error: std::io::Error) -> Self {
        Self(error.raw_os_error().filter(|number| *number > 0).unwrap_or(libc::EIO))
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "errno {} ({})", self.0, std::io::Error::from_raw_os_error(self.0))
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::io::Error::from_raw_os_error(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_numbers_are_negative_in_c() {
        for (code, expected) in [(0, Ok(0)), (7, Ok(7)), (-libc::EINVAL, Err(Errno::INVALID))] {
            assert_eq!(Errno::check(code), expected, "{code}");
        }
        assert_eq!(Errno::check(c_int::MIN).map_err(|e| e.to_c() < 0), Err(true));
        assert_eq!(Errno::to_c_result(Err(Errno::TIMED_OUT)), -libc::ETIMEDOUT);
        assert_eq!(Errno::to_c_result(Ok(())), 0);
    }
}
