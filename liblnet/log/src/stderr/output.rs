//! The places that lines are written to: standard error, and the journal's socket.

use lnet_os::descriptor::new_unix_datagram;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::stderr;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// The socket of the systemd journal.
pub(super) const JOURNAL_SOCKET: &str = "/run/systemd/journal/socket";
/// Time between two tries on a standard error that another process has set non-blocking.
const NON_BLOCKING_INTERVAL: Duration = Duration::from_millis(10);

/// A place that lines are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// Standard error, whichever file that is at the time.
    Stderr,
    /// The journal that receives at this path, one entry in each datagram.
    Journal(&'static str),
}

/// A write that failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed {
    pub(super) errno: Errno,
    pub(super) written: usize,
}

impl Output {
    /// Writes a line. `socket` is that of this process for the journal, made when it is first used.
    pub(super) fn write(self, socket: &OnceLock<UnixDatagram>, bytes: &[u8]) -> Result<(), Failed> {
        match self {
            Self::Stderr => write_all(bytes),
            Self::Journal(path) => send(socket, path, bytes).map_err(|error| Failed {
                errno: Errno::from_io_error(&error).unwrap_or(Errno::IO),
                written: 0,
            }),
        }
    }

    /// Whether a line is taken at once, as far as the system knows. Standard error without a reader takes none, because a write would
    /// raise SIGPIPE; the journal is not asked, as it reads all the time and a write to it has a time limit.
    pub(super) fn takes_a_line(self) -> bool {
        if matches!(self, Self::Journal(_)) {
            return true;
        }
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let standard_error = stderr();
        let mut asked = [PollFd::new(&standard_error, PollFlags::OUT)];
        poll(&mut asked, Some(&now)).is_ok() && asked[0].revents() == PollFlags::OUT
    }
}

/// Whether the journal of this machine receives entries.
pub(super) fn journal_answers() -> bool {
    new_unix_datagram().and_then(|socket| socket.connect(JOURNAL_SOCKET)).is_ok()
}

/// Sends an entry to the journal, which may have been started anew since the last one.
fn send(socket: &OnceLock<UnixDatagram>, path: &str, bytes: &[u8]) -> io::Result<()> {
    let socket = match socket.get() {
        Some(socket) => socket,
        None => {
            let new = new_unix_datagram()?;
            new.set_write_timeout(Some(super::backlog::WRITE_TIMEOUT))?;
            socket.get_or_init(|| new)
        }
    };
    loop {
        match socket.send_to(bytes, Path::new(path)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result.map(drop),
        }
    }
}

/// Writes bytes to standard error; in one call where it takes them, as several processes may share it.
fn write_all(bytes: &[u8]) -> Result<(), Failed> {
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        match rustix::io::write(stderr(), rest) {
            Ok(0) => return Err(Failed { errno: Errno::IO, written }),
            Ok(more) => written += more,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => thread::sleep(NON_BLOCKING_INTERVAL),
            Err(errno) => return Err(Failed { errno, written }),
        }
    }
    Ok(())
}
