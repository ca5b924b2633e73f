//! The connecting thread: listeners, all handshakes in progress, planned calls, and the once-in-a-while scan
//! for what has taken too long.
//!
//! Nothing here ever waits for one peer: all sockets are in one epoll set, all waits are deadlines.

mod active;
mod passive;

use crate::complaints::Reason;
use crate::config::SocklndConfig;
use crate::conn::Connection;
use crate::conn::unresponsive::{self, Found, Watched};
use crate::decide::cause::ConnError;
use crate::decide::dial::Next;
use crate::driver::Shared;
use crate::ni::SockNi;
use crate::peer::{Consequence, Peer};
use crate::sync::lock;
use crate::wake::{WAKE, Wake, epoll_with_wake};
use active::Active;
use passive::Passive;
use rustix::event::{Timespec, epoll};
use slab::Slab;
use socket2::Socket;
use std::collections::{HashMap, VecDeque, hash_map};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Events taken from the kernel at once.
const EVENTS: usize = 64;
/// After a peer has been found unresponsive the others get less time, for so long.
const ALARMED: Duration = Duration::from_secs(3);
/// How often things are checked that take longer than that to go wrong.
const SCAN: Duration = Duration::from_millis(200);

/// What other threads see of the connecting thread.
pub(crate) struct Connd {
    epoll: OwnedFd,
    wake: Wake,
    commands: Mutex<Commands>,
    listening: Mutex<HashMap<SocketAddr, Listening>>,
    /// Connections on which something may be under way.
    watched: Watched,
    /// It has been said that privileged ports are not to be had.
    said_unprivileged: AtomicBool,
}

struct Listening {
    /// How many interfaces have this address.
    interfaces: usize,
    /// The socket, until connecting peers are let in.
    unopened: Option<Socket>,
}

#[derive(Default)]
struct Commands {
    queue: VecDeque<Command>,
    stop: bool,
    /// Nobody will look at the queue any more.
    over: bool,
}

enum Command {
    Dial(Arc<Peer>),
    Abandon(Arc<Peer>),
    Listen(Socket, SocketAddr),
    Remove(Arc<SockNi>, Arc<Removed>),
}

/// Where a thread waits until an interface is removed.
#[derive(Default)]
struct Removed(Mutex<bool>, Condvar);

impl Connd {
    pub(crate) fn new() -> io::Result<Self> {
        let (epoll, wake) = epoll_with_wake()?;
        Ok(Self {
            epoll,
            wake,
            commands: Mutex::default(),
            listening: Mutex::default(),
            watched: Watched::default(),
            said_unprivileged: AtomicBool::new(false),
        })
    }

    /// Has `peer` called, for whatever it wants.
    pub(crate) fn dial(&self, peer: &Arc<Peer>) {
        self.command(Command::Dial(Arc::clone(peer)));
    }

    /// Has the call to `peer` that is under way given up.
    pub(crate) fn abandon(&self, peer: &Arc<Peer>) {
        self.command(Command::Abandon(Arc::clone(peer)));
    }

    /// Has `connection` looked at until what was written to it has arrived.
    pub(crate) fn watch_tx(&self, connection: &Arc<Connection>) {
        if self.watched.add(connection) {
            self.wake();
        }
    }

    /// Listens on `address`, with a socket made by `listen` if no other interface listens there. Connecting peers wait
    /// in the system's queue until [`Connd::open`].
    pub(crate) fn listen(
        &self,
        address: SocketAddr,
        listen: impl FnOnce() -> io::Result<Socket>,
    ) -> io::Result<()> {
        match lock(&self.listening).entry(address) {
            hash_map::Entry::Occupied(mut listening) => listening.get_mut().interfaces += 1,
            hash_map::Entry::Vacant(vacant) => {
                vacant.insert(Listening { interfaces: 1, unopened: Some(listen()?) });
            }
        }
        Ok(())
    }

    /// Connecting peers on `address` are let in from now on.
    pub(crate) fn open(&self, address: SocketAddr) {
        let unopened =
            lock(&self.listening).get_mut(&address).and_then(|listening| listening.unopened.take());
        if let Some(socket) = unopened {
            self.command(Command::Listen(socket, address));
        }
    }

