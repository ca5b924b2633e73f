//! Active connects: from a waiting message to a connection.

use super::Connd;
use super::entry::{Active, Handshake};
use crate::conn::Settled;
use crate::decide::unresponsive::{Finding, MIN_LATE, assess, is_response_late};
use crate::decide::version::{PeerIncarnation, Relation};
use crate::handshake::{self, ActiveStep};
use crate::peer::{Peer, UnresponsiveAction};
use crate::socket_io::send_handshake;
use crate::sockets::{self, ConnectFrom, Connecting};
use crate::tcp;
use lnd_common::conn_error::ConnError;
use lnd_common::connect_schedule::Next;
use lnd_common::ip_interfaces;
use lnet_core::{Errno, Time};
use lnet_log::{LogClass, write_line};
use rustix::event::epoll;
use std::io::{self, ErrorKind, Read};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// Delay of a connect while an inbound connection, perhaps of the same peer, has an unfinished handshake (wire-tcp
/// 2.10): the time that a HELLO normally needs, not the time limit of a handshake.
const POSTPONED: Duration = Duration::from_secs(1);
/// Time after which a connect without a response is made again by a new socket: the old one would retry ever more rarely.
const ATTEMPT: Duration = Duration::from_secs(3);
/// Time beyond the unresponsive limit after which the messages that wait for a connect take another path,
/// if there is one.
const AFTER_UNRESPONSIVE: Duration = Duration::from_millis(100);
/// Interval at which connects in progress are checked for that.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

impl Connd {
    /// Connects to `peer` for the next connection that it lacks, if there is one.
    pub(super) fn connect(&mut self, peer: &Arc<Peer>) {
        let ni = &peer.ni;
        if ni.is_ending() || !peer.is_connect_requested() {
            return;
        }
        let now = self.shared.now();
        if self.may_be_connecting(peer, now) {
            let at = now + POSTPONED;
            peer.postpone_connect(at);
            return self.plan_next_connect(peer, Next::At(at));
        }
        let Some((version, kind)) = peer.begin_connect(now) else { return };
        let machine = handshake::Active::new(peer.id, version, kind);
        let Some(opening) = machine.opening(ni.local) else {
            return self.connect_failed(peer, Errno::Invalid, "its NID does not fit the protocol version");
        };
        use crate::decide::identity::IpNid;
        let remote = SocketAddr::new(peer.ip(), self.shared.config.port_for(kind));
        // The interface of the NI may have no address of the peer's family.
        let local = match ip_interfaces::source_address(ni.local.nid.ip(), remote.ip()) {
            Ok(local) => local,
            Err(error) => return self.connect_failed(peer, error.errno, &error.text),
        };
        let device = ni.device_towards(remote.ip());
        let from = ConnectFrom { local, device, tos: ni.tos, longest: ni.sock_timeout() };
        let Connecting { socket, privileged } = match sockets::connect(from, remote) {
            Ok(connecting) => connecting,
            Err(error) => return self.connect_failed(peer, Errno::from(&error), &cause(&error)),
        };
        if !privileged {
            self.log_unprivileged();
        }
        let active = Active {
            socket,
            peer: Arc::clone(peer),
            machine,
            opening: Some(opening),
            privileged,
            since: now,
            deadline: now + ATTEMPT.min(ni.sock_timeout()),
            next_check: now + MIN_LATE,
        };
        if self.watch(Handshake::Active(active), epoll::EventFlags::OUT).is_none() {
            self.connect_failed(peer, Errno::NoMemory, "its socket cannot be polled");
        }
    }

    /// Whether an unfinished inbound connection may be one of this peer.
    fn may_be_connecting(&self, peer: &Peer, now: Time) -> bool {
        use crate::decide::identity::IpNid;
        let ip = peer.ip();
        ip != peer.ni.local.nid.ip()
            && self.entries.iter().any(|(_, entry)| match entry {
                Handshake::Passive(passive) => {
                    passive.machine.target() == Some(peer.ni.local.nid)
                        && passive.source.ip().to_canonical() == ip
                        && now.since(passive.since) < POSTPONED
                }
                _ => false,
            })
    }

    /// Continues a connect whose socket is writable or readable.
    pub(super) fn continue_connect(&mut self, key: usize) {
        let Some(Handshake::Active(active)) = self.entries.get_mut(key) else { return };
        if let Some(opening) = active.opening.take() {
            let sent = match active.socket.take_error() {
                Ok(None) => send_handshake(active.socket.as_fd(), &opening),
                Ok(Some(error)) | Err(error) => Err(error),
            };
            match sent {
                Ok(()) => {
                    active.deadline = self.shared.now() + active.peer.ni.sock_timeout();
                    let data = epoll::EventData::new_u64(key as u64);
                    let flags = epoll::EventFlags::IN;
                    if epoll::modify(&self.commands.epoll, &active.socket, data, flags).is_ok() {
                        return;
                    }
                    return self.give_up_connect(key, Errno::NoMemory, "its socket cannot be polled");
                }
                Err(error) => {
                    if self.is_bulk_port_refused(key, &error) {
                        return self.bulk_port_refused(key);
                    }
                    return self.give_up_connect(key, Errno::from(&error), &cause(&error));
                }
            }
        }
        self.read_response(key);
    }

