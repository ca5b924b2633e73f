//! Descriptors that stay open.

use rustix::event::{EventfdFlags, epoll, eventfd};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;

/// The lowest descriptor that is not standard input, output or error.
const FIRST: RawFd = 3;

/// Moves a file to a descriptor above 2, close-on-exec. In a program that has closed one of its standard files, the system
/// gives that number to the next file that is opened, and the program's output would be sent to a peer. From any thread.
pub fn above_standard<T: AsFd + From<OwnedFd>>(descriptor: T) -> io::Result<T> {
    if descriptor.as_fd().as_raw_fd() >= FIRST {
        return Ok(descriptor);
    }
    Ok(rustix::io::fcntl_dupfd_cloexec(&descriptor, FIRST)?.into())
}

/// Makes an epoll set.
pub fn new_epoll() -> io::Result<OwnedFd> {
    above_standard(epoll::create(epoll::CreateFlags::CLOEXEC)?)
}

/// Makes a non-blocking eventfd, a counter that wakes waiting threads.
pub fn new_eventfd() -> io::Result<OwnedFd> {
    above_standard(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

/// Wakes threads that wait for an eventfd: makes it readable, which is an event of its own each time for an edge-triggered epoll set.
pub fn wake(eventfd: &OwnedFd) {
    // A counter that is full wakes as well.
    _ = rustix::io::write(eventfd, &1_u64.to_ne_bytes());
}

/// Makes a Unix socket that listens at a path.
pub fn listen_unix(path: &Path) -> io::Result<UnixListener> {
    above_standard(UnixListener::bind(path)?)
}

/// Accepts the next connection of a listening Unix socket.
pub fn accept_unix(listener: &UnixListener) -> io::Result<UnixStream> {
    above_standard(listener.accept()?.0)
}

/// Connects to the Unix socket at a path.
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

/// Makes a Unix datagram socket at a path.
pub fn bind_unix_datagram(path: &Path) -> io::Result<UnixDatagram> {
    above_standard(UnixDatagram::bind(path)?)
}

/// Makes a Unix datagram socket without a path, for sending.
pub fn new_unix_datagram() -> io::Result<UnixDatagram> {
    above_standard(UnixDatagram::unbound()?)
}

/// Makes a TCP socket that listens at an address.
pub fn listen_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    above_standard(TcpListener::bind(address)?)
}

/// Accepts the next connection of a listening TCP socket.
pub fn accept_tcp(listener: &TcpListener) -> io::Result<TcpStream> {
    above_standard(listener.accept()?.0)
}

/// Makes two Unix sockets that are connected with each other.
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
