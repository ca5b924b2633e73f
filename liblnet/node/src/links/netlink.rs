//! A netlink socket that becomes readable when a link or an address of the machine has changed.
//!
//! The socket needs no privilege. The contents of the messages are not read: see the parent module.

use lnet_os::descriptor::above_standard;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};
use std::io;
use std::os::fd::OwnedFd;

/// The time after the first change within which further ones count as part of it: changes come in groups.
const DEBOUNCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// The interval after a failed listing: possibly no further message triggers one.
const RETRY_INTERVAL: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// A netlink socket of the network namespace of the thread that created it.
#[derive(Debug)]
pub(super) struct NetlinkSocket(OwnedFd);

/// The reason why [`NetlinkSocket::wait`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wakeup {
    /// Links or addresses may have changed.
    Changed,
    /// The node shuts down.
    Shutdown,
}

impl NetlinkSocket {
    /// Subscribes to changes of links and addresses. Some containers forbid this.
    #[expect(clippy::disallowed_methods, reason = "the number is seen to here")]
    pub(super) fn subscribe() -> io::Result<Self> {
        let groups = libc::RTMGRP_LINK | libc::RTMGRP_IPV4_IFADDR | libc::RTMGRP_IPV6_IFADDR;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = above_standard(socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?)?;
        bind(&socket, &SocketAddrNetlink::new(0, groups as u32))?;
        Ok(Self(socket))
    }

    /// Waits until links or addresses may have changed, or `end` is readable; with `retry` at most [`RETRY_INTERVAL`].
    pub(super) fn wait(&self, end: &OwnedFd, retry: bool) -> io::Result<Wakeup> {
        let (netlink, ending) = (PollFd::new(&self.0, PollFlags::IN), PollFd::new(end, PollFlags::IN));
        let mut waited_for = [ending, netlink];
        wait_for(&mut waited_for, retry.then_some(&RETRY_INTERVAL))?;
        let [ending, netlink] = &mut waited_for;
        if ending.revents().is_empty() && !netlink.revents().is_empty() {
            wait_for(std::slice::from_mut(ending), Some(&DEBOUNCE))?;
            self.read_all()?;
        }
        Ok(if ending.revents().is_empty() { Wakeup::Changed } else { Wakeup::Shutdown })
    }

    /// Reads and drops all messages.
    fn read_all(&self) -> io::Result<()> {
        loop {
            // The rest of a longer message is dropped.
            match recv(&self.0, &mut [0_u8; 16], RecvFlags::DONTWAIT) {
                // Messages were lost; the listing that follows has all changes.
                Ok(_) | Err(Errno::INTR | Errno::NOBUFS) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Polls the descriptors. A signal ends the wait; then no event is reported.
fn wait_for(waited_for: &mut [PollFd<'_>], timeout: Option<&Timespec>) -> io::Result<()> {
    match poll(waited_for, timeout) {
        Ok(_) => Ok(()),
        Err(Errno::INTR) => {
            waited_for.iter_mut().for_each(PollFd::clear_revents);
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}