    fn read_response(&mut self, key: usize) {
        let step = loop {
            let Some(Handshake::Active(active)) = self.entries.get_mut(key) else { return };
            let mut buffer = [0; 128];
            let wants = active.machine.wants().min(buffer.len());
            let bytes = match (&active.socket).read(&mut buffer[..wants]) {
                Ok(got) if got > 0 => &buffer[..got],
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                end => {
                    let errno = end.err().map_or(Errno::ConnectionReset, Errno::from);
                    return self.hung_up(key, errno);
                }
            };
            match active.machine.feed(bytes) {
                ActiveStep::More => {}
                step => break step,
            }
        };
        let Some(Handshake::Active(active)) = self.forget(key) else { return };
        self.answered(active, step);
    }

    fn answered(&mut self, active: Active, step: ActiveStep) {
        let now = self.shared.now();
        let Active { socket, peer, machine, .. } = active;
        match step {
            ActiveStep::More => {}
            ActiveStep::TryLater => {
                drop(socket);
                let next = peer.connect_refused(now);
                self.fail_if_failed(&peer, next, Errno::HostUnreachable, "it refuses connections");
            }
            ActiveStep::UseVersion(version) => {
                drop(socket);
                if let Some(next) = peer.version_4_refused(version) {
                    return self.plan_next_connect(&peer, next);
                }
                let next = peer.connect_again(now, Some(version));
                self.fail_if_failed(
                    &peer,
                    next,
                    Errno::Protocol,
                    "it supports no protocol version of this node",
                );
            }
            ActiveStep::Close(why) => {
                drop(socket);
                peer.ni.counts.protocol_errors.add();
                self.connect_failed(&peer, Errno::Protocol, &why.to_string());
            }
            ActiveStep::Open { version, incarnation, .. }
                if let relation @ (Relation::Older | Relation::Other) =
                    peer.relation(PeerIncarnation { version, incarnation }) =>
            {
                drop(socket);
                // A connection of an older version comes too late, and concerns no other.
                if relation == Relation::Other {
                    peer.end_all(ConnError::ClosedByPeer(Errno::ConnectionReset));
                }
                let next = peer.connect_again(now, None);
                self.fail_if_failed(&peer, next, Errno::ConnectionReset, "it keeps restarting");
            }
            ActiveStep::Open { version, incarnation, identity, order } => {
                let kind = machine.kind();
                if let Err(error) = sockets::settle(&socket, &self.shared.config, peer.ni.sock_timeout()) {
                    return self.connect_failed(&peer, Errno::from(&error), &cause(&error));
                }
                let settled =
                    Settled { socket, kind, version, order, remote: peer.ip(), identity, permit: None };
                match peer.install(settled, incarnation, true, now) {
                    Ok(()) => {
                        peer.ni.counts.connected.add();
                        log::debug!("connected to {}, type {kind}", peer.id);
                        if peer.wants_more() {
                            self.connect(&peer);
                        }
                    }
                    Err(errno) => self.connect_failed(&peer, errno, "the connection could not be served"),
                }
            }
        }
    }

    /// Handles a connect that the peer closed before its response.
    fn hung_up(&mut self, key: usize, errno: Errno) {
        let Some(Handshake::Active(active)) = self.forget(key) else { return };
        let Active { peer, privileged, .. } = active;
        if privileged {
            return self.connect_failed(&peer, errno, "it closed the connection instead of answering");
        }
        self.connect_failed(
            &peer,
            Errno::HostUnreachable,
            "it closed the connection instead of answering, probably because the source port is not privileged: \
             give this program CAP_NET_BIND_SERVICE, or set `sysctl net.ipv4.ip_unprivileged_port_start=512`, \
             or set accept=all on the peer",
        );
    }

    /// Handles a connect that has taken too long.
    pub(super) fn connect_timed_out(&mut self, key: usize) {
        let Some(Handshake::Active(Active { peer, opening, .. })) = self.forget(key) else { return };
        // With connections of another version the messages that need this one are few, and must not wait for long.
        if opening.is_none() || peer.is_to_be_replaced() {
            return self.connect_failed(&peer, Errno::TimedOut, "timed out");
        }
        peer.ni.counts.connects_failed.add();
        log::debug!("{}: connect timed out", peer.id);
        let next = peer.connect_without_response();
        self.plan_next_connect(&peer, next);
    }

