//! An epoll set whose waiting thread other threads can wake.

use rustix::event::{EventfdFlags, epoll, eventfd};
use std::io;
use std::os::fd::OwnedFd;

/// Names the wake-up among the set's events.
pub(crate) const WAKE: u64 = u64::MAX;

/// Wakes one thread that waits in the set it was made with.
#[derive(Debug)]
pub(crate) struct Wake(OwnedFd);

/// A set, and what wakes who waits in it.
pub(crate) fn epoll_with_wake() -> io::Result<(OwnedFd, Wake)> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    // Edge-triggered: each write to it is an event, and nobody need read it.
    let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
    epoll::add(&epoll, &wake, epoll::EventData::new_u64(WAKE), flags)?;
    Ok((epoll, Wake(wake)))
}

impl Wake {
    /// From any thread.
    pub(crate) fn wake(&self) {
        // It fails only when the counter is full, and then the event is there already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}
