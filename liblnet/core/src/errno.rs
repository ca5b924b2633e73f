//! Error numbers as the C API and the kernel's tools know them.

use std::fmt;

macro_rules! errno {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $c:literal;)*) => {
        /// A Linux error number. [`Errno::to_c`] is what C callers get: the negative number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum Errno { $($(#[$doc])* $name = $number),* }

        impl Errno {
            /// The error with this (positive) number, if it is one that LNet reports.
            pub const fn from_number(number: i32) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }

            /// The C name, such as `EINVAL`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $c),* }
            }
        }
    };
}

errno! {
    /// Operation not permitted.
    NotPermitted = 1, "EPERM";
    /// No such object.
    NotFound = 2, "ENOENT";
    /// Interrupted.
    Interrupted = 4, "EINTR";
    /// Input/output error.
    Io = 5, "EIO";
    /// List too long.
    TooBig = 7, "E2BIG";
    /// Out of memory.
    NoMemory = 12, "ENOMEM";
    /// Not allowed to this user.
    Access = 13, "EACCES";
    /// A pointer that cannot be used.
    Fault = 14, "EFAULT";
    /// In use.
    Busy = 16, "EBUSY";
    /// There is one already.
    Exists = 17, "EEXIST";
    /// No such device.
    NoDevice = 19, "ENODEV";
    /// Invalid argument.
    Invalid = 22, "EINVAL";
    /// Broken pipe.
    Pipe = 32, "EPIPE";
    /// The peer breaks the protocol.
    Protocol = 71, "EPROTO";
    /// Events were lost.
    Overflow = 75, "EOVERFLOW";
    /// Message too long.
    MessageSize = 90, "EMSGSIZE";
    /// That kind of network is not supported.
    ProtocolNotSupported = 93, "EPROTONOSUPPORT";
    /// Not supported (yet).
    NotSupported = 95, "EOPNOTSUPP";
    /// The port or address is in use.
    AddressInUse = 98, "EADDRINUSE";
    /// This machine has no such address.
    AddressNotAvailable = 99, "EADDRNOTAVAIL";
    /// The network is down.
    NetworkDown = 100, "ENETDOWN";
    /// No way to that network.
    NetworkUnreachable = 101, "ENETUNREACH";
    /// The connection was broken off on this side.
    ConnectionAborted = 103, "ECONNABORTED";
    /// The connection was broken off by the peer.
    ConnectionReset = 104, "ECONNRESET";
    /// Shutting down.
    Shutdown = 108, "ESHUTDOWN";
    /// Timed out.
    TimedOut = 110, "ETIMEDOUT";
    /// Nobody listens there.
    ConnectionRefused = 111, "ECONNREFUSED";
    /// No way to that host.
    HostUnreachable = 113, "EHOSTUNREACH";
    /// Already under way.
    Already = 114, "EALREADY";
    /// Cancelled.
    Cancelled = 125, "ECANCELED";
}

impl Errno {
    /// What a C function returns: the negative number.
    pub const fn to_c(self) -> i32 {
        -(self as i32)
    }
}

/// What went wrong with a system call, or [`Errno::Io`] where LNet has no name for it.
impl From<&std::io::Error> for Errno {
    fn from(error: &std::io::Error) -> Self {
        error.raw_os_error().and_then(Self::from_number).unwrap_or(Self::Io)
    }
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
    fn numbers_go_there_and_back() {
        for number in 1..200 {
            if let Some(errno) = Errno::from_number(number) {
                assert_eq!(errno.to_c(), -number);
            }
        }
        assert_eq!(Errno::from_number(2), Some(Errno::NotFound));
        assert_eq!(Errno::HostUnreachable.to_string(), "EHOSTUNREACH");
    }
}
