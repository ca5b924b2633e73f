//! The control socket: a node carries out the requests of other processes (`lnetctl`, liblnetconfig).
//!
//! One thread accepts, and one thread per client reads, carries out and answers requests. A client that stalls, dies,
//! or sends invalid data costs the node one thread and one line in the log. `NAME.sock` permits configuration, to the
//! owner and root; `NAME.status.sock` is read-only, and exists only if the operator asks for it (`LNET_STATUS_MODE`).

mod clients;
mod connection;
mod listener;
mod log;

use crate::named_socket::{NamedSocket, SocketAccess, accept_timeout};
use clients::Clients;
use listener::{Access, ControlListener};
use lnet_dlc::Backend;
use lnet_dlc::runtime_dir::{NodeName, RuntimeDir};
use lnet_log::{History, LogClass, write_line};
use lnet_os::descriptor::{accept_unix, unix_pair};
use lnet_os::thread::JoinHandle;
use log::ServerLog;
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The sockets of a node, and their limits.
#[derive(Debug)]
pub struct ControlConfig {
    /// The directory of the sockets.
    pub directory: RuntimeDir,
    /// The node's name, from which the names of the sockets are made.
    pub name: NodeName,
    /// The mode of the read-only socket, such as `0o666`; `None`: no such socket is created.
    pub status_mode: Option<u32>,
    /// A socket that is listening already (socket activation by systemd), to use instead of a new one. Its file is not
    /// removed.
    pub listener: Option<UnixListener>,
    /// Like `listener`, for the read-only socket.
    pub status_listener: Option<UnixListener>,
    /// The longest time from the first byte of a request to its last, and for a client to read a reply.
    pub request_timeout: Duration,
    /// Where changes of the configuration are kept.
    pub history: Option<Arc<History>>,
    /// The maximum number of clients of one socket. A further client replaces the one that has been idle for longest.
    pub max_clients: usize,
}

impl ControlConfig {
    /// The configuration for a node of this name, with sockets in the directory that the environment names.
    /// [`io::ErrorKind::InvalidInput`] for an invalid `LNET_STATUS_MODE`.
    pub fn from_env(name: NodeName) -> io::Result<Self> {
        let mode = std::env::var("LNET_STATUS_MODE").unwrap_or_default();
        Ok(Self { status_mode: parse_mode(mode.trim())?, ..Self::new(RuntimeDir::from_env(), name) })
    }

    /// The configuration for a node of this name, with sockets in `directory`, without a read-only one.
    pub fn new(directory: RuntimeDir, name: NodeName) -> Self {
        Self {
            directory,
            name,
            status_mode: None,
            listener: None,
            status_listener: None,
            history: None,
            request_timeout: Duration::from_secs(10),
            max_clients: 64,
        }
    }
}

fn parse_mode(text: &str) -> io::Result<Option<u32>> {
    match u32::from_str_radix(text, 8) {
        _ if text.is_empty() => Ok(None),
        Ok(mode) if mode <= 0o777 => Ok(Some(mode)),
        _ => {
            let text = format!("LNET_STATUS_MODE=\"{text}\": wanted is an octal mode such as 0666");
            Err(io::Error::new(io::ErrorKind::InvalidInput, text))
        }
    }
}

/// A node's backend, shared by the threads of its clients.
pub type SharedBackend = Arc<dyn Backend + Send + Sync>;

/// The sockets of a node. Dropping this calls [`ControlServer::stop`].
#[derive(Debug)]
pub struct ControlServer {
    process: u32,
    clients: Vec<Arc<Clients>>,
    acceptor: Mutex<Option<Acceptor>>,
}

