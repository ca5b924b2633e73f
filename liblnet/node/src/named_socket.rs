//! A listening Unix socket and its file, in the directory of a node's sockets.

use lnet_dlc::runtime_dir::{NodeName, RuntimeDir};
use lnet_os::descriptor::listen_unix;
use lnet_os::peer_cred::connect;
use rustix::event::Timespec;
use rustix::fs::{FlockOperation, Gid, Mode, OFlags, chown, fchmod, flock, open};
use rustix::io::retry_on_intr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// A listening socket.
#[derive(Debug)]
pub(crate) struct NamedSocket {
    pub(crate) socket: UnixListener,
    /// The socket's file, which is removed when this is dropped; `None` if it is not the node's.
    _file: Option<SocketFile>,
}

/// The pause before the next `accept` after one that failed for lack of descriptors or memory.
const RETRY_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// The interval of reports on suppressed log lines.
const LOG_INTERVAL: Timespec = Timespec { tv_sec: lnet_log::PERIOD.as_secs().cast_signed(), tv_nsec: 0 };

/// Returns the longest time for which a thread waits for clients: until it reports suppressed log lines, or, if it pauses after an
/// `accept` that failed, until it tries again.
pub(crate) const fn accept_timeout(is_pausing: bool) -> &'static Timespec {
    if is_pausing { &RETRY_INTERVAL } else { &LOG_INTERVAL }
}

/// Who may connect to a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketAccess {
    /// The mode of its file, such as `0o660`.
    pub mode: u32,
    /// The group of its file; `None`: that of the process.
    pub group: Option<u32>,
}

impl NamedSocket {
    /// Uses a socket that is listening already; its file is not removed.
    pub(crate) fn inherited(listener: UnixListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self { socket: listener, _file: None })
    }

    /// Creates a socket with this access at `path`, under another name first: no client can connect before it listens
    /// and has its mode. The rename also replaces a stale socket, on which no process listens.
    pub(crate) fn bind(directory: &RuntimeDir, path: &Path, access: SocketAccess) -> io::Result<Self> {
        let named = |error: io::Error, path: &Path| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        };
        directory.make().map_err(|error| named(error, directory.path()))?;
        let _only_one = lock_directory(directory.path()).map_err(|error| named(error, directory.path()))?;
        remove_stale(directory);
        if connect(path).is_ok() {
            return Err(named(io::ErrorKind::AddrInUse.into(), path));
        }
        let new = path.with_extension(format!("new{}", std::process::id()));
        // The file may be left over from a killed process with the same process id.
        let _ = fs::remove_file(&new);
        let make = || {
            let listener = listen_unix(&new)?;
            listener.set_nonblocking(true)?;
            if let Some(group) = access.group {
                chown(&new, None, Some(Gid::from_raw(group)))?;
            }
            fs::set_permissions(&new, fs::Permissions::from_mode(access.mode))?;
            let identity = identity(&new)?;
            fs::rename(&new, path)?;
            Ok((listener, SocketFile { directory: directory.path().into(), path: path.into(), identity }))
        };
        let (listener, file) = make().map_err(|error: io::Error| {
            let _ = fs::remove_file(&new);
            named(error, path)
        })?;
        Ok(Self { socket: listener, _file: Some(file) })
    }
}

/// The file of a socket created here, which is removed when this is dropped.
#[derive(Debug)]
struct SocketFile {
    directory: PathBuf,
    path: PathBuf,
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _only_one = lock_directory(&self.directory);
        // The file may have been removed, and replaced by that of another node.
        if identity(&self.path).is_ok_and(|found| found == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

/// Removes the sockets of killed processes: those named after a process on which no process listens. A socket with
/// another name stays until a node of that name replaces it. The directory must be locked.
fn remove_stale(directory: &RuntimeDir) {
    let of_process = |name: &NodeName| name.as_str().bytes().all(|byte| byte.is_ascii_digit());
    for name in directory.nodes().unwrap_or_default().iter().filter(|name| of_process(name)) {
        for path in [directory.socket(name), directory.status_socket(name)] {
            if connect(&path).is_err_and(|it| it.kind() == io::ErrorKind::ConnectionRefused) {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// Locks the directory: no other process creates or removes sockets there until the lock is dropped.
fn lock_directory(directory: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = open(directory.join(".lock"), flags, Mode::RUSR | Mode::WUSR)?;
    // Makes the mode independent of the program's umask; fails if the file is another user's.
    let _ = fchmod(&file, Mode::RUSR | Mode::WUSR);
    // A signal handler of the program may end the wait.
    retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    const OWNER: SocketAccess = SocketAccess { mode: 0o600, group: None };

    #[test]
    fn sockets_of_killed_processes_are_removed_when_a_node_starts() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = RuntimeDir::at(temporary.path());
        for name in ["7.sock", "7.status.sock", "named.sock"] {
            drop(UnixListener::bind(temporary.path().join(name)).unwrap());
        }
        let living = UnixListener::bind(temporary.path().join("8.sock")).unwrap();
        let _listener = NamedSocket::bind(&directory, &temporary.path().join("9.sock"), OWNER).unwrap();
        let names: Vec<String> = directory.nodes().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["8", "9", "named"]);
        drop(living);
    }

    #[test]
    fn a_dead_socket_is_replaced_and_a_live_or_foreign_one_is_not() {
        let temporary = tempfile::tempdir().unwrap();
        let directory = RuntimeDir::at(temporary.path());
        let path = temporary.path().join("a.sock");
        let make = || NamedSocket::bind(&directory, &path, OWNER);

        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let listener = make().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        UnixStream::connect(&path).unwrap();
        assert_eq!(make().unwrap_err().kind(), io::ErrorKind::AddrInUse);

        fs::remove_file(&path).unwrap();
        let second = make().unwrap();
        drop(listener);
        UnixStream::connect(&path).unwrap();
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn a_socket_is_its_groups_from_the_first_moment() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("a.attach");
        let group =
            rustix::process::getgroups().unwrap().first().map_or_else(rustix::process::getegid, |it| *it);
        let access = SocketAccess { mode: 0o660, group: Some(group.as_raw()) };
        let _socket = NamedSocket::bind(&RuntimeDir::at(temporary.path()), &path, access).unwrap();
        let file = fs::metadata(&path).unwrap();
        assert_eq!((file.mode() & 0o777, file.gid()), (0o660, group.as_raw()));
    }
}
