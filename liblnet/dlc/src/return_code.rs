//! The return code of a DLC call.

use lnet_wire::Errno;
use std::fmt;

/// The result of a DLC call as C sees it: 0, a code of the library, or the negative errno of an error
/// that LNet found. The library's codes and errnos overlap (dlc 1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct ReturnCode(pub i32);

impl ReturnCode {
    /// Success; also if there was nothing to do.
    pub const OK: Self = Self(0);
    /// `LUSTRE_CFG_RC_BAD_PARAM`: a parameter that cannot be read or is not allowed.
    pub const BAD_PARAM: Self = Self(-1);
    /// `LUSTRE_CFG_RC_MISSING_PARAM`: a parameter is missing.
    pub const MISSING_PARAM: Self = Self(-2);
    /// `LUSTRE_CFG_RC_OUT_OF_RANGE_PARAM`: a number is out of its range.
    pub const OUT_OF_RANGE: Self = Self(-3);
    /// `LUSTRE_CFG_RC_OUT_OF_MEM`: memory is exhausted.
    pub const OUT_OF_MEMORY: Self = Self(-4);
    /// `LUSTRE_CFG_RC_GENERIC_ERR`: a tunable refused a value.
    pub const GENERIC: Self = Self(-5);
    /// `LUSTRE_CFG_RC_NO_MATCH`: there is no such tunable.
    pub const NO_MATCH: Self = Self(-6);

    /// Whether the call succeeded.
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }

    /// The exit code of a process that ends with this result: the lowest eight bits.
    pub const fn exit_code(self) -> u8 {
        self.0 as u8
    }

    /// This code if it is a failure, else `next`.
    pub const fn or(self, next: Self) -> Self {
        if self.is_ok() { next } else { self }
    }
}

impl From<Errno> for ReturnCode {
    fn from(errno: Errno) -> Self {
        Self(errno.to_c())
    }
}

impl fmt::Display for ReturnCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
