//! The connecting thread: listeners, all handshakes in progress, planned connects, and the periodic scan for handshakes and
//! messages that have timed out.
//!
//! The thread never waits for one peer: all sockets are in one epoll set, all waits are deadlines.

mod active;
pub(crate) mod commands;
mod entry;
mod passive;

use crate::config::SocklndConfig;
use crate::conn::watch::CHECK_INTERVAL;
use crate::ni_table::NiTable;
use crate::peer::Peer;
use crate::remote_nodes::RemoteNodes;
use crate::shared::Shared;
use crate::wake::WAKE;
use commands::{Command, Commands};
use entry::Handshake;
use lnd_common::conn_error::ConnError;
use lnd_common::connect_schedule::Next;
use lnet_core::Time;
use lnet_log::LogClass;
use lnet_wire::Nid;
use rustix::event::{Timespec, epoll};
use slab::Slab;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of events taken from the kernel at once.
const EVENTS: usize = 64;
/// Interval of the scan for timeouts; each timeout is longer.
const SCAN_INTERVAL: Duration = Duration::from_millis(200);
/// Interval of the scan while nothing is under way.
const IDLE_SCAN_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum lag of the node's clock.
const CLOCK_TICK: Duration = Duration::from_millis(4);

/// Time after a peer has become unresponsive during which a shorter limit applies to the others.
const SHORTENED: Duration = Duration::from_secs(3);

/// The thread's own state.
pub(crate) struct Connd {
    shared: Arc<Shared>,
    commands: Arc<Commands>,
    nis: Arc<NiTable>,
    nodes: Arc<RemoteNodes>,
    entries: Slab<Handshake>,
    /// Planned connects, in no order: there are few.
    planned: Vec<(Time, Arc<Peer>)>,
    next_scan: Time,
    /// The time of the next check of the watched connections.
    next_check: Option<Time>,
    /// The time when a peer was last found unresponsive.
    last_unresponsive: Option<Time>,
    /// Whether a log line has said that privileged ports are not available.
    logged_unprivileged: bool,
}

