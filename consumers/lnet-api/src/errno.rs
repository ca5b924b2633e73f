//! Error numbers. A service may reply with any, so they are numbers rather than an enumeration.

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
    /// Data could not be transferred.
    IO = EIO;
    /// Try again.
    AGAIN = EAGAIN;
    /// Out of memory.
    NO_MEMORY = ENOMEM;
    /// The object is in use.
    BUSY = EBUSY;
    /// The object exists already.
    EXISTS = EEXIST;
    /// No such target.
    NO_DEVICE = ENODEV;
    /// Invalid argument.
    INVALID = EINVAL;
    /// Protocol violation.
    PROTOCOL = EPROTO;
    /// The operation was cancelled.
    CANCELED = ECANCELED;
    /// A message, or data, is invalid.
    BAD_MESSAGE = EBADMSG;
    /// The reply is too long.
    OVERFLOW = EOVERFLOW;
    /// The operation is not supported.
    NOT_SUPPORTED = EOPNOTSUPP;
    /// No path to the peer.
    HOST_UNREACHABLE = EHOSTUNREACH;
    /// The server does not know the connection.
    NOT_CONNECTED = ENOTCONN;
    /// The network is down.
    NETWORK_DOWN = ENETDOWN;
    /// The node, or the import, is closed.
    SHUTDOWN = ESHUTDOWN;
    /// Timed out.
    TIMED_OUT = ETIMEDOUT;
    /// The operation is in progress, or cannot be executed now.
    IN_PROGRESS = EINPROGRESS;
    /// Whether the operation was executed is not known, and it may not be executed twice.
    UNKNOWN_OUTCOME = ESTALE;
}

impl Errno {
    /// Reads the result of a C function, or a message's status: negative numbers are errors. `None`: no error.
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

    /// Checks the result of a C function: returns the number, if it is not an error.
    pub fn check(code: c_int) -> Result<c_int, Self> {
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
    fn error_numbers_are_converted_from_and_to_c() {
        assert_eq!(Errno::from_c(0), None);
        assert_eq!(Errno::from_c(7), None);
        assert_eq!(Errno::from_c(-libc::ETIMEDOUT), Some(Errno::TIMED_OUT));
        assert_eq!(Errno::TIMED_OUT.to_c(), -libc::ETIMEDOUT);
        assert_eq!(Errno::from_c(c_int::MIN), Some(Errno::IO));
        assert_eq!(format!("{:?}", Errno::PROTOCOL), "EPROTO");
        assert_eq!(Errno::check(3), Ok(3));
    }
}
