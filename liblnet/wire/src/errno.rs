//! Error numbers as the C API and the kernel's tools know them.

use std::fmt;
use std::io::ErrorKind;

macro_rules! errno {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $c:literal, $text:literal;)*) => {
        /// A Linux error number. [`Errno::to_c`] is what C callers get: the negative number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum Errno { $($(#[$doc])* $name = $number),* }

        impl Errno {
            /// The error with this (positive) number; `None` if LNet does not report it.
            pub const fn from_number(number: i32) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }

            /// The C name, such as `EINVAL`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $c),* }
            }

            /// The text that `strerror` gives.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }
    };
}

errno! {
    /// Operation not permitted.
    NotPermitted = 1, "EPERM", "Operation not permitted";
    /// No such object.
    NotFound = 2, "ENOENT", "No such file or directory";
    /// Interrupted.
    Interrupted = 4, "EINTR", "Interrupted system call";
    /// Input/output error.
    Io = 5, "EIO", "Input/output error";
    /// List too long.
    TooBig = 7, "E2BIG", "Argument list too long";
    /// No child.
    NoChild = 10, "ECHILD", "No child processes";
    /// Try again.
    Again = 11, "EAGAIN", "Resource temporarily unavailable";
    /// Out of memory.
    NoMemory = 12, "ENOMEM", "Cannot allocate memory";
    /// The user lacks the permission.
    Access = 13, "EACCES", "Permission denied";
    /// A pointer cannot be used.
    Fault = 14, "EFAULT", "Bad address";
    /// The object is in use.
    Busy = 16, "EBUSY", "Device or resource busy";
    /// The object exists already.
    Exists = 17, "EEXIST", "File exists";
    /// No such device.
    NoDevice = 19, "ENODEV", "No such device";
    /// Invalid argument.
    Invalid = 22, "EINVAL", "Invalid argument";
    /// The system has no descriptor left.
    TooManyFilesInSystem = 23, "ENFILE", "Too many open files in system";
    /// The process has no descriptor left.
    TooManyFiles = 24, "EMFILE", "Too many open files";
    /// No room left.
    NoSpace = 28, "ENOSPC", "No space left on device";
    /// Broken pipe.
    Pipe = 32, "EPIPE", "Broken pipe";
    /// Out of range.
    OutOfRange = 34, "ERANGE", "Numerical result out of range";
    /// The peer breaks the protocol.
    Protocol = 71, "EPROTO", "Protocol error";
    /// Events were lost.
    Overflow = 75, "EOVERFLOW", "Value too large for defined data type";
    /// The name or address is not unique on the network.
    NotUnique = 76, "ENOTUNIQ", "Name not unique on network";
    /// Too many users.
    TooManyUsers = 87, "EUSERS", "Too many users";
    /// Message too long.
    MessageSize = 90, "EMSGSIZE", "Message too long";
    /// The kind of network is not supported.
    ProtocolNotSupported = 93, "EPROTONOSUPPORT", "Protocol not supported";
    /// The operation is not supported.
    NotSupported = 95, "EOPNOTSUPP", "Operation not supported";
    /// The port or address is in use.
    AddressInUse = 98, "EADDRINUSE", "Address already in use";
    /// This machine has no such address.
    AddressNotAvailable = 99, "EADDRNOTAVAIL", "Cannot assign requested address";
    /// The network is down.
    NetworkDown = 100, "ENETDOWN", "Network is down";
    /// No path to the network.
    NetworkUnreachable = 101, "ENETUNREACH", "Network is unreachable";
    /// This side aborted the connection.
    ConnectionAborted = 103, "ECONNABORTED", "Software caused connection abort";
    /// The peer reset the connection.
    ConnectionReset = 104, "ECONNRESET", "Connection reset by peer";
    /// Shutting down.
    Shutdown = 108, "ESHUTDOWN", "Cannot send after transport endpoint shutdown";
    /// Timed out.
    TimedOut = 110, "ETIMEDOUT", "Connection timed out";
    /// No process listens at the address.
    ConnectionRefused = 111, "ECONNREFUSED", "Connection refused";
    /// No path to the host.
    HostUnreachable = 113, "EHOSTUNREACH", "No route to host";
    /// Already under way.
    Already = 114, "EALREADY", "Operation already in progress";
    /// Cancelled.
    Cancelled = 125, "ECANCELED", "Operation canceled";
}

impl Errno {
    /// Reads the result of a C function: the error with this negative number; [`Errno::Io`] where LNet has none.
    pub const fn from_c(number: i32) -> Self {
        match Self::from_number(number.saturating_neg()) {
            Some(errno) => errno,
            None => Self::Io,
        }
    }

    /// The result that a C function returns: the negative number.
    pub const fn to_c(self) -> i32 {
        -(self as i32)
    }
}

/// The error of a system call, or the nearest one to an error that a program made; [`Errno::Io`] where LNet
/// has no name for it.
impl From<&std::io::Error> for Errno {
    fn from(error: &std::io::Error) -> Self {
        error.raw_os_error().map_or_else(|| of_kind(error.kind()), Self::from_number).unwrap_or(Self::Io)
    }
}

const fn of_kind(kind: ErrorKind) -> Option<Errno> {
    Some(match kind {
        ErrorKind::NotFound => Errno::NotFound,
        ErrorKind::PermissionDenied => Errno::Access,
        ErrorKind::AlreadyExists => Errno::Exists,
        ErrorKind::AddrInUse => Errno::AddressInUse,
        ErrorKind::AddrNotAvailable => Errno::AddressNotAvailable,
        ErrorKind::ConnectionRefused => Errno::ConnectionRefused,
        ErrorKind::ConnectionReset => Errno::ConnectionReset,
        ErrorKind::ConnectionAborted => Errno::ConnectionAborted,
        ErrorKind::TimedOut => Errno::TimedOut,
        ErrorKind::InvalidInput => Errno::Invalid,
        ErrorKind::OutOfMemory => Errno::NoMemory,
        _ => return None,
    })
}

impl From<std::io::Error> for Errno {
    fn from(error: std::io::Error) -> Self {
        Self::from(&error)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::error::Error for Errno {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip() {
        for number in 1..200 {
            if let Some(errno) = Errno::from_number(number) {
                assert_eq!(errno.to_c(), -number);
            }
        }
        assert_eq!(Errno::from_number(2), Some(Errno::NotFound));
        assert_eq!(Errno::HostUnreachable.to_string(), "EHOSTUNREACH");
    }
}