impl Connd {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        commands: &Arc<Commands>,
        nis: &Arc<NiTable>,
        nodes: &Arc<RemoteNodes>,
    ) -> Self {
        Self {
            next_scan: shared.now() + scan_interval(&shared.config, SCAN_INTERVAL),
            shared: Arc::clone(shared),
            commands: Arc::clone(commands),
            nis: Arc::clone(nis),
            nodes: Arc::clone(nodes),
            entries: Slab::new(),
            planned: Vec::new(),
            next_check: None,
            last_unresponsive: None,
            logged_unprivileged: false,
        }
    }

    /// Runs the thread until [`Commands::stop`].
    pub(crate) fn run(mut self) {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(EVENTS);
        loop {
            let timeout = match self.next_deadline().since(self.shared.now()) {
                Duration::ZERO => Duration::ZERO,
                left => left + CLOCK_TICK,
            };
            let timeout = Timespec::try_from(timeout).ok();
            events.clear();
            // Interrupted or not: then there are no events.
            let _ = epoll::wait(
                &self.commands.epoll,
                rustix::buffer::spare_capacity(&mut events),
                timeout.as_ref(),
            );
            for event in &events {
                match event.data.u64() {
                    WAKE => {}
                    token => self.on_event(token as usize),
                }
            }
            if !events.is_empty() {
                self.next_scan = self.next_scan.min(self.shared.now() + self.scan_interval());
            }
            if !self.carry_out_commands() {
                return self.commands.end();
            }
            self.on_time(self.shared.now());
        }
    }

    /// Carries out all queued commands; false when the thread is to end.
    fn carry_out_commands(&mut self) -> bool {
        loop {
            match self.commands.next() {
                None => return true,
                Some(Command::Stop) => return false,
                Some(Command::Connect(peer)) => self.connect(&peer),
                Some(Command::Abandon(peer)) => self.abandon(&peer),
                Some(Command::Listen(socket, address)) => {
                    self.watch(Handshake::Listener(socket, address), epoll::EventFlags::IN);
                }
                Some(Command::Remove(nid, removed)) => {
                    self.remove_ni(nid);
                    removed.note();
                }
            }
        }
    }

    fn on_event(&mut self, key: usize) {
        match self.entries.get(key) {
            Some(Handshake::Listener(..)) => self.accept_all(key),
            Some(Handshake::Passive(_)) => self.read_passive(key),
            Some(Handshake::Active(_)) => self.continue_connect(key),
            // Dropped by an event before this one.
            None => {}
        }
    }

    fn on_time(&mut self, now: Time) {
        let late = |entry: &Handshake| entry.deadline().is_some_and(|deadline| deadline <= now);
        let keys: Vec<usize> =
            self.entries.iter().filter(|(_, entry)| late(entry)).map(|(key, _)| key).collect();
        for key in keys {
            match self.entries.get(key) {
                Some(Handshake::Active(active)) if active.deadline > now => self.check_connect(key, now),
                Some(Handshake::Active(_)) => self.connect_timed_out(key),
                _ => self.handshake_timed_out(key),
            }
        }
        let due: Vec<_> = self.planned.extract_if(.., |(at, _)| *at <= now).collect();
        for (_, peer) in due {
            if !peer.ni.is_ending() && peer.is_due(now) {
                self.connect(&peer);
            }
        }
        if self.next_check.is_some_and(|at| at <= now) {
            self.next_check = None;
            self.check_unresponsive(now);
        }
        if self.next_check.is_none() && self.commands.watch_list().is_active() {
            self.next_check = Some(now + CHECK_INTERVAL);
        }
        if self.next_scan <= now {
            let is_idle = self.scan(now);
            self.next_scan = now + if is_idle { self.idle_scan_interval() } else { self.scan_interval() };
        }
    }

    /// Checks the watched connections.
    fn check_unresponsive(&mut self, now: Time) {
        let limit = self.unresponsive_limit(now);
        let found = self.commands.watch_list().check_all(|connection| connection.check(now, limit));
        for (connection, found) in found {
            if connection.report(found, now, limit) {
                self.last_unresponsive = Some(now);
            }
        }
    }

    /// Returns how long a peer may be unresponsive at `now`. A rail that dies takes several paths along, and a message
    /// that is resent from one of them to the next must not wait as long each time.
    fn unresponsive_limit(&self, now: Time) -> Duration {
        let usual = self.shared.config.unresponsive_timeout;
        let shortened = self.last_unresponsive.is_some_and(|at| now.since(at) < SHORTENED);
        if shortened { usual / 2 } else { usual }
    }

    /// Ends whatever has timed out. Returns whether nothing is in progress.
    fn scan(&mut self, now: Time) -> bool {
        let mut is_idle = self.planned.is_empty();
        for ni in self.nis.all() {
            for connection in ni.all_connections() {
                if connection.is_overdue(now) {
                    ni.ni.note_stalled(connection.terms.identity.id, "no progress");
                    connection.end(ConnError::Stalled);
                }
                is_idle &= connection.is_idle(now);
            }
            for peer in ni.all_peers() {
                is_idle &= peer.scan(now);
            }
        }
        self.nodes.scan(now);
        self.shared.poll_log(now);
        // A listener is not polled after an error until now.
        for (key, entry) in &self.entries {
            match entry {
                Handshake::Listener(socket, _) => {
                    let data = epoll::EventData::new_u64(key as u64);
                    // If that fails, the next scan tries again.
                    let _ = epoll::modify(&self.commands.epoll, socket, data, epoll::EventFlags::IN);
                }
                Handshake::Passive(_) | Handshake::Active(_) => is_idle = false,
            }
        }
        is_idle
    }

    fn scan_interval(&self) -> Duration {
        scan_interval(&self.shared.config, SCAN_INTERVAL)
    }

    /// Interval of the scan while nothing is in progress: an eighth of the shortest timeout at most, so that new work is
    /// late only after several scans.
    fn idle_scan_interval(&self) -> Duration {
        let shortest = self.nis.all().iter().map(|ni| ni.ni.sock_timeout()).min();
        let longest = shortest.map_or(IDLE_SCAN_INTERVAL, |timeout| IDLE_SCAN_INTERVAL.min(timeout / 8));
        scan_interval(&self.shared.config, longest)
    }

    fn remove_ni(&mut self, nid: Nid) {
        use crate::decide::identity::IpNid;
        let address_of = |port| SocketAddr::new(nid.ip(), port);
        let unused = self.shared.config.ports().map(address_of);
        let unused: Vec<SocketAddr> =
            unused.filter(|address| self.commands.stop_listening(*address)).collect();
        let of_this = |entry: &Handshake| match entry {
            Handshake::Listener(_, listening) => unused.contains(listening),
            // A handshake whose NI is not known yet can be for no other NI on this address.
            entry => entry.is_of(nid) || unused.iter().any(|address| entry.is_inbound_at(address.ip())),
        };
        let keys: Vec<usize> =
            self.entries.iter().filter(|(_, entry)| of_this(entry)).map(|(key, _)| key).collect();
        for key in keys {
            drop(self.forget(key));
        }
        self.planned.retain(|(_, peer)| peer.ni.local.nid != nid);
    }

    /// Repeats a connect that brought no connection: now, later, or not at all.
    fn plan_next_connect(&mut self, peer: &Arc<Peer>, next: Next) {
        peer.end_early();
        match next {
            Next::Now => self.connect(peer),
            Next::At(at) | Next::Failed(at) => self.planned.push((at, Arc::clone(peer))),
            Next::Enough => {}
        }
    }

    /// Adds a socket to the epoll set. `None`: the system does not poll it, and it is closed.
    fn watch(&mut self, entry: Handshake, flags: epoll::EventFlags) -> Option<usize> {
        let key = self.entries.insert(entry);
        let data = epoll::EventData::new_u64(key as u64);
        let added = match self.entries.get(key).map(Handshake::socket) {
            Some(socket) => epoll::add(&self.commands.epoll, socket, data, flags),
            None => Ok(()),
        };
        if let Err(error) = added {
            self.shared.log(
                LogClass::SocketUnpolled,
                "socket",
                format_args!("socket: cannot be polled ({error}); closing it"),
            );
            drop(self.forget(key));
            return None;
        }
        Some(key)
    }

    /// Removes a socket. The kernel forgets a socket that is closed; one that stays open must be removed from
    /// the epoll set, too.
    fn forget(&mut self, key: usize) -> Option<Handshake> {
        let entry = self.entries.try_remove(key)?;
        // The socket is not in the set if adding it failed.
        let _ = epoll::delete(&self.commands.epoll, entry.socket());
        Some(entry)
    }

    fn next_deadline(&self) -> Time {
        let deadlines = self.entries.iter().filter_map(|(_, entry)| entry.deadline());
        let planned = self.planned.iter().map(|(at, _)| *at);
        deadlines.chain(planned).chain(self.next_check).fold(self.next_scan, Time::min)
    }
}

/// Returns the interval for scans: at most `longest`, and a fraction of the shortest configured timeout.
fn scan_interval(config: &SocklndConfig, longest: Duration) -> Duration {
    let mut interval = match config.sock_timeout {
        Duration::ZERO => longest,
        set => longest.min(set / 8),
    };
    if !config.keepalive.is_zero() {
        interval = interval.min(config.keepalive / 4);
    }
    interval.max(Duration::from_millis(10))
}
