//! Programs that attach to this node: they have no node of their own, and use this one through shared memory (`lnet-attach`).
//!
//! One thread accepts, and one thread for each program carries out its operations, in order. Whoever may open `NAME.attach` is
//! admitted. A program that breaks the rules, or that does not read its events, costs its attachment and one line in the log.
//!
//! - `client` is one program: its hello, and the loop of its thread.
//! - `operations` carries out what it asks for, `current` is the one that a thread carries out; `objects` has the MEs and MDs that it owns.
//! - `requests` bounds its PUTs and GETs under way; `waiting_calls` carries out what waits for a peer.
//! - `pids` has the PIDs of the programs.
//! - `deferred_acks` has the ACKs that wait for its handlers.
//! - `memory` is what it has registered; `reports` is what it is told; `rings` has the memory of the rings.
//! - `status` is what the node shows of it.

mod client;
mod current;
mod deferred_acks;
mod memory;
mod objects;
mod operations;
mod pids;
mod reports;
mod requests;
mod rings;
mod status;
mod waiting_calls;

pub use crate::named_socket::SocketAccess;

use crate::clock::MonotonicClock;
use crate::named_socket::{NamedSocket, accept_timeout};
use crate::node::Node;
use client::{Client, Place};
use lnd_common::sync::lock;
use lnet_core::Clock;
use lnet_dlc::request::AttachedPrograms;
use lnet_dlc::runtime_dir::RuntimeDir;
use lnet_log::{LogClass, RateLimitedLog};
use lnet_os::descriptor::{accept_unix, new_eventfd, wake};
use lnet_os::peer_cred::PeerCred;
use lnet_os::thread::JoinHandle;
use nix::unistd::Group;
use pids::Pids;
use rustix::event::{PollFd, PollFlags, poll};
use status::Status;
use std::collections::BTreeMap;
use std::fmt::Arguments;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use waiting_calls::WaitingCalls;

/// The limits for programs, and who is admitted.
#[derive(Clone, Debug)]
pub struct AttachConfig {
    /// The directory of the socket, `NAME.attach`.
    pub directory: RuntimeDir,
    /// Who may attach.
    pub access: SocketAccess,
    /// The number of programs at a time.
    pub max_clients: usize,
    /// The number of MEs and MDs of one program.
    pub max_objects: usize,
    /// The bytes of memory that one program may have registered.
    pub max_registered: u64,
    /// The number of pieces of memory that one program may have registered: the node maps each, and the system limits its mappings.
    pub max_registrations: u32,
    /// The number of PUTs and GETs of one program that have not left the node. Further ones wait.
    pub max_requests: u32,
    /// The number of reports that wait for a program which does not read them. One more ends its attachment.
    pub max_unread: usize,
}

impl AttachConfig {
    /// The configuration for a socket in `directory` to which this user has access.
    pub const fn new(directory: RuntimeDir) -> Self {
        Self {
            directory,
            access: SocketAccess { mode: 0o600, group: None },
            max_clients: 64,
            max_objects: 65_536,
            max_registered: 64 << 30,
            max_registrations: 768,
            max_requests: 16_384,
            max_unread: 65_536,
        }
    }
}

/// Says who may attach: an octal mode, or that nobody may.
const MODE: &str = "LNET_ATTACH_MODE";
const NOBODY: &str = "none";
/// The group of the socket, by name or number.
const GROUP: &str = "LNET_ATTACH_GROUP";

impl AttachConfig {
    /// The configuration for a socket in the directory that the environment names. `None`: nobody may attach.
    /// [`io::ErrorKind::InvalidInput`] for an invalid `LNET_ATTACH_MODE` or `LNET_ATTACH_GROUP`.
    pub fn from_env() -> io::Result<Option<Self>> {
        let value = |name| std::env::var(name).unwrap_or_default().trim().to_owned();
        let Some(mode) = mode_of(&value(MODE))? else { return Ok(None) };
        let group = group_of(&value(GROUP))?;
        let config = Self::new(RuntimeDir::from_env());
        Ok(Some(Self { access: SocketAccess { mode, group }, ..config }))
    }
}

/// `None`: nobody may attach.
fn mode_of(text: &str) -> io::Result<Option<u32>> {
    const OWNER: u32 = 0o600;
    match u32::from_str_radix(text, 8) {
        _ if text.is_empty() => Ok(Some(OWNER)),
        _ if text == NOBODY => Ok(None),
        Ok(mode) if mode <= 0o777 => Ok(Some(mode)),
        _ => Err(invalid(format!("{MODE}=\"{text}\": wanted is an octal mode such as 0660, or {NOBODY}"))),
    }
}

