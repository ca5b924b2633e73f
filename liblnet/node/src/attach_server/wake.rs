//! Waking a thread that waits for an eventfd.

use std::os::fd::OwnedFd;

/// Makes an eventfd readable.
pub(super) fn wake(eventfd: &OwnedFd) {
    // A counter that is full wakes as well.
    _ = rustix::io::write(eventfd, &1_u64.to_ne_bytes());
}
