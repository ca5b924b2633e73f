//! Functions that send on sockets.

use rustix::net::{self, SendAncillaryBuffer, SendFlags, sendmsg};
use std::io::{self, IoSlice};
use std::os::fd::AsFd;

/// Behaviour of [`send`] when the socket takes nothing at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Do not wait: return [`io::ErrorKind::WouldBlock`].
    Never,
    /// Wait, up to the socket's write time-out, unless the socket is non-blocking.
    AsSet,
}

/// Sends bytes on a connected socket; returns how many it took. A peer that has closed or reset the connection is an error
/// ([`io::ErrorKind::BrokenPipe`], [`io::ErrorKind::ConnectionReset`]) and no SIGPIPE, which ends a program in C. From any
/// thread.
pub fn send(socket: impl AsFd, slices: &[IoSlice<'_>], wait: Wait) -> io::Result<usize> {
    let flags = match wait {
        Wait::Never => SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
        Wait::AsSet => SendFlags::NOSIGNAL,
    };
    Ok(match slices {
        // The kernel takes less time for one run than for a list of them.
        [only] => net::send(socket, only, flags)?,
        runs => sendmsg(socket, runs, &mut SendAncillaryBuffer::default(), flags)?,
    })
}

/// Sends all of `bytes`, as [`send`] does with [`Wait::AsSet`]; after an error a part of them may be sent. An interrupted call is
/// repeated.
pub fn send_all(socket: impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match send(&socket, &[IoSlice::new(bytes)], Wait::AsSet) {
            Ok(sent) => bytes = bytes.get(sent..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::{SigSet, Signal};
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    fn tcp_pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (here, listener.accept().unwrap().0)
    }

    #[test]
    fn all_bytes_arrive_in_order() {
        let (here, mut there) = UnixStream::pair().unwrap();
        let bytes: Vec<u8> = (0..1_000_000_u32).map(|number| number as u8).collect();
        let expected = bytes.clone();
        std::thread::spawn(move || send_all(&here, &bytes).unwrap());
        let mut got = Vec::new();
        there.read_to_end(&mut got).unwrap();
        assert!(got == expected);
    }

    /// Rust's own programs ignore SIGPIPE; a thread that has it blocked would find it pending.
    #[test]
    fn a_closed_peer_is_an_error_and_raises_no_signal() {
        let (unix, unix_peer) = UnixStream::pair().unwrap();
        let (tcp, tcp_peer) = tcp_pair();
        drop((unix_peer, tcp_peer));
        for (name, socket) in [("unix", OwnedFd::from(unix)), ("tcp", OwnedFd::from(tcp))] {
            let mut pipe = SigSet::empty();
            pipe.add(Signal::SIGPIPE);
            pipe.thread_block().unwrap();
            let error = loop {
                // TCP detects the close by the response to the first bytes.
                if let Err(error) = send_all(&socket, b"x") {
                    break error;
                }
            };
            let kinds = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];
            assert!(kinds.contains(&error.kind()), "{name}: {error}");
        }
    }

    #[test]
    fn a_full_socket_is_told_and_not_waited_for() {
        let (here, _there) = UnixStream::pair().unwrap();
        let bytes = [7; 65_536];
        let error = loop {
            if let Err(error) = send(&here, &[IoSlice::new(&bytes)], Wait::Never) {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}