    /// Ends listening, calls and handshakes of an interface. When this returns the connecting thread makes
    /// no upcall for it any more. Not from the connecting thread itself, which would wait for itself.
    pub(crate) fn remove_ni(&self, ni: &Arc<SockNi>) {
        let removed = Arc::new(Removed::default());
        if !self.command(Command::Remove(Arc::clone(ni), Arc::clone(&removed)))
            || crate::driver::is_driver_thread()
        {
            return;
        }
        let mut done = lock(&removed.0);
        while !*done {
            done = removed.1.wait(done).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn stop(&self) {
        lock(&self.commands).stop = true;
        self.wake();
    }

    /// The thread.
    pub(crate) fn run(&self, shared: &Arc<Shared>) {
        Work::new(self, shared).run();
        let left = {
            let mut commands = lock(&self.commands);
            commands.over = true;
            std::mem::take(&mut commands.queue)
        };
        for command in left {
            if let Command::Remove(_, removed) = command {
                removed.note();
            }
        }
    }

    /// False when nobody will carry it out.
    fn command(&self, command: Command) -> bool {
        let mut commands = lock(&self.commands);
        if commands.over {
            return false;
        }
        commands.queue.push_back(command);
        drop(commands);
        self.wake();
        true
    }

    fn wake(&self) {
        self.wake.wake();
    }

    /// Whether an interface was the last to listen on its address.
    fn stop_listening(&self, address: SocketAddr) -> bool {
        let mut all = lock(&self.listening);
        let Some(listening) = all.get_mut(&address) else { return false };
        listening.interfaces -= 1;
        let last = listening.interfaces == 0;
        if last {
            all.remove(&address);
        }
        last
    }
}

impl Removed {
    fn note(&self) {
        *lock(&self.0) = true;
        self.1.notify_all();
    }
}

/// The thread's own state.
struct Work<'a> {
    connd: &'a Connd,
    shared: &'a Arc<Shared>,
    entries: Slab<Entry>,
    /// Planned calls, in no order: there are few.
    planned: Vec<(Instant, Arc<Peer>)>,
    next_scan: Instant,
    /// When the connections are looked at on which something may be under way.
    next_look: Option<Instant>,
    /// When a peer was last found unresponsive.
    last_unresponsive: Option<Instant>,
}

enum Entry {
    Listener(Socket, SocketAddr),
    Passive(Passive),
    Active(Active),
}

impl Entry {
    fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Listener(..) => None,
            Self::Passive(passive) => Some(passive.deadline),
            Self::Active(active) => Some(active.deadline.min(active.next_ask)),
        }
    }
}

impl<'a> Work<'a> {
    fn new(connd: &'a Connd, shared: &'a Arc<Shared>) -> Self {
        let next_scan = Instant::now() + scan_interval(&shared.config);
        Self {
            connd,
            shared,
            entries: Slab::new(),
            planned: Vec::new(),
            next_scan,
            next_look: None,
            last_unresponsive: None,
        }
    }

    fn run(&mut self) {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(EVENTS);
        loop {
            let timeout = self.next_deadline().saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(timeout).ok();
            events.clear();
            // Interrupted or not: then there are no events.
            let _ =
                epoll::wait(&self.connd.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref());
            for event in &events {
                match event.data.u64() {
                    WAKE => {}
                    token => self.on_event(token as usize),
                }
            }
            if !self.carry_out_commands() {
                return;
            }
            self.on_time(Instant::now());
        }
    }

    fn carry_out_commands(&mut self) -> bool {
        loop {
            let command = {
                let mut commands = lock(&self.connd.commands);
                if commands.stop {
                    return false;
                }
                commands.queue.pop_front()
            };
            match command {
                None => return true,
                Some(Command::Dial(peer)) => self.call(&peer),
                Some(Command::Abandon(peer)) => self.abandon(&peer),
                Some(Command::Listen(socket, address)) => {
                    self.watch(Entry::Listener(socket, address), epoll::EventFlags::IN);
                }
                Some(Command::Remove(ni, removed)) => {
                    self.remove_ni(&ni);
                    removed.note();
                }
            }
        }
    }

