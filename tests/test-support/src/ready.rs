//! The socket on which a daemon that a test starts reports that it is ready.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

/// The socket. `NOTIFY_SOCKET` of the daemon names its path.
#[derive(Debug)]
pub struct ReadySocket {
    socket: UnixDatagram,
    path: PathBuf,
}

impl ReadySocket {
    /// Makes the socket at `path`, in place of what is there.
    ///
    /// # Panics
    /// If the socket cannot be made.
    #[allow(clippy::unwrap_used, reason = "for tests only")]
    pub fn at(path: PathBuf) -> Self {
        _ = fs::remove_file(&path);
        let socket = UnixDatagram::bind(&path).unwrap();
        // Now and then the end of the daemon is looked for.
        socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        Self { socket, path }
    }

    /// The value of `NOTIFY_SOCKET`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the daemon's first report and returns it.
    ///
    /// # Panics
    /// If the daemon ends without a report.
    #[allow(clippy::unwrap_used, clippy::panic, reason = "for tests only")]
    pub fn wait(&self, daemon: &mut Child) -> String {
        let mut text = [0; 4096];
        loop {
            // It may end as soon as it has reported.
            let ended = daemon.try_wait().unwrap();
            match self.socket.recv(&mut text) {
                Ok(length) => return String::from_utf8_lossy(&text[..length]).into_owned(),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{}", self.path.display()),
            }
            if let Some(status) = ended {
                panic!("the daemon of {} ended before it was ready: {status}", self.path.display());
            }
        }
    }
}

impl Drop for ReadySocket {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::ReadySocket;
    use std::process::Command;

    #[test]
    #[should_panic = "ended before it was ready"]
    fn a_daemon_that_ends_without_a_report_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let ready = ReadySocket::at(directory.path().join("notify"));
        ready.wait(&mut Command::new("true").spawn().unwrap());
    }
}
