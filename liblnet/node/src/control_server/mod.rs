//! The control socket: a node carries out the requests of other processes (`lnetctl`, liblnetconfig).
//!
//! One thread accepts, one thread a client reads, carries out and answers. A client costs the node no more
//! than its thread and a line in the log, whatever it does: stalls, dies, sends what is no request.
//! Of the two sockets, `NAME.sock` configures and is for the owner and root; `NAME.status.sock` only tells,
//! and is there only where the operator wants it (`LNET_STATUS_MODE`).

mod clients;
mod connection;
mod door;

use clients::Clients;
use door::{Access, Door};
use lnet_dlc::Backend;
use lnet_dlc::runtime_dir::{NodeName, RuntimeDir};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Where a node is configured from, and how patient it is.
#[derive(Debug)]
pub struct ControlConfig {
    /// Where the sockets are made.
    pub directory: RuntimeDir,
    /// After whom they are named.
    pub name: NodeName,
    /// The mode of the socket that only tells, such as `0o666`; `None`: there is no such socket.
    pub status_mode: Option<u32>,
    /// A socket that listens already, in place of one made here: systemd's. Its file is left alone.
    pub listener: Option<UnixListener>,
    /// The same for the socket that only tells.
    pub status_listener: Option<UnixListener>,
    /// So long may a request take from its first byte to its last, and an answer to be taken.
    pub patience: Duration,
    /// The most clients of one socket. For one more, the one that has been idle for longest goes.
    pub max_clients: usize,
}

impl ControlConfig {
    /// For a node of this name, with sockets where the environment says. [`io::ErrorKind::InvalidInput`] for
    /// an `LNET_STATUS_MODE` that is no mode.
    pub fn from_env(name: NodeName) -> io::Result<Self> {
        let mode = std::env::var("LNET_STATUS_MODE").unwrap_or_default();
        Ok(Self { status_mode: parse_mode(mode.trim())?, ..Self::new(RuntimeDir::from_env(), name) })
    }

    /// For a node of this name, in this directory, without a socket that only tells.
    pub fn new(directory: RuntimeDir, name: NodeName) -> Self {
        Self {
            directory,
            name,
            status_mode: None,
            listener: None,
            status_listener: None,
            patience: Duration::from_secs(10),
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

/// A node's backend as its clients' threads share it.
pub type SharedBackend = Arc<dyn Backend + Send + Sync>;

/// The sockets of a node. Dropping it is [`ControlServer::stop`].
#[derive(Debug)]
pub struct ControlServer {
    process: u32,
    clients: Vec<Arc<Clients>>,
    acceptor: Mutex<Option<Acceptor>>,
}

impl ControlServer {
    /// Makes the sockets and serves `backend` on them. Files of sockets on which nobody listens any more are
    /// replaced; [`io::ErrorKind::AddrInUse`] where somebody does.
    pub fn start(config: ControlConfig, backend: SharedBackend) -> io::Result<Self> {
        let ControlConfig { directory, name, status_mode, listener, status_listener, .. } = config;
        let (control, status) = (directory.socket(&name), directory.status_socket(&name));
        let control = match listener {
            Some(listener) => Door::given(listener, Access::Configure)?,
            None => Door::make(&directory, &control, 0o600, Access::Configure)?,
        };
        let status = match (status_listener, status_mode) {
            (Some(listener), _) => Some(Door::given(listener, Access::Read)?),
            (None, Some(mode)) => Some(Door::make(&directory, &status, mode, Access::Read)?),
            (None, None) => None,
        };
        let doors: Vec<(Door, Arc<Clients>)> = [Some(control), status]
            .into_iter()
            .flatten()
            .map(|door| (door, Arc::new(Clients::new(config.max_clients))))
            .collect();
        let clients = doors.iter().map(|(_, clients)| Arc::clone(clients)).collect();
        let (wake, woken) = UnixStream::pair()?;
        let thread = thread::Builder::new()
            .name("lnet_control".to_owned())
            .stack_size(STACK)
            .spawn(move || accept(&doors, &woken, &backend, config.patience))?;
        let acceptor = Mutex::new(Some(Acceptor { wake, thread }));
        Ok(Self { process: std::process::id(), clients, acceptor })
    }

    /// The files are gone and nobody new comes in; who is in may go on. Twice does no harm.
    pub fn close(&self) {
        let acceptor = lock(&self.acceptor).take();
        // A child of fork has no threads, and the files are its parent's.
        if let Some(Acceptor { wake, thread }) = acceptor.filter(|_| self.process == std::process::id()) {
            drop(wake);
            let _ = thread.join();
        }
    }

    /// Closes, lets requests that are being carried out have their answers, and ends the connections. Takes
    /// three seconds at most: a request that takes longer is left alone with its thread, which ends when the
    /// backend is done with it. So shut the node down first.
    pub fn stop(&self) {
        self.close();
        if self.process == std::process::id() {
            self.clients.iter().for_each(|clients| clients.leave());
            let grace = Instant::now() + GRACE;
            self.clients.iter().for_each(|clients| clients.wait(grace, grace + LAST));
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
    /// The thread ends when this is closed.
    wake: UnixStream,
    thread: JoinHandle<()>,
}

/// So long may an answer take that is on its way when the server stops.
const GRACE: Duration = Duration::from_secs(2);
/// So long may the threads take to see that their connections are ended.
const LAST: Duration = Duration::from_secs(1);

/// What reading JSON and adding an interface need, with room to spare.
const STACK: usize = 512 * 1024;
/// How long to wait for descriptors or memory to become free.
const BREATH: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

fn accept(doors: &[(Door, Arc<Clients>)], woken: &UnixStream, backend: &SharedBackend, patience: Duration) {
    let mut breath = false;
    loop {
        let mut waited_for = vec![PollFd::new(woken, PollFlags::IN)];
        if !breath {
            waited_for.extend(doors.iter().map(|(door, _)| PollFd::new(&door.listener, PollFlags::IN)));
        }
        match poll(&mut waited_for, breath.then_some(&BREATH)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => {
                log::error!("control socket: {errno}; nobody can configure this node any more");
                return;
            }
        }
        if waited_for.first().is_some_and(|it| !it.revents().is_empty()) {
            return;
        }
        breath = false;
        for (door, clients) in doors {
            match door.listener.accept() {
                Ok((stream, _)) => clients.admit(stream, door.access, backend, patience),
                Err(error) if is_harmless(&error) => {}
                Err(error) => {
                    log::warn!("control socket: cannot accept: {error}");
                    breath = true;
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
