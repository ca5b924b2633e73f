//! Starting `lnetd`, the node with no program in it.

use crate::runtime_dir::{NodeName, RuntimeDir};
use lnet_wire::Errno;
use std::env;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Which nets the daemon starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nets {
    /// Those that `LNET_NETWORKS` and its like name.
    OfEnvironment,
    /// None but the loopback.
    LoopbackOnly,
}

/// Why the daemon does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartError {
    /// As a number.
    pub errno: Errno,
    text: String,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for StartError {}

/// So long may a daemon take until it is ready.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a daemon that says nothing is looked at.
const TURN: Duration = Duration::from_millis(100);

/// Starts the daemon as node `name` and waits until it is ready, 30 seconds at most. It outlives this
/// process and its terminal. `program`: instead of the one that [`find`] finds.
pub fn start(
    program: Option<&Path>,
    directory: &RuntimeDir,
    name: &NodeName,
    nets: Nets,
) -> Result<(), StartError> {
    let program = match program {
        Some(program) => program.to_owned(),
        None => find().ok_or_else(|| StartError {
            errno: Errno::NetworkDown,
            text: "no LNet node runs here, and there is no lnetd to start: not beside this program, not in \
                   PATH; set LNETD to where it is"
                .to_owned(),
        })?,
    };
    let failed = |error: &io::Error, what: &Path| StartError {
        errno: error.into(),
        text: format!("cannot start lnetd: {}: {error}", what.display()),
    };
    directory.make().map_err(|error| failed(&error, directory.path()))?;
    let news = News::new(directory).map_err(|error| failed(&error, directory.path()))?;
    let mut command = Command::new(&program);
    command.arg("--detach").arg("--node").arg(name.as_str());
    command.arg(match nets {
        Nets::OfEnvironment => "--from-environment",
        Nets::LoopbackOnly => "--loopback-only",
    });
    command.env("LNET_RUNTIME_DIR", directory.path()).env("NOTIFY_SOCKET", &news.path);
    for inherited in ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "JOURNAL_STREAM", "LNET_NODE"] {
        command.env_remove(inherited);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| failed(&error, &program))?;
    let outcome = news.await_ready(&mut child);
    if outcome.is_err() {
        // It has ended, or it hangs.
        let _ = child.kill();
    }
    // A program that starts a daemon and lives longer than it shall not keep a zombie.
    let reaper = thread::Builder::new().name("lnet_reaper".to_owned()).stack_size(64 * 1024);
    let _ = reaper.spawn(move || child.wait());
    outcome
}

/// Where `lnetd` is: what the variable `LNETD` names, beside this program, or in `PATH`.
pub fn find() -> Option<PathBuf> {
    if let Some(named) = env::var_os("LNETD").filter(|it| !it.is_empty()) {
        return Some(named.into());
    }
    let beside = env::current_exe().ok().and_then(|own| Some(own.parent()?.join("lnetd")));
    let path = env::var_os("PATH").unwrap_or_default();
    let in_path = env::split_paths(&path).map(|directory| directory.join("lnetd"));
    beside.into_iter().chain(in_path).find(|it| is_program(it))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The socket by which a daemon tells how it fares (the protocol of `sd_notify`).
struct News {
    socket: UnixDatagram,
    path: PathBuf,
}

impl News {
    fn new(directory: &RuntimeDir) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = directory.path().join(format!(".start-{}-{number}", std::process::id()));
        // Left over from a process that had this number and was killed.
        let _ = fs::remove_file(&path);
        let news = Self { socket: UnixDatagram::bind(&path)?, path };
        fs::set_permissions(&news.path, fs::Permissions::from_mode(0o600))?;
        news.socket.set_read_timeout(Some(TURN))?;
        Ok(news)
    }

    fn await_ready(&self, child: &mut Child) -> Result<(), StartError> {
        let (mut heard, deadline) = (Heard::default(), Instant::now() + PATIENCE);
        let mut buffer = [0; 4096];
        while Instant::now() < deadline {
            // Looked at first: what it said before its end is still in the socket.
            let ended = child.try_wait().ok().flatten();
            match self.socket.recv(&mut buffer) {
                Ok(length) => heard.add(buffer.get(..length).unwrap_or_default()),
                Err(_) => {
                    if let Some(status) = ended {
                        return Err(heard.failure(format!("it ended at once: {status}")));
                    }
                }
            }
            if heard.ready {
                return Ok(());
            }
            if heard.errno.is_some() {
                return Err(heard.failure("it gave no reason".to_owned()));
            }
        }
        Err(StartError {
            errno: Errno::TimedOut,
            ..heard.failure(format!("it was not ready after {} seconds", PATIENCE.as_secs()))
        })
    }
}

impl Drop for News {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// What a daemon has said so far.
#[derive(Debug, Default, PartialEq, Eq)]
struct Heard {
    ready: bool,
    status: Option<String>,
    errno: Option<Errno>,
}

impl Heard {
    fn add(&mut self, message: &[u8]) {
        for line in String::from_utf8_lossy(message).lines() {
            match line.split_once('=') {
                Some(("READY", "1")) => self.ready = true,
                Some(("STATUS", text)) => self.status = Some(text.to_owned()),
                Some(("ERRNO", number)) => {
                    let known = number.parse().ok().and_then(Errno::from_number);
                    self.errno = Some(known.unwrap_or(Errno::Io));
                }
                _ => {}
            }
        }
    }

    fn failure(self, otherwise: String) -> StartError {
        let reason = self.status.unwrap_or(otherwise);
        StartError { errno: self.errno.unwrap_or(Errno::Io), text: format!("cannot start lnetd: {reason}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_daemon_says_is_understood_and_the_rest_passed_over() {
        let mut heard = Heard::default();
        heard.add(b"MAINPID=7\nSTATUS=starting");
        assert!(!heard.ready);
        heard.add(b"STATUS=no net tcp7\nERRNO=19\n\xff");
        assert_eq!(heard.errno, Some(Errno::NoDevice));
        assert_eq!(heard.failure(String::new()).to_string(), "cannot start lnetd: no net tcp7");
        let mut heard = Heard::default();
        heard.add(b"READY=1");
        assert!(heard.ready);
    }

    #[test]
    fn a_daemon_that_ends_at_once_or_is_not_there_is_an_error() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = RuntimeDir::at(temporary.path());
        let start = |program: &str| {
            start(Some(Path::new(program)), &directory, &NodeName::lnetd(), Nets::LoopbackOnly)
        };
        let error = start("/bin/false").unwrap_err();
        assert_eq!(error.errno, Errno::Io);
        assert!(error.to_string().contains("ended at once"), "{error}");
        assert_eq!(start("/nowhere/lnetd").unwrap_err().errno, Errno::NotFound);
        assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0, "the socket is gone");
    }
}
