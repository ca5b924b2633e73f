//! Commands of other threads to the connecting thread.

use crate::conn::Connection;
use crate::conn::watch::WatchList;
use crate::driver_thread::is_driver_thread;
use crate::peer::Peer;
use crate::sync::lock;
use crate::wake::{Wake, epoll_with_wake};
use lnet_wire::Nid;
use socket2::Socket;
use std::collections::{HashMap, VecDeque, hash_map};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// The queue of commands, the listening sockets, and the watch list.
pub(crate) struct Commands {
    pub(super) epoll: OwnedFd,
    wake: Arc<Wake>,
    queue: Mutex<Queue>,
    listening: Mutex<HashMap<SocketAddr, Listening>>,
    watch_list: Arc<WatchList<Connection>>,
}

/// A command to the connecting thread.
pub(super) enum Command {
    /// Connect to this peer, for the connection that it lacks.
    Connect(Arc<Peer>),
    /// Give up the connect to this peer that is under way.
    Abandon(Arc<Peer>),
    /// Accept connections on this address.
    Listen(Socket, SocketAddr),
    /// Drop everything that belongs to this NI.
    Remove(Nid, Arc<Removed>),
    /// End the thread.
    Stop,
}

/// Signal for a thread that waits until an NI is removed.
#[derive(Default)]
pub(super) struct Removed(Mutex<bool>, Condvar);

struct Listening {
    /// Number of NIs that have this address.
    nis: usize,
    /// The socket, until connections are accepted.
    unopened: Option<Socket>,
}

#[derive(Default)]
struct Queue {
    commands: VecDeque<Command>,
    stop: bool,
    /// Whether the thread has ended.
    over: bool,
}

impl Commands {
    pub(crate) fn new() -> io::Result<Self> {
        let (epoll, wake) = epoll_with_wake()?;
        let wake = Arc::new(wake);
        Ok(Self {
            epoll,
            watch_list: Arc::new(WatchList::new(Arc::clone(&wake))),
            wake,
            queue: Mutex::default(),
            listening: Mutex::default(),
        })
    }

    /// Connects to `peer`, for the connection that it lacks.
    pub(crate) fn connect(&self, peer: Arc<Peer>) {
        self.push(Command::Connect(peer));
    }

    /// Gives up the connect to `peer` that is under way.
    pub(crate) fn abandon(&self, peer: Arc<Peer>) {
        self.push(Command::Abandon(peer));
    }

    /// The connections on which something may be under way.
    pub(crate) fn watch_list(&self) -> &Arc<WatchList<Connection>> {
        &self.watch_list
    }

    /// Listens on `address`, with a socket made by `listen` if no other NI listens there. Peers that connect wait in the
    /// system's queue until [`Commands::open`].
    pub(crate) fn listen(
        &self,
        address: SocketAddr,
        listen: impl FnOnce() -> io::Result<Socket>,
    ) -> io::Result<()> {
        match lock(&self.listening).entry(address) {
            hash_map::Entry::Occupied(mut listening) => listening.get_mut().nis += 1,
            hash_map::Entry::Vacant(vacant) => {
                vacant.insert(Listening { nis: 1, unopened: Some(listen()?) });
            }
        }
        Ok(())
    }

    /// Starts to accept connections to `address`.
    pub(crate) fn open(&self, address: SocketAddr) {
        let unopened =
            lock(&self.listening).get_mut(&address).and_then(|listening| listening.unopened.take());
        if let Some(socket) = unopened {
            self.push(Command::Listen(socket, address));
        }
    }

    /// Ends listening, connects and handshakes of an NI. When this returns the connecting thread makes no upcall for it
    /// any more, unless the calling thread is the driver's: that must not wait, perhaps for itself.
    pub(crate) fn remove_ni(&self, nid: Nid) {
        let removed = Arc::new(Removed::default());
        if self.push(Command::Remove(nid, Arc::clone(&removed))) && !is_driver_thread() {
            removed.wait();
        }
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        lock(&self.queue).stop = true;
        self.wake.wake();
    }

    /// The next command, if there is one.
    pub(super) fn next(&self) -> Option<Command> {
        let mut queue = lock(&self.queue);
        if queue.stop { Some(Command::Stop) } else { queue.commands.pop_front() }
    }

    /// Marks the thread as ended: commands are no longer carried out.
    pub(super) fn end(&self) {
        let left = {
            let mut queue = lock(&self.queue);
            queue.over = true;
            std::mem::take(&mut queue.commands)
        };
        for command in left {
            if let Command::Remove(_, removed) = command {
                removed.note();
            }
        }
    }

    /// Notes that an NI no longer listens on `address`; returns whether it was the last.
    pub(crate) fn stop_listening(&self, address: SocketAddr) -> bool {
        let mut all = lock(&self.listening);
        let Some(listening) = all.get_mut(&address) else { return false };
        listening.nis -= 1;
        let last = listening.nis == 0;
        if last {
            all.remove(&address);
        }
        last
    }

    /// Queues a command; false when the thread has ended.
    fn push(&self, command: Command) -> bool {
        let mut queue = lock(&self.queue);
        if queue.over {
            return false;
        }
        queue.commands.push_back(command);
        drop(queue);
        self.wake.wake();
        true
    }
}

impl Removed {
    pub(super) fn note(&self) {
        *lock(&self.0) = true;
        self.1.notify_all();
    }

    fn wait(&self) {
        let mut done = lock(&self.0);
        while !*done {
            done = self.1.wait(done).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