impl ControlServer {
    /// Creates the sockets and serves `backend` on them. Stale socket files are replaced;
    /// [`io::ErrorKind::AddrInUse`] if a process listens on one.
    pub fn start(config: ControlConfig, backend: SharedBackend) -> io::Result<Self> {
        let ControlConfig { directory, name, status_mode, listener, status_listener, .. } = config;
        let (control, status) = (directory.socket(&name), directory.status_socket(&name));
        let bind =
            |path: &Path, mode| NamedSocket::bind(&directory, path, SocketAccess { mode, group: None });
        let control = match listener {
            Some(listener) => NamedSocket::inherited(listener)?,
            None => bind(&control, 0o600)?,
        };
        let status = match (status_listener, status_mode) {
            (Some(listener), _) => Some(NamedSocket::inherited(listener)?),
            (None, Some(mode)) => Some(bind(&status, mode)?),
            (None, None) => None,
        };
        let log = Arc::new(ServerLog::new(config.history));
        let listeners: Vec<(ControlListener, Arc<Clients>)> =
            [(Some(control), Access::Configure), (status, Access::Read)]
                .into_iter()
                .filter_map(|(named, access)| Some(ControlListener { named: named?, access }))
                .map(|listener| (listener, Arc::new(Clients::new(config.max_clients, Arc::clone(&log)))))
                .collect();
        let clients = listeners.iter().map(|(_, clients)| Arc::clone(clients)).collect();
        let (wake, wake_fd) = unix_pair()?;
        let builder = thread::Builder::new().name("lnet_control".to_owned()).stack_size(STACK);
        let work = move || accept(&listeners, &wake_fd, &backend, config.request_timeout, &log);
        let thread = lnet_os::thread::spawn(builder, work)?;
        let acceptor = Mutex::new(Some(Acceptor { wake, thread }));
        Ok(Self { process: std::process::id(), clients, acceptor })
    }

    /// Removes the socket files and accepts no more clients; connected ones stay. A second call has no effect.
    pub fn close(&self) {
        let acceptor = lock(&self.acceptor).take();
        // A child of fork has no threads, and the files belong to its parent.
        if let Some(Acceptor { wake, thread }) = acceptor.filter(|_| self.process == std::process::id()) {
            drop(wake);
            let _ = thread.join();
        }
    }

    /// Closes the listeners, waits for the replies to requests in progress, and ends the connections. Takes at most
    /// three seconds: a request that takes longer keeps its thread until the backend returns. So shut the node down
    /// first.
    pub fn stop(&self) {
        self.close();
        if self.process == std::process::id() {
            self.clients.iter().for_each(|clients| clients.leave());
            let reply_deadline = Instant::now() + REPLY_TIMEOUT;
            self.clients
                .iter()
                .for_each(|clients| clients.wait(reply_deadline, reply_deadline + JOIN_TIMEOUT));
        }
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        self.stop();
    }
}

#[derive(Debug)]
struct Acceptor {
    /// The socket whose closing ends the thread.
    wake: UnixStream,
    thread: JoinHandle<()>,
}

/// The time that [`ControlServer::stop`] waits for replies that are being written.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// The time that [`ControlServer::stop`] waits for the threads after the connections have been shut down.
const JOIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The stack size of the server's threads in bytes, enough to parse JSON and to add an interface.
const STACK: usize = 512 * 1024;

fn accept(
    listeners: &[(ControlListener, Arc<Clients>)],
    wake_fd: &UnixStream,
    backend: &SharedBackend,
    request_timeout: Duration,
    log: &ServerLog,
) {
    let mut pausing = false;
    loop {
        let mut waited_for = vec![PollFd::new(wake_fd, PollFlags::IN)];
        if !pausing {
            waited_for.extend(
                listeners.iter().map(|(listener, _)| PollFd::new(&listener.named.socket, PollFlags::IN)),
            );
        }
        log.poll();
        match poll(&mut waited_for, Some(accept_timeout(pausing))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => {
                write_line!(
                    LogClass::ControlUnavailable,
                    "control socket: cannot be waited for ({errno}); lnetctl no longer reaches this node"
                );
                return;
            }
        }
        if waited_for.first().is_some_and(|it| !it.revents().is_empty()) {
            return;
        }
        pausing = false;
        for (listener, clients) in listeners {
            match accept_unix(&listener.named.socket) {
                Ok(stream) => clients.admit(stream, listener.access, backend, request_timeout),
                Err(error) if is_harmless(&error) => {}
                Err(error) => {
                    log.log(
                        LogClass::ControlAcceptFailed,
                        "control socket",
                        format_args!("control socket: cannot accept a client ({error}); trying again"),
                    );
                    pausing = true;
                }
            }
        }
    }
}

fn is_harmless(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | Interrupted | WouldBlock)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_of_the_status_socket_is_octal_and_a_mode() {
        for (text, mode) in [("", None), ("0666", Some(0o666)), ("660", Some(0o660))] {
            assert_eq!(parse_mode(text).unwrap(), mode, "{text}");
        }
        for text in ["rw", "0x6", "1777", "689", "-1"] {
            assert_eq!(parse_mode(text).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{text}");
        }
    }
}
