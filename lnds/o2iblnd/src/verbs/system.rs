//! Errors and file descriptors of the libraries, which are those of the system.

use crate::device::OpenError;
use lnet_core::Errno;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::os::fd::BorrowedFd;

/// The error of a function that has just failed.
pub(super) fn last_errno() -> Errno {
    Errno::from(&std::io::Error::last_os_error())
}

/// The same, as the reason why a device cannot be opened.
pub(super) fn failed(call: &'static str) -> OpenError {
    OpenError::Call { call, errno: last_errno() }
}

/// Makes reads of a library's descriptor return at once.
pub(super) fn set_nonblocking(fd: BorrowedFd<'_>) -> Result<(), Errno> {
    let flags = fcntl_getfl(fd).map_err(|error| Errno::from(&error.into()))?;
    fcntl_setfl(fd, flags | OFlags::NONBLOCK).map_err(|error| Errno::from(&error.into()))
}
