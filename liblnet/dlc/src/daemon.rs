//! Starting `lnetd`, the node with no program in it.

use crate::request::Configure;
use crate::runtime_dir::{NodeName, RuntimeDir, is_of_its_user};
use lnet_os::descriptor::bind_unix_datagram;
use lnet_wire::Errno;
use rustix::fs::OFlags;
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Why the daemon does not run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program was not found.
    #[error(
        "no LNet node runs here, and there is no lnetd to start: not beside this program, not in PATH; set LNETD to where it is"
    )]
    NoProgram,
    /// The program, its log or the socket for its reports cannot be used.
    #[error("cannot start lnetd: {}: {_1}", _0.display())]
    Io(PathBuf, #[source] io::Error),
    /// The daemon reported that it failed, or ended, or reported nothing in time.
    #[error("{}", with_log(.reason, .log))]
    Failed {
        /// The error as a number.
        errno: Errno,
        /// The cause, as the daemon reported it if it did.
        reason: String,
        /// The daemon's log.
        log: String,
    },
}

impl StartError {
    /// The error as a number.
    pub fn errno(&self) -> Errno {
        match self {
            Self::NoProgram => Errno::NetworkDown,
            Self::Io(_, error) => error.into(),
            Self::Failed { errno, .. } => *errno,
        }
    }
}

const OLD_LOG: &str = "log.old";
/// The time within which a daemon must report that it is ready.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// The interval at which a started daemon that reports nothing is checked for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Starts the daemon as node `name` and waits until it is ready, 30 seconds at most. The daemon outlives this
/// process and its terminal, and logs to `NAME.log` in the runtime directory; the log of the previous daemon of
/// this name is kept as `NAME.log.old`. `program`, if given, is started in place of the one that [`find`] finds.
pub fn start(
    program: Option<&Path>,
    directory: &RuntimeDir,
    name: &NodeName,
    how: Configure,
) -> Result<(), StartError> {
    let program = match program {
        Some(program) => program.to_owned(),
        None => find().ok_or(StartError::NoProgram)?,
    };
    let failed = |what: &Path, error| StartError::Io(what.to_owned(), error);
    directory.make().map_err(|error| failed(directory.path(), error))?;
    let notify = NotifySocket::new(directory).map_err(|error| failed(directory.path(), error))?;
    let mut command = Command::new(&program);
    command.arg("--detach").arg("--node").arg(name.as_str());
    command.arg(if how.nets { "--from-environment" } else { "--loopback-only" });
    if how.large_nids {
        command.env("LNET_LARGE_NIDS", "1");
    }
    command.env("LNET_RUNTIME_DIR", directory.path()).env("NOTIFY_SOCKET", &notify.path);
    for inherited in ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "JOURNAL_STREAM", "LNET_NODE"] {
        command.env_remove(inherited);
    }
    let log = directory.log(name);
    let file = new_log(&log).map_err(|error| failed(&log, error))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
    let mut child = command.spawn().map_err(|error| failed(&program, error))?;
    let outcome = notify.await_ready(&mut child).map_err(|StartReport { errno, reason }| {
        StartError::Failed { errno, reason, log: fs::read_to_string(&log).unwrap_or_default() }
    });
    if let Err(error) = &outcome {
        // The daemon has ended, or it hangs.
        let _ = child.kill();
        if error.errno() == Errno::Exists {
            // A daemon that runs still writes to its own log.
            let _ = fs::rename(log.with_extension(OLD_LOG), &log);
        }
    }
    // A program that starts a daemon and outlives it must not keep a zombie.
    let reaper = thread::Builder::new().name("lnet_reaper".to_owned()).stack_size(64 * 1024);
    let _ = lnet_os::thread::spawn(reaper, move || child.wait());
    outcome
}

/// The path of `lnetd`: the value of the variable `LNETD`, else beside this program, else in `PATH`.
pub fn find() -> Option<PathBuf> {
    let trusted = is_of_its_user();
    if let Some(named) = env::var_os("LNETD").filter(|it| trusted && !it.is_empty()) {
        return Some(named.into());
    }
    let beside = env::current_exe().ok().and_then(|own| Some(own.parent()?.join("lnetd")));
    let path = env::var_os("PATH").filter(|_| trusted).unwrap_or_default();
    let in_path = env::split_paths(&path).map(|directory| directory.join("lnetd"));
    beside.into_iter().chain(in_path).find(|it| is_program(it))
}