fn group_of(text: &str) -> io::Result<Option<u32>> {
    if text.is_empty() {
        return Ok(None);
    }
    if let Ok(number) = text.parse() {
        return Ok(Some(number));
    }
    match Group::from_name(text) {
        Ok(Some(group)) => Ok(Some(group.gid.as_raw())),
        _ => Err(invalid(format!("{GROUP}=\"{text}\": there is no such group"))),
    }
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// The stack size of the server's threads in bytes: a thread carries out whole operations of the core.
const STACK: usize = 512 * 1024;

/// The server for programs. Dropping it calls [`AttachServer::stop`].
#[derive(Debug)]
pub struct AttachServer {
    shared: Arc<Shared>,
    acceptor: Mutex<Option<JoinHandle<()>>>,
}

/// What the threads of the server have in common.
#[derive(Debug)]
struct Shared {
    node: Arc<Node>,
    config: AttachConfig,
    clock: MonotonicClock,
    log: RateLimitedLog,
    /// Wakes the acceptor.
    wake: OwnedFd,
    is_stopping: AtomicBool,
    clients: Mutex<BTreeMap<u64, Running>>,
    next: AtomicU64,
    pids: Pids,
    waiting_calls: WaitingCalls,
    /// Attachments that were refused.
    refused: AtomicU64,
    /// The portals that a program has made lazy, each with these programs.
    lazy_portals: Mutex<BTreeMap<u32, Vec<u64>>>,
}

/// A thread of a program.
#[derive(Debug)]
struct Running {
    /// Wakes the thread.
    wake: Arc<OwnedFd>,
    /// Set when the program is admitted.
    status: Arc<OnceLock<Status>>,
    thread: Option<JoinHandle<()>>,
    has_ended: bool,
}

impl AttachServer {
    /// Admits programs to `node`. [`io::ErrorKind::AddrInUse`] if a process listens on the socket.
    pub fn start(config: AttachConfig, node: &Arc<Node>) -> io::Result<Self> {
        let path = config.directory.attach_socket(node.name());
        let named = NamedSocket::bind(&config.directory, &path, config.access)?;
        let shared = Arc::new(Shared {
            node: Arc::clone(node),
            config,
            clock: MonotonicClock::start(),
            log: RateLimitedLog::new(),
            wake: new_eventfd()?,
            is_stopping: AtomicBool::new(false),
            clients: Mutex::default(),
            next: AtomicU64::new(1),
            pids: Pids::default(),
            waiting_calls: WaitingCalls::new(STACK),
            refused: AtomicU64::new(0),
            lazy_portals: Mutex::default(),
        });
        let builder = thread::Builder::new().name("lnet_attach".to_owned()).stack_size(STACK);
        let for_thread = Arc::clone(&shared);
        let thread = lnet_os::thread::spawn(builder, move || for_thread.accept(&named))?;
        Ok(Self { shared, acceptor: Mutex::new(Some(thread)) })
    }

    /// Whether a program is attached.
    pub fn has_programs(&self) -> bool {
        !self.shared.pids.are_unused()
    }

    /// The programs that are attached, and the number of those that were refused.
    pub fn programs(&self) -> AttachedPrograms {
        let now = self.shared.clock.now();
        let clients = lock(&self.shared.clients);
        let attached = clients.values().filter(|client| !client.has_ended);
        let statuses: Vec<Arc<OnceLock<Status>>> = attached.map(|its| Arc::clone(&its.status)).collect();
        drop(clients);
        let programs = statuses.iter().filter_map(|status| status.get()).map(|status| status.show(now));
        AttachedPrograms {
            programs: programs.collect(),
            refused: self.shared.refused.load(Ordering::Relaxed),
        }
    }

    /// Ends all attachments, and admits no more programs: their calls fail with `-ENETDOWN` from now on. Their MEs and MDs are gone when
    /// this returns. A second call has no effect.
    pub fn stop(&self) {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        wake(&self.shared.wake);
        let acceptor = lock(&self.acceptor).take();
        acceptor.map(JoinHandle::join);
        let running = std::mem::take(&mut *lock(&self.shared.clients));
        running.values().for_each(|client| wake(&client.wake));
        running.into_values().filter_map(|client| client.thread).for_each(|thread| _ = thread.join());
    }
}

impl Drop for AttachServer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    /// Accepts programs until the server stops.
    fn accept(self: &Arc<Self>, named: &NamedSocket) {
        let mut is_pausing = false;
        while !self.is_stopping.load(Ordering::SeqCst) {
            let mut waited_for = vec![PollFd::new(&self.wake, PollFlags::IN)];
            if !is_pausing {
                waited_for.push(PollFd::new(&named.socket, PollFlags::IN));
            }
            // An error, such as EINTR, is as good as an event.
            _ = poll(&mut waited_for, Some(accept_timeout(is_pausing)));
            self.log.poll(self.clock.now());
            is_pausing = false;
            self.join_ended();
            match accept_unix(&named.socket) {
                Ok(stream) => self.admit(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => {
                    self.log(
                        LogClass::AttachRefused,
                        "socket",
                        format_args!("no program can attach ({error}); the node tries again"),
                    );
                    is_pausing = true;
                }
            }
        }
    }

    /// Starts the thread of a program.
    fn admit(self: &Arc<Self>, stream: UnixStream) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let cred = PeerCred::of(&stream).ok();
        let user = cred.map_or_else(|| "unknown user".to_owned(), |cred| format!("uid {}", cred.user));
        let mut clients = lock(&self.clients);
        if clients.len() >= self.config.max_clients {
            drop(clients);
            let limit = self.config.max_clients;
            return client::refuse(
                self,
                &stream,
                &user,
                &format!("{limit} programs are attached, which is the limit"),
            );
        }
        let started = new_eventfd().and_then(|wake| {
            let wake = Arc::new(wake);
            let status = Arc::new(OnceLock::new());
            let (shared, own_wake, own_status) = (Arc::clone(self), Arc::clone(&wake), Arc::clone(&status));
            let builder = thread::Builder::new().name(format!("lnet_attach_{id:02}")).stack_size(STACK);
            let thread = lnet_os::thread::spawn(builder, move || {
                let place = Place { shared: &shared, id, wake: &own_wake, status: &own_status };
                Client::run(place, stream, cred);
                shared.note_end(id);
            })?;
            Ok(Running { wake, status, thread: Some(thread), has_ended: false })
        });
        match started {
            // The thread does not access the table before this function releases the lock.
            Ok(running) => _ = clients.insert(id, running),
            Err(error) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                self.log(
                    LogClass::AttachRefused,
                    &user,
                    format_args!("program of {user} not attached (no thread for it: {error})"),
                );
            }
        }
    }

    fn note_end(&self, id: u64) {
        if let Some(client) = lock(&self.clients).get_mut(&id) {
            client.has_ended = true;
        }
        wake(&self.wake);
    }

    fn join_ended(&self) {
        let mut counter = [0; 8];
        // Empties the counter.
        _ = rustix::io::read(&self.wake, &mut counter);
        let ended: Vec<Running> = lock(&self.clients)
            .extract_if(.., |_, client| client.has_ended)
            .map(|(_, client)| client)
            .collect();
        ended.into_iter().filter_map(|client| client.thread).for_each(|thread| _ = thread.join());
    }

    fn log(&self, class: LogClass, subject: &str, line: Arguments<'_>) {
        self.log.write(self.clock.now(), class, subject, line);
    }

    /// Records that a program makes a portal lazy.
    fn note_lazy(&self, portal: u32, client: u64) {
        let mut all = lock(&self.lazy_portals);
        let clients = all.entry(portal).or_default();
        if !clients.contains(&client) {
            clients.push(client);
        }
    }

    /// Forgets that a program has made portals lazy: this one, or all. Returns those that no other program has made so.
    fn forget_lazy(&self, portal: Option<u32>, client: u64) -> Vec<u32> {
        let mut all = lock(&self.lazy_portals);
        let is_meant = |its: &u32, clients: &mut Vec<u64>| {
            let was = clients.len();
            if portal.is_none_or(|portal| portal == *its) {
                clients.retain(|other| *other != client);
            }
            was > 0 && clients.is_empty()
        };
        all.extract_if(.., is_meant).map(|(portal, _)| portal).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_attach_is_a_mode_and_a_group() {
        for (text, expected) in [("", Some(0o600)), ("0660", Some(0o660)), ("none", None)] {
            assert_eq!(mode_of(text).unwrap(), expected, "{text}");
        }
        for text in ["rw", "1777", "888", "no"] {
            assert!(mode_of(text).unwrap_err().to_string().contains("LNET_ATTACH_MODE"), "{text}");
        }
        for (text, expected) in [("", None), ("0", Some(0)), ("root", Some(0)), ("7", Some(7))] {
            assert_eq!(group_of(text).unwrap(), expected, "{text}");
        }
        assert!(group_of("no such group").unwrap_err().to_string().contains("LNET_ATTACH_GROUP"));
    }
}
