//! What the kernel says of links and addresses: that something has changed.
//!
//! No privilege is needed to hear it. What exactly has changed is not read: see the module above.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};
use std::io;
use std::os::fd::OwnedFd;

/// Changes seldom come alone; all that come in this time after the first are looked at together.
const TOGETHER: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// After a look that failed, since no news may come that asks for another.
const ONCE_MORE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// A socket on which the kernel tells of the network namespace of the thread that made it.
#[derive(Debug)]
pub(super) struct News(OwnedFd);

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// There may have been changes.
    Look,
    /// No more.
    End,
}

impl News {
    /// Whatever changes from now on is told. Some containers forbid it.
    pub(super) fn subscribe() -> io::Result<Self> {
        let groups = libc::RTMGRP_LINK | libc::RTMGRP_IPV4_IFADDR | libc::RTMGRP_IPV6_IFADDR;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        bind(&socket, &SocketAddrNetlink::new(0, groups as u32))?;
        Ok(Self(socket))
    }

    /// Waits until something may have changed, or `end` is readable. With `soon` it does not wait for ever.
    pub(super) fn wait(&self, end: &OwnedFd, soon: bool) -> io::Result<Next> {
        let (told, ending) = (PollFd::new(&self.0, PollFlags::IN), PollFd::new(end, PollFlags::IN));
        let mut waited_for = [ending, told];
        wait_for(&mut waited_for, soon.then_some(&ONCE_MORE))?;
        let [ending, told] = &mut waited_for;
        if ending.revents().is_empty() && !told.revents().is_empty() {
            wait_for(std::slice::from_mut(ending), Some(&TOGETHER))?;
            self.read_all()?;
        }
        Ok(if ending.revents().is_empty() { Next::Look } else { Next::End })
    }

    /// Takes all that has come.
    fn read_all(&self) -> io::Result<()> {
        loop {
            // Longer news is cut off.
            match recv(&self.0, &mut [0_u8; 16], RecvFlags::DONTWAIT) {
                // News has been lost; the look that follows finds all of it.
                Ok(_) | Err(Errno::INTR | Errno::NOBUFS) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// A signal ends the wait; then nothing has come.
fn wait_for(waited_for: &mut [PollFd<'_>], patience: Option<&Timespec>) -> io::Result<()> {
    match poll(waited_for, patience) {
        Ok(_) => Ok(()),
        Err(Errno::INTR) => {
            waited_for.iter_mut().for_each(PollFd::clear_revents);
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}
