//! Descriptors that stay open.

use rustix::event::{EventfdFlags, epoll, eventfd};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;

/// The lowest number that is not one of the standard input, output and error.
const FIRST: RawFd = 3;

/// The same file under a number above 2, close-on-exec. In a program that has closed one of its standard files, the
/// system gives that number to whatever is opened next, and what the program prints would be sent to a peer. From any thread.
pub fn above_standard<T: AsFd + From<OwnedFd>>(descriptor: T) -> io::Result<T> {
    if descriptor.as_fd().as_raw_fd() >= FIRST {
        return Ok(descriptor);
    }
    Ok(rustix::io::fcntl_dupfd_cloexec(&descriptor, FIRST)?.into())
}

/// A set of descriptors to be waited for.
pub fn new_epoll() -> io::Result<OwnedFd> {
    above_standard(epoll::create(epoll::CreateFlags::CLOEXEC)?)
}

/// A counter that wakes who waits for it; non-blocking.
pub fn new_eventfd() -> io::Result<OwnedFd> {
    above_standard(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

/// A Unix socket that listens at a path.
pub fn listen_unix(path: &Path) -> io::Result<UnixListener> {
    above_standard(UnixListener::bind(path)?)
}

/// The next connection of a listening Unix socket.
pub fn accept_unix(listener: &UnixListener) -> io::Result<UnixStream> {
    above_standard(listener.accept()?.0)
}

/// A connection to the Unix socket at a path.
pub fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    // A signal handler of the program may end the wait for a node that is slow to accept.
    let connected = loop {
        match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other?,
        }
    };
    above_standard(connected)
}

/// A Unix datagram socket at a path.
pub fn bind_unix_datagram(path: &Path) -> io::Result<UnixDatagram> {
    above_standard(UnixDatagram::bind(path)?)
}

/// Two Unix sockets that are connected with each other.
pub fn unix_pair() -> io::Result<(UnixStream, UnixStream)> {
    let (one, other) = UnixStream::pair()?;
    Ok((above_standard(one)?, above_standard(other)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::{FdFlags, fcntl_getfd};

    #[test]
    fn descriptors_are_closed_on_exec_and_above_the_standard_ones() {
        let directory = std::env::temp_dir().join(format!("lnet-os-{}", std::process::id()));
        let listener = listen_unix(&directory).unwrap();
        let connected = connect_unix(&directory).unwrap();
        let accepted = accept_unix(&listener).unwrap();
        std::fs::remove_file(&directory).unwrap();
        let (one, other) = unix_pair().unwrap();
        let all = [connected.into(), accepted.into(), one.into(), other.into(), listener.into()];
        for descriptor in all.into_iter().chain([new_epoll().unwrap(), new_eventfd().unwrap()]) {
            assert!(descriptor.as_raw_fd() >= FIRST);
            assert_eq!(fcntl_getfd(&descriptor).unwrap(), FdFlags::CLOEXEC);
        }
    }
}
