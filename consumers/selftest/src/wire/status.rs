//! The status in replies.

use std::fmt;

/// 0, or a Linux error number above 0 (selftest 11). A reply may have any.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Status(pub u32);

macro_rules! known {
    ($($(#[$doc:meta])* $name:ident = $errno:ident;)*) => {
        impl Status {
            /// Success.
            pub const OK: Self = Self(0);
            $($(#[$doc])* pub const $name: Self = Self(libc::$errno as u32);)*

            const NAMES: &[(Self, &'static str)] = &[(Self::OK, "OK"), $((Self::$name, stringify!($errno)),)*];
        }
    };
}

known! {
    /// The batch or the test in it does not exist, or the test is for another session.
    NOT_FOUND = ENOENT;
    /// The session does not exist.
    NO_SESSION = ESRCH;
    /// A test could not be built.
    NO_MEMORY = ENOMEM;
    /// The node has another session, or the batch runs.
    BUSY = EBUSY;
    /// The node is there already.
    EXISTS = EEXIST;
    /// Parameters are invalid.
    INVALID = EINVAL;
    /// The request has another version, or other features.
    PROTOCOL = EPROTO;
    /// Data is corrupt.
    BAD_MESSAGE = EBADMSG;
    /// Not permitted. In a reply to a stop this counts as success.
    NOT_PERMITTED = EPERM;
}

impl Status {
    /// Whether the status is success.
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::NAMES.iter().find(|(status, _)| status == self) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "status {}", self.0),
        }
    }
}

impl fmt::Display for Status {
    /// The text of the error number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::io::Error::from_raw_os_error(self.0.cast_signed()).fmt(f)
    }
}