    fn on_event(&mut self, key: usize) {
        match self.entries.get(key) {
            Some(Entry::Listener(..)) => self.accept_all(key),
            Some(Entry::Passive(_)) => self.read_passive(key),
            Some(Entry::Active(_)) => self.continue_connect(key),
            // Dropped by an event before this one.
            None => {}
        }
    }

    fn on_time(&mut self, now: Instant) {
        let late = |entry: &Entry| entry.deadline().is_some_and(|deadline| deadline <= now);
        let keys: Vec<usize> =
            self.entries.iter().filter(|(_, entry)| late(entry)).map(|(key, _)| key).collect();
        for key in keys {
            match self.entries.get(key) {
                Some(Entry::Active(active)) if active.deadline > now => self.ask_about_call(key, now),
                Some(Entry::Active(_)) => self.connect_timed_out(key),
                _ => {
                    if let Some(Entry::Passive(passive)) = self.forget(key) {
                        passive.timed_out(self.shared);
                    }
                }
            }
        }
        let mut due = Vec::new();
        self.planned.retain(|(at, peer)| {
            let is_due = *at <= now;
            if is_due {
                due.push(Arc::clone(peer));
            }
            !is_due
        });
        for peer in due {
            if !peer.ni.is_ending() && peer.is_due(now) {
                self.call(&peer);
            }
        }
        if self.next_look.is_some_and(|at| at <= now) {
            self.next_look = None;
            self.check_unresponsive(now);
        }
        if self.next_look.is_none() && self.connd.watched.is_looking() {
            self.next_look = Some(now + unresponsive::INTERVAL);
        }
        if self.next_scan <= now {
            self.next_scan = now + scan_interval(&self.shared.config);
            self.scan(now);
        }
    }

    /// Finds out which paths are unresponsive, or no more. Ends connections if what is under way may take another path and
    /// would be known again, or if the peer wants other ones.
    fn check_unresponsive(&mut self, now: Instant) {
        let limit = self.unresponsive_limit(now);
        for (connection, found) in self.connd.watched.look(now, limit) {
            let peer = &connection.peer;
            if found == Found::Responsive {
                peer.note_responsive();
                continue;
            }
            let is_heard = found == Found::Unacknowledged;
            if !is_heard && peer.is_heard(limit) {
                continue;
            }
            if !is_heard && connection.is_lost(now, limit) {
                peer.ni.counts.timed_out.add();
                let line = format_args!(
                    "closing the connections to {}: nothing answers there any more, and it calls again",
                    peer.name()
                );
                self.shared.complaints.say(Reason::Stalled, line);
                peer.end_all(ConnError::Stalled);
                continue;
            }
            let (name, ms) = (peer.name(), limit.as_millis());
            let what = if is_heard { "acknowledged" } else { "heard" };
            match peer.note_unresponsive(now, is_heard) {
                Consequence::GiveUp => {
                    self.last_unresponsive = Some(now);
                    peer.ni.counts.unresponsive.add();
                    log::warn!(
                        "{name}: nothing heard for {ms} ms, and there is another path; closing its connections"
                    );
                    peer.give_up(ConnError::Unresponsive);
                }
                Consequence::Stay { is_new, moved: 0 } => {
                    if is_new {
                        self.last_unresponsive = Some(now);
                        log::debug!("{name}: nothing {what} for {ms} ms; its connections stay");
                    }
                }
                Consequence::Stay { moved, .. } => {
                    self.last_unresponsive = Some(now);
                    peer.ni.counts.unresponsive.add();
                    log::warn!(
                        "{name}: nothing {what} for {ms} ms; {moved} unsent messages take other paths, \
                         and its connections stay"
                    );
                }
                Consequence::Nothing => {}
            }
        }
    }

    /// How long a peer may be unresponsive at this time. A rail that dies takes several pairs of interfaces along, and what goes
    /// from one of them to the next is not to wait as long each time.
    fn unresponsive_limit(&self, now: Instant) -> Duration {
        let usual = self.shared.config.unresponsive_timeout;
        let alarmed = self.last_unresponsive.is_some_and(|at| now.saturating_duration_since(at) < ALARMED);
        if alarmed { usual / 2 } else { usual }
    }