    /// Checks a connect that has been without a response for a while: the messages that wait for it may have another path.
    pub(super) fn check_connect(&mut self, key: usize, now: Time) {
        let limit = self.unresponsive_limit(now);
        let Some(Handshake::Active(active)) = self.entries.get_mut(key) else { return };
        active.next_check = now + CHECK_INTERVAL;
        let since = now.since(active.since);
        let (late, is_unresponsive) = match tcp::state(active.socket.as_fd()) {
            // The peer's system would have answered at once.
            _ if active.opening.is_some() => (true, true),
            Ok(tcp) => (
                is_response_late(&tcp, since),
                assess(tcp, since, Duration::ZERO, limit) == Finding::Unresponsive,
            ),
            Err(_) => (false, false),
        };
        let peer = Arc::clone(&active.peer);
        // The connections that are to be replaced tell more of the path.
        if limit.is_zero() || !peer.has_waiting() || peer.is_to_be_replaced() {
            return;
        }
        if late {
            peer.note_late();
        }
        if is_unresponsive
            && since >= limit + AFTER_UNRESPONSIVE
            && let action @ (UnresponsiveAction::Stay { moved: 1.., .. } | UnresponsiveAction::GiveUp) =
                peer.note_unresponsive(now, false)
        {
            if action == UnresponsiveAction::GiveUp {
                peer.give_back_waiting(ConnError::Unresponsive);
            }
            self.last_unresponsive = Some(now);
            peer.ni.counts.unresponsive.add();
            log::debug!("{}: connect unanswered; waiting messages take other paths", peer.id);
        }
    }

    /// Gives up the connects to a peer.
    pub(super) fn abandon(&mut self, peer: &Arc<Peer>) {
        let to_it =
            |entry: &Handshake| matches!(entry, Handshake::Active(active) if Arc::ptr_eq(&active.peer, peer));
        let keys: Vec<usize> =
            self.entries.iter().filter(|(_, entry)| to_it(entry)).map(|(key, _)| key).collect();
        if !keys.is_empty() {
            for key in keys {
                drop(self.forget(key));
            }
            peer.connect_abandoned();
        }
    }

    /// Whether `error` is that of a connect to a port for bulk on which the peer does not listen.
    fn is_bulk_port_refused(&self, key: usize, error: &io::Error) -> bool {
        let Some(Handshake::Active(active)) = self.entries.get(key) else { return false };
        error.kind() == ErrorKind::ConnectionRefused && self.shared.config.has_own_port(active.machine.kind())
    }

    /// Handles a connect to a port for bulk on which the peer does not listen: bulk goes by its other connections, which one line says.
    fn bulk_port_refused(&mut self, key: usize) {
        let Some(Handshake::Active(active)) = self.forget(key) else { return };
        let (peer, config) = (active.peer, &self.shared.config);
        let next = peer.connect_failed(self.shared.now());
        peer.ni.counts.connects_failed.add();
        let (id, port) = (peer.id, config.port_for(active.machine.kind()));
        if peer.note_bulk_port_refused() {
            self.shared.log(
                LogClass::BulkByControl,
                id,
                format_args!(
                    "{id}: no connection for bulk (the peer does not listen on port {port}, this node's accept_port_bulk); bulk goes by \
                     its connection for small messages"
                ),
            );
        } else {
            log::debug!("{id}: does not listen on port {port} for bulk yet");
        }
        if let Next::Failed(_) = next {
            peer.fail_waiting(Errno::ConnectionRefused);
        }
        self.plan_next_connect(&peer, next);
    }

    fn give_up_connect(&mut self, key: usize, errno: Errno, why: &str) {
        if let Some(Handshake::Active(active)) = self.forget(key) {
            self.connect_failed(&active.peer, errno, why);
        }
    }

    /// Handles a failed connect: the next comes after a wait.
    pub(super) fn connect_failed(&mut self, peer: &Arc<Peer>, errno: Errno, why: &str) {
        let next = peer.connect_failed(self.shared.now());
        self.fail_if_failed(peer, next, errno, why);
    }

    fn fail_if_failed(&mut self, peer: &Arc<Peer>, next: Next, errno: Errno, why: &str) {
        if let Next::Failed(at) = next {
            peer.ni.counts.connects_failed.add();
            let (id, wait) = (peer.id, at.since(self.shared.now()).as_secs_f32());
            if peer.is_only_probed() {
                log::debug!("{id}: cannot connect ({why}); the pings of its path go on");
            } else {
                self.shared.log(
                    LogClass::ConnectFailed,
                    id,
                    format_args!("{id}: cannot connect ({why}); retry in {wait:.1} s"),
                );
            }
            peer.fail_waiting(errno);
        }
        self.plan_next_connect(peer, next);
    }

    /// Logs, once, that peers in secure mode will not accept connections from here.
    fn log_unprivileged(&mut self) {
        if !std::mem::replace(&mut self.logged_unprivileged, true) {
            write_line!(
                LogClass::PortUnprivileged,
                "TCP driver: connects from unprivileged ports (this process may not bind ports below 1024); peers \
                 accept that only with accept=all"
            );
        }
    }
}

/// The cause of an error of a socket, for the log.
fn cause(error: &io::Error) -> String {
    match error.raw_os_error().and_then(Errno::from_number) {
        Some(errno) => errno.text().to_owned(),
        None => error.to_string(),
    }
}
