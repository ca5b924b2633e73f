//! The credentials of the process at the other end of a Unix socket, as the kernel reports them.

use crate::descriptor::connect_unix;
use nix::sys::socket::{getsockopt, sockopt};
use rustix::process::{Pid, test_kill_process};
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// The process that connected or, on the connecting side, the process that listens; as it was at the time of the connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerCred {
    /// The effective user id of the process.
    pub user: u32,
    /// The id of the process; `None` for a process in a container that has no id here.
    pub process: Option<Pid>,
}

impl PeerCred {
    /// Reads the credentials of this connection's other end.
    pub fn of(socket: &impl AsFd) -> io::Result<Self> {
        // Not `rustix`, which assumes that every process has an id.
        let credentials = getsockopt(socket, sockopt::PeerCredentials)?;
        Ok(Self { user: credentials.uid(), process: Pid::from_raw(credentials.pid()) })
    }

    /// The name of the program that the process runs, as the kernel has it: its first 15 bytes. A blank, a parenthesis or another
    /// character that is not for a line of the log is `_`. `None` where the process cannot be seen.
    pub fn program(self) -> Option<String> {
        let name = fs::read(format!("/proc/{}/comm", self.process?.as_raw_nonzero())).ok()?;
        Some(for_a_line(name.strip_suffix(b"\n").unwrap_or(&name)))
    }

    fn has_ended(self) -> bool {
        self.process.is_some_and(|process| test_kill_process(process) == Err(rustix::io::Errno::SRCH))
    }
}

/// A program may give itself any name.
fn for_a_line(name: &[u8]) -> String {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"()".contains(&byte);
    name.iter().map(|&byte| if is_plain(byte) { char::from(byte) } else { '_' }).collect()
}

/// Connects to a node's socket. A child of `fork` also has its parent's sockets, and keeps them open after the parent has
/// ended, without ever responding: such a socket fails with [`io::ErrorKind::ConnectionRefused`], like a socket on which no
/// process listens.
pub fn connect(socket: &Path) -> io::Result<UnixStream> {
    let stream = connect_unix(socket)?;
    match PeerCred::of(&stream)?.has_ended() {
        true => Err(io::ErrorKind::ConnectionRefused.into()),
        false => Ok(stream),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{geteuid, getpid};

    #[test]
    fn the_peer_of_a_socket_pair_is_this_running_process() {
        let (one, _other) = UnixStream::pair().unwrap();
        let found = PeerCred::of(&one).unwrap();
        assert_eq!(found, PeerCred { user: geteuid().as_raw(), process: Some(getpid()) });
        assert!(!found.has_ended());
        assert!(!PeerCred { process: None, ..found }.has_ended());
        assert!(PeerCred { process: Pid::from_raw(i32::MAX), ..found }.has_ended());
    }

    #[test]
    fn the_program_of_a_process_is_named_in_plain_characters() {
        let (one, _other) = UnixStream::pair().unwrap();
        let found = PeerCred::of(&one).unwrap();
        // The name of this process's first thread.
        let expected = fs::read(format!("/proc/{}/comm", std::process::id())).unwrap();
        assert_eq!(found.program(), Some(for_a_line(expected.trim_ascii_end())));
        assert_eq!(PeerCred { process: None, ..found }.program(), None);
        assert_eq!(PeerCred { process: Pid::from_raw(i32::MAX), ..found }.program(), None);
        let table: [(&[u8], &str); 4] =
            [(b"lnetctl", "lnetctl"), (b"a by b", "a_by_b"), (b"a)\nx", "a__x"), (b"\xff", "_")];
        for (name, expected) in table {
            assert_eq!(for_a_line(name), expected);
        }
    }
}