    /// Looks for what has taken too long.
    fn scan(&mut self, now: Instant) {
        for ni in self.shared.nis() {
            for connection in ni.all_connections() {
                if connection.is_overdue(now) {
                    ni.counts.timed_out.add();
                    let line =
                        format_args!("closing the connections to {}: it has stalled", connection.peer.name());
                    self.shared.complaints.say(Reason::Stalled, line);
                    connection.peer.end(&connection, ConnError::Stalled);
                }
            }
            for peer in ni.all_peers() {
                peer.scan(now);
            }
        }
        self.shared.nodes.scan(now);
        // A listener is deaf after an error until now.
        for (key, entry) in &self.entries {
            if let Entry::Listener(socket, _) = entry {
                let data = epoll::EventData::new_u64(key as u64);
                // It stays deaf until the next scan, at worst.
                let _ = epoll::modify(&self.connd.epoll, socket, data, epoll::EventFlags::IN);
            }
        }
    }

    fn remove_ni(&mut self, ni: &Arc<SockNi>) {
        use crate::decide::identity::IpNid;
        let address = SocketAddr::new(ni.own.nid.ip(), self.shared.config.accept_port);
        let deaf = self.connd.stop_listening(address);
        let of_this = |entry: &Entry| match entry {
            Entry::Listener(_, listening) => deaf && *listening == address,
            Entry::Passive(passive) => passive.target() == Some(ni.own.nid),
            Entry::Active(active) => Arc::ptr_eq(&active.peer.ni, ni),
        };
        let keys: Vec<usize> =
            self.entries.iter().filter(|(_, entry)| of_this(entry)).map(|(key, _)| key).collect();
        for key in keys {
            drop(self.forget(key));
        }
        self.planned.retain(|(_, peer)| !Arc::ptr_eq(&peer.ni, ni));
    }

    /// What follows from a call that brought no connection.
    fn go_on(&mut self, peer: &Arc<Peer>, next: Next) {
        match next {
            Next::Now => self.call(peer),
            Next::At(at) | Next::Failed(at) => self.planned.push((at, Arc::clone(peer))),
            Next::Enough => {}
        }
    }

    /// Adds a socket. `None`: the system has no room for it, and it is closed.
    fn watch(&mut self, entry: Entry, flags: epoll::EventFlags) -> Option<usize> {
        let key = self.entries.insert(entry);
        let data = epoll::EventData::new_u64(key as u64);
        let added = match self.entries.get(key).map(Entry::socket) {
            Some(socket) => epoll::add(&self.connd.epoll, socket, data, flags).is_ok(),
            None => false,
        };
        if !added {
            log::error!("no room to watch a socket");
            drop(self.forget(key));
            return None;
        }
        Some(key)
    }

    /// Takes a socket out. The kernel forgets it when it is closed; one that lives on must be taken out of
    /// the epoll set, too.
    fn forget(&mut self, key: usize) -> Option<Entry> {
        let entry = self.entries.try_remove(key)?;
        // It is not in there if adding it failed.
        let _ = epoll::delete(&self.connd.epoll, entry.socket());
        Some(entry)
    }

    fn next_deadline(&self) -> Instant {
        let deadlines = self.entries.iter().filter_map(|(_, entry)| entry.deadline());
        let planned = self.planned.iter().map(|(at, _)| *at);
        deadlines.chain(planned).chain(self.next_look).fold(self.next_scan, Instant::min)
    }
}

impl Entry {
    fn socket(&self) -> &Socket {
        match self {
            Self::Listener(socket, _) => socket,
            Self::Passive(passive) => &passive.socket,
            Self::Active(active) => &active.socket,
        }
    }
}

impl Connd {
    /// Says, once, that peers in secure mode will not accept calls from here.
    fn say_unprivileged(&self) {
        if !self.said_unprivileged.swap(true, Ordering::Relaxed) {
            log::info!(
                "calling from unprivileged ports: this process may not bind ports below 1024; peers accept \
                 that only with accept=all"
            );
        }
    }
}

fn scan_interval(config: &SocklndConfig) -> Duration {
    let mut interval = match config.sock_timeout {
        Duration::ZERO => SCAN,
        set => SCAN.min(set / 8),
    };
    if !config.keepalive.is_zero() {
        interval = interval.min(config.keepalive / 4);
    }
    interval.max(Duration::from_millis(10))
}
