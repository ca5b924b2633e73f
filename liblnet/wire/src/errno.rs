//! Error numbers as the C API and the kernel's tools know them.

use std::fmt;
use std::io::ErrorKind;
use std::num::NonZeroI32;

/// A Linux error number, above 0. [`Errno::to_c`] is what C callers get: the negative number.
///
/// The numbers that LNet and the programs on it use have names, which may stand in patterns like the variants of an enum. A reply to
/// an RPC may carry any other number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(NonZeroI32);

macro_rules! errno {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $c:literal, $text:literal;)*) => {
        #[allow(non_upper_case_globals, reason = "these are used like the variants of an enum")]
        impl Errno {
            $($(#[$doc])* pub const $name: Self = match NonZeroI32::new($number) {
                Some(number) => Self(number),
                None => unreachable!(),
            };)*

            /// The errors that have names, in the order of their numbers.
            pub const NAMED: &[Self] = &[$(Self::$name),*];

            /// The error with this (positive) number, if it is one that has a name.
            pub const fn from_number(number: i32) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }

            /// The C name, such as `EINVAL`; for an error that has no name here, `an unnamed error`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $c,)* _ => "an unnamed error" }
            }

            /// The text that `strerror` gives; for an error without a name, `Unknown error`.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* _ => "Unknown error" }
            }

            const fn constant(self) -> Option<&'static str> {
                match self { $(Self::$name => Some(stringify!($name)),)* _ => None }
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
    /// Too much data for one operation.
    FileTooBig = 27, "EFBIG", "File too large";
    /// No room left.
    NoSpace = 28, "ENOSPC", "No space left on device";
    /// Broken pipe.
    Pipe = 32, "EPIPE", "Broken pipe";
    /// Out of range.
    OutOfRange = 34, "ERANGE", "Numerical result out of range";
    /// No such function.
    NoFunction = 38, "ENOSYS", "Function not implemented";
    /// Invalid request.
    BadRequest = 53, "EBADR", "Invalid request descriptor";
    /// There are no data.
    NoData = 61, "ENODATA", "No data available";
    /// The time was over before the operation began.
    Expired = 62, "ETIME", "Timer expired";
    /// The peer breaks the protocol.
    Protocol = 71, "EPROTO", "Protocol error";
    /// A message, or its data, is invalid.
    BadMessage = 74, "EBADMSG", "Bad message";
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
    /// There is no connection.
    NotConnected = 107, "ENOTCONN", "Transport endpoint is not connected";
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
    /// In progress, or cannot be executed now.
    InProgress = 115, "EINPROGRESS", "Operation now in progress";
    /// Whether the operation was executed is not known, and it may not be executed twice.
    Stale = 116, "ESTALE", "Stale file handle";
    /// Cancelled.
    Cancelled = 125, "ECANCELED", "Operation canceled";
}

impl Errno {
    /// Reads the result of a C function: the error with this negative number; [`Errno::Io`] where it has no name.
    pub const fn from_c(number: i32) -> Self {
        match Self::from_number(number.saturating_neg()) {
            Some(errno) => errno,
            None => Self::Io,
        }
    }

    /// Reads the result of a C function, or the status of a message: any negative number is an error. `None`: no error.
    pub const fn from_status(code: i32) -> Option<Self> {
        if code >= 0 {
            return None;
        }
        match NonZeroI32::new(code.saturating_neg()) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Checks the result of a C function: returns the number, if it is not an error.
    pub const fn check(code: i32) -> Result<i32, Self> {
        match Self::from_status(code) {
            Some(errno) => Err(errno),
            None => Ok(code),
        }
    }

    /// The number, above 0.
    pub const fn number(self) -> i32 {
        self.0.get()
    }

    /// The result that a C function returns: the negative number.
    pub const fn to_c(self) -> i32 {
        -self.0.get()
    }

    /// The result that a C function returns for `result`: 0 if that is no error.
    pub const fn to_c_result(result: Result<(), Self>) -> i32 {
        match result {
            Ok(()) => 0,
            Err(errno) => errno.to_c(),
        }
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
        match self.constant() {
            Some(_) => f.write_str(self.name()),
            None => write!(f, "errno {}", self.0),
        }
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.constant() {
            Some(name) => f.write_str(name),
            None => write!(f, "Errno({})", self.0),
        }
    }
}

impl std::error::Error for Errno {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip() {
        for errno in Errno::NAMED {
            assert_eq!(Errno::from_number(errno.number()), Some(*errno));
            assert_eq!(Errno::from_c(errno.to_c()), *errno);
            assert_eq!(Errno::from_status(errno.to_c()), Some(*errno));
        }
        assert!(Errno::NAMED.is_sorted_by_key(|errno| errno.number()));
        assert_eq!(Errno::from_number(2), Some(Errno::NotFound));
        assert_eq!(Errno::HostUnreachable.to_string(), "EHOSTUNREACH");
        assert_eq!(format!("{:?}", Errno::HostUnreachable), "HostUnreachable");
    }

    #[test]
    fn a_status_may_be_any_error_number() {
        let table =
            [(0, None), (7, None), (-110, Some(110)), (-4000, Some(4000)), (i32::MIN, Some(i32::MAX))];
        for (code, number) in table {
            assert_eq!(Errno::from_status(code).map(Errno::number), number, "{code}");
            assert_eq!(Errno::check(code).map_err(Errno::number), number.map_or(Ok(code), Err), "{code}");
        }
        assert_eq!(Errno::from_status(-4000).map(|errno| errno.to_string()).as_deref(), Some("errno 4000"));
        assert_eq!(Errno::from_c(-4000), Errno::Io);
        assert_eq!(Errno::to_c_result(Err(Errno::TimedOut)), -110);
        assert_eq!(Errno::to_c_result(Ok(())), 0);
    }
}
