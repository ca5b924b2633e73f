//! An epoll set whose waiting threads other threads can wake.

use crate::wakeups::Signals;
use lnet_os::descriptor::{new_epoll, new_eventfd};
use rustix::event::epoll;
use std::io;
use std::os::fd::OwnedFd;

/// Token of the wake-up of any thread among the set's events.
pub(crate) const WAKE: u64 = u64::MAX;
/// The token of the wake-up of the set's owner.
pub(crate) const WAKE_OWNER: u64 = u64::MAX - 1;

/// Wake-up of one thread that waits in its epoll set.
#[derive(Debug)]
pub(crate) struct Wake(OwnedFd);

/// Makes an epoll set, and the wake-up of a thread that waits in it.
pub(crate) fn epoll_with_wake() -> io::Result<(OwnedFd, Wake)> {
    let epoll = new_epoll()?;
    // Edge-triggered: each write to it is an event, and no thread need read it.
    let wake = watched_eventfd(&epoll, WAKE, epoll::EventFlags::IN | epoll::EventFlags::ET)?;
    Ok((epoll, Wake(wake)))
}

impl Wake {
    /// Wakes the thread that waits. May be called on any thread.
    pub(crate) fn wake(&self) {
        // The write fails only when the counter is full, and then the event is there already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

/// Wake-ups of the threads that share one set: one for any of them, and one for its owner.
#[derive(Debug)]
pub(crate) struct SharedWake {
    any: Wake,
    owner: Wake,
}

/// Makes an epoll set that several threads wait in, and its wake-ups.
pub(crate) fn shared_epoll() -> io::Result<(OwnedFd, SharedWake)> {
    let (epoll, any) = epoll_with_wake()?;
    // Level-triggered: every thread sees it until the owner has read it.
    let owner = Wake(watched_eventfd(&epoll, WAKE_OWNER, epoll::EventFlags::IN)?);
    Ok((epoll, SharedWake { any, owner }))
}

impl Signals for SharedWake {
    fn wake_any(&self) {
        self.any.wake();
    }

    fn wake_owner(&self) {
        self.owner.wake();
    }

    fn clear_owner(&self) {
        // The read fails only when there is nothing to read.
        let _ = rustix::io::read(&self.owner.0, &mut [0; 8]);
    }
}

fn watched_eventfd(epoll: &OwnedFd, token: u64, flags: epoll::EventFlags) -> io::Result<OwnedFd> {
    let fd = new_eventfd()?;
    epoll::add(epoll, &fd, epoll::EventData::new_u64(token), flags)?;
    Ok(fd)
}