/// Creates an empty log; the previous one is renamed.
fn new_log(path: &Path) -> io::Result<File> {
    match fs::rename(path, path.with_extension(OLD_LOG)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Appended to, so that it may be cut short while the daemon runs.
    let follow_no_link = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(follow_no_link).open(path)
}

/// The text of a failed start, followed by the last lines of the daemon's log, which has the details.
fn with_log(reason: &str, log: &str) -> String {
    const MAX_LOG_LINES: usize = 50;
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let left_out = lines.len().saturating_sub(MAX_LOG_LINES);
    let mut text = format!("cannot start lnetd: {reason}");
    // The last line of the log repeats the reason.
    for line in lines.iter().skip(left_out).filter(|line| !line.ends_with(reason)) {
        text.push('\n');
        text.push_str(line);
    }
    text
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The socket on which a daemon reports its state (the protocol of `sd_notify`).
struct NotifySocket {
    socket: UnixDatagram,
    path: PathBuf,
}

impl NotifySocket {
    fn new(directory: &RuntimeDir) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = directory.path().join(format!(".start-{}-{number}", std::process::id()));
        // Left over from a process that had this number and was killed.
        let _ = fs::remove_file(&path);
        let notify = Self { socket: bind_unix_datagram(&path)?, path };
        fs::set_permissions(&notify.path, fs::Permissions::from_mode(0o600))?;
        notify.socket.set_read_timeout(Some(POLL_INTERVAL))?;
        Ok(notify)
    }

    fn await_ready(&self, child: &mut Child) -> Result<(), StartReport> {
        let (mut heard, deadline) = (Notifications::default(), Instant::now() + START_TIMEOUT);
        let mut buffer = [0; 4096];
        while Instant::now() < deadline {
            // Checked first: a report from before the end of the daemon is still in the socket.
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
        Err(StartReport {
            errno: Errno::TimedOut,
            ..heard.failure(format!("it was not ready after {} seconds", START_TIMEOUT.as_secs()))
        })
    }
}

impl Drop for NotifySocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// What a daemon that did not start reported.
#[derive(Debug, PartialEq, Eq)]
struct StartReport {
    errno: Errno,
    reason: String,
}

/// The state that a starting daemon has reported so far over its notification socket.
#[derive(Debug, Default, PartialEq, Eq)]
struct Notifications {
    ready: bool,
    status: Option<String>,
    errno: Option<Errno>,
}

impl Notifications {
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

    fn failure(self, otherwise: String) -> StartReport {
        StartReport { errno: self.errno.unwrap_or(Errno::Io), reason: self.status.unwrap_or(otherwise) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemons_status_messages_are_read_and_other_output_is_ignored() {
        let mut heard = Notifications::default();
        heard.add(b"MAINPID=7\nSTATUS=starting");
        assert!(!heard.ready);
        heard.add(b"STATUS=no net tcp7\nERRNO=19\n\xff");
        assert_eq!(heard.errno, Some(Errno::NoDevice));
        assert_eq!(heard.failure(String::new()).reason, "no net tcp7");
        let mut heard = Notifications::default();
        heard.add(b"READY=1");
        assert!(heard.ready);
    }

    #[test]
    fn a_daemon_that_ends_at_once_or_is_not_there_is_an_error() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = RuntimeDir::at(temporary.path());
        let start = |program: &str| {
            start(Some(Path::new(program)), &directory, &NodeName::lnetd(), Configure::default())
        };
        let error = start("/bin/false").unwrap_err();
        assert_eq!(error.errno(), Errno::Io);
        assert!(error.to_string().contains("ended at once"), "{error}");
        assert_eq!(start("/nowhere/lnetd").unwrap_err().errno(), Errno::NotFound);
        let left: Vec<_> =
            fs::read_dir(temporary.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| name.to_str().unwrap().starts_with("lnetd.log")), "{left:?}");
    }

    #[test]
    fn the_log_of_a_daemon_that_fails_to_start_is_returned() {
        let reason = "cannot start the node: Invalid argument";
        let log = "LNetError: LNET_NETWORKS=\"tcp(eth0\": a `(` without its `)`, at byte 3\n\
                   LNetError: cannot start the node: Invalid argument\n";
        let expected = "cannot start lnetd: cannot start the node: Invalid argument\n\
                        LNetError: LNET_NETWORKS=\"tcp(eth0\": a `(` without its `)`, at byte 3";
        assert_eq!(with_log(reason, log), expected);
        assert_eq!(with_log(reason, &"x\n".repeat(99)).lines().count(), 51);
        assert_eq!(with_log(reason, ""), "cannot start lnetd: cannot start the node: Invalid argument");
    }

    #[test]
    fn the_log_of_the_last_daemon_is_kept() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("a.b.log");
        for text in ["one", "two", "three"] {
            io::Write::write_all(&mut new_log(&path).unwrap(), text.as_bytes()).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        assert_eq!(fs::read_to_string(temporary.path().join("a.b.log.old")).unwrap(), "two");
    }
}
