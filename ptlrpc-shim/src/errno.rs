//! Error numbers. A service may answer with any, so they are numbers and no closed list.

use std::ffi::c_int;
use std::fmt;
use std::num::NonZeroI32;

/// A Linux error number, above 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(NonZeroI32);

macro_rules! known {
    ($($(#[$doc:meta])* $name:ident = $number:ident;)*) => {
        impl Errno {
            $($(#[$doc])* pub const $name: Self = match NonZeroI32::new(libc::$number) {
                Some(number) => Self(number),
                None => unreachable!(),
            };)*

            const NAMES: &[(Self, &'static str)] = &[$((Self::$name, stringify!($number)),)*];
        }
    };
}

known! {
    /// No such object.
    NOT_FOUND = ENOENT;
    /// Interrupted.
    INTERRUPTED = EINTR;
    /// The memory could not be moved.
    IO = EIO;
    /// Try again.
    AGAIN = EAGAIN;
    /// Out of memory.
    NO_MEMORY = ENOMEM;
    /// In use.
    BUSY = EBUSY;
    /// There is one already.
    EXISTS = EEXIST;
    /// No such target.
    NO_DEVICE = ENODEV;
    /// Invalid argument.
    INVALID = EINVAL;
    /// Not what was agreed on.
    PROTOCOL = EPROTO;
    /// The answer is longer than there is room for it.
    OVERFLOW = EOVERFLOW;
    /// Nobody serves that.
    NOT_SUPPORTED = EOPNOTSUPP;
    /// There is no way to the peer.
    HOST_UNREACHABLE = EHOSTUNREACH;
    /// The server does not know this client.
    NOT_CONNECTED = ENOTCONN;
    /// There is no network.
    NETWORK_DOWN = ENETDOWN;
    /// The node is ending.
    SHUTDOWN = ESHUTDOWN;
    /// Not in time.
    TIMED_OUT = ETIMEDOUT;
    /// The server works on it already, or cannot now.
    IN_PROGRESS = EINPROGRESS;
    /// Whether it was done is not known, and it may not be done twice.
    UNKNOWN_OUTCOME = ESTALE;
}

impl Errno {
    /// That of a C function or a message: negative numbers are errors. `None` where it is not.
    pub const fn from_c(code: c_int) -> Option<Self> {
        if code >= 0 {
            return None;
        }
        match code.checked_neg() {
            Some(number) => match NonZeroI32::new(number) {
                Some(number) => Some(Self(number)),
                None => None,
            },
            None => Some(Self::IO),
        }
    }

    /// The negative number.
    pub const fn to_c(self) -> c_int {
        -self.0.get()
    }

    /// What a C function returned, if it is no error.
    pub(crate) fn check(code: c_int) -> Result<c_int, Self> {
        Self::from_c(code).map_or(Ok(code), Err)
    }
}

impl From<lnet_wire::Errno> for Errno {
    fn from(errno: lnet_wire::Errno) -> Self {
        Self::from_c(errno.to_c()).unwrap_or(Self::IO)
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::NAMES.iter().find(|(errno, _)| errno == self) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "errno {}", self.0),
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::io::Error::from_raw_os_error(self.0.get()).fmt(f)
    }
}

impl std::error::Error for Errno {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_number_comes_from_c_and_goes_there() {
        assert_eq!(Errno::from_c(0), None);
        assert_eq!(Errno::from_c(7), None);
        assert_eq!(Errno::from_c(-libc::ETIMEDOUT), Some(Errno::TIMED_OUT));
        assert_eq!(Errno::TIMED_OUT.to_c(), -libc::ETIMEDOUT);
        assert_eq!(Errno::from_c(c_int::MIN), Some(Errno::IO));
        assert_eq!(format!("{:?}", Errno::PROTOCOL), "EPROTO");
        assert_eq!(Errno::check(3), Ok(3));
    }
}
