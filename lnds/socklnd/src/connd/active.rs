//! Calling a peer: from a message that waits to a connection.

use super::{Entry, Work};
use crate::complaints::Reason;
use crate::conn::Settled;
use crate::decide::admit::PeerIncarnation;
use crate::decide::cause::ConnError;
use crate::decide::dial::Next;
use crate::decide::unresponsive::{Finding, judge};
use crate::handshake::{self, ActiveStep};
use crate::peer::{Consequence, Peer};
use crate::sockets::{self, Call};
use crate::tcp;
use lnet_core::Errno;
use rustix::event::epoll;
use socket2::Socket;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a call waits for an unfinished connecting peer that may be the same peer (wire-tcp 2.10): as long as that may need
/// to say hello, not as long as it may take.
const POSTPONED: Duration = Duration::from_secs(1);
/// For how long one call may go unanswered. Its socket would ask ever more rarely; a new one asks at once.
const ATTEMPT: Duration = Duration::from_secs(3);
/// A call without an answer for as long as a peer may be unresponsive, and so much more, lets what waits for it go elsewhere, if
/// there is another way. It is asked about so often.
const AFTER_UNRESPONSIVE: Duration = Duration::from_millis(100);
const ASK_AGAIN: Duration = Duration::from_millis(250);

/// A call that has not brought a connection yet.
pub(super) struct Active {
    pub(super) socket: Socket,
    pub(super) peer: Arc<Peer>,
    machine: handshake::Active,
    /// What is said first, until it has been said.
    opening: Option<Vec<u8>>,
    privileged: bool,
    since: Instant,
    pub(super) deadline: Instant,
    /// When it is asked whether what waits for it may go elsewhere.
    pub(super) next_ask: Instant,
}

impl Work<'_> {
    /// Calls `peer` for the next connection that it lacks, if there is one.
    pub(super) fn call(&mut self, peer: &Arc<Peer>) {
        let ni = &peer.ni;
        if ni.is_ending() || !peer.is_asked() {
            return;
        }
        let now = Instant::now();
        if self.may_be_connecting(peer, now) {
            let at = now + POSTPONED;
            peer.postpone_connect(at);
            return self.go_on(peer, Next::At(at));
        }
        let Some((version, kind)) = peer.begin_connect(now) else { return };
        let machine = handshake::Active::new(peer.id, version, kind);
        let Some(opening) = machine.opening(ni.own) else {
            return self.connect_failed(peer, Errno::Invalid, "its NID does not fit the protocol version");
        };
        use crate::decide::identity::IpNid;
        let remote = SocketAddr::new(peer.ip(), self.shared.config.accept_port);
        let Call { socket, privileged } = match sockets::call(ni.own.nid.ip(), remote, ni.sock_timeout()) {
            Ok(call) => call,
            Err(error) => return self.connect_failed(peer, Errno::from(&error), &error.to_string()),
        };
        if !privileged {
            self.connd.say_unprivileged();
        }
        let active = Active {
            socket,
            peer: Arc::clone(peer),
            machine,
            opening: Some(opening),
            privileged,
            since: now,
            deadline: now + ATTEMPT.min(ni.sock_timeout()),
            next_ask: now + self.unresponsive_limit(now) + AFTER_UNRESPONSIVE,
        };
        if self.watch(Entry::Active(active), epoll::EventFlags::OUT).is_none() {
            self.connect_failed(peer, Errno::NoMemory, "no room to watch its socket");
        }
    }

    /// Whether a connecting peer that has not finished its handshake may be this peer.
    fn may_be_connecting(&self, peer: &Peer, now: Instant) -> bool {
        use crate::decide::identity::IpNid;
        let ip = peer.ip();
        ip != peer.ni.own.nid.ip()
            && self.entries.iter().any(|(_, entry)| match entry {
                Entry::Passive(passive) => {
                    passive.target() == Some(peer.ni.own.nid)
                        && passive.source().ip().to_canonical() == ip
                        && now.saturating_duration_since(passive.since()) < POSTPONED
                }
                _ => false,
            })
    }

    /// A call's socket is writable or readable.
    pub(super) fn continue_connect(&mut self, key: usize) {
        let Some(Entry::Active(active)) = self.entries.get_mut(key) else { return };
        if let Some(opening) = active.opening.take() {
            let said = match active.socket.take_error() {
                Ok(None) => (&active.socket).write(&opening),
                Ok(Some(error)) | Err(error) => Err(error),
            };
            match said {
                Ok(written) if written == opening.len() => {
                    active.deadline = Instant::now() + active.peer.ni.sock_timeout();
                    let data = epoll::EventData::new_u64(key as u64);
                    let flags = epoll::EventFlags::IN;
                    if epoll::modify(&self.connd.epoll, &active.socket, data, flags).is_ok() {
                        return;
                    }
                    return self.give_up_connect(key, Errno::NoMemory, "no room to watch its socket");
                }
                Ok(_) => return self.give_up_connect(key, Errno::Io, "its socket has no room"),
                Err(error) => {
                    return self.give_up_connect(key, Errno::from(&error), &error.to_string());
                }
            }
        }
        self.read_answer(key);
    }

    fn read_answer(&mut self, key: usize) {
        let step = loop {
            let Some(Entry::Active(active)) = self.entries.get_mut(key) else { return };
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
        let Some(Entry::Active(active)) = self.forget(key) else { return };
        self.answered(active, step);
    }

    fn answered(&mut self, active: Active, step: ActiveStep) {
        let now = Instant::now();
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
                let next = peer.connect_again(now, Some(version));
                self.fail_if_failed(&peer, next, Errno::Protocol, "it speaks no version that we speak");
            }
            ActiveStep::Close(why) => {
                drop(socket);
                peer.ni.counts.protocol_errors.add();
                self.connect_failed(&peer, Errno::Protocol, &why.to_string());
            }
            ActiveStep::Open { version, incarnation, .. }
                if peer.is_other_incarnation(PeerIncarnation { version, incarnation }) =>
            {
                drop(socket);
                peer.end_all(ConnError::ClosedByPeer(Errno::ConnectionReset));
                let next = peer.connect_again(now, None);
                self.fail_if_failed(&peer, next, Errno::ConnectionReset, "it keeps restarting");
            }
            ActiveStep::Open { version, incarnation, identity, order } => {
                let kind = machine.kind();
                if let Err(error) = sockets::settle(&socket, &self.shared.config, peer.ni.sock_timeout()) {
                    return self.connect_failed(&peer, Errno::from(&error), &error.to_string());
                }
                let settled =
                    Settled { socket, kind, version, order, remote: peer.ip(), identity, permit: None };
                match peer.install(settled, incarnation, true, now) {
                    Ok(()) => {
                        peer.ni.counts.connected.add();
                        log::debug!("connected to {}, type {kind}", peer.name());
                        if peer.wants_more() {
                            self.call(&peer);
                        }
                    }
                    Err(errno) => self.connect_failed(&peer, errno, "the connection could not be served"),
                }
            }
        }
    }

    /// The peer closed before it answered.
    fn hung_up(&mut self, key: usize, errno: Errno) {
        let Some(Entry::Active(active)) = self.forget(key) else { return };
        let Active { peer, privileged, .. } = active;
        if privileged {
            return self.connect_failed(&peer, errno, "it closed the connection instead of answering");
        }
        self.connect_failed(
            &peer,
            Errno::HostUnreachable,
            "it closed the connection instead of answering, probably because our port is not privileged: \
             give this program CAP_NET_BIND_SERVICE, or set `sysctl net.ipv4.ip_unprivileged_port_start=512`, \
             or set accept=all on the peer",
        );
    }

    /// A call has taken too long.
    pub(super) fn connect_timed_out(&mut self, key: usize) {
        let Some(Entry::Active(Active { peer, opening, .. })) = self.forget(key) else { return };
        if opening.is_none() {
            return self.connect_failed(&peer, Errno::TimedOut, "timed out");
        }
        peer.ni.counts.connects_failed.add();
        log::debug!("cannot connect to {}: nobody answers", peer.name());
        let next = peer.connect_unanswered();
        self.go_on(&peer, next);
    }

    /// Nothing has come of a call for a while: what waits for it may have another way.
    pub(super) fn ask_about_call(&mut self, key: usize, now: Instant) {
        let limit = self.unresponsive_limit(now);
        let Some(Entry::Active(active)) = self.entries.get_mut(key) else { return };
        active.next_ask = now + ASK_AGAIN;
        let silent = match tcp::state(active.socket.as_fd()) {
            // Whoever is there answers that at once.
            _ if active.opening.is_some() => true,
            Ok(tcp) => {
                judge(tcp, now.saturating_duration_since(active.since), Duration::ZERO, limit)
                    == Finding::Unresponsive
            }
            Err(_) => false,
        };
        let peer = Arc::clone(&active.peer);
        if silent
            && !limit.is_zero()
            && peer.has_waiting()
            && let consequence @ (Consequence::Stay { moved: 1.., .. } | Consequence::GiveUp) =
                peer.note_unresponsive(now, false)
        {
            if consequence == Consequence::GiveUp {
                peer.give_back_waiting(ConnError::Unresponsive);
            }
            self.last_unresponsive = Some(now);
            peer.ni.counts.unresponsive.add();
            log::debug!("{} does not answer a call; what waits for it takes other paths", peer.name());
        }
    }

    /// Gives up the calls to a peer.
    pub(super) fn abandon(&mut self, peer: &Arc<Peer>) {
        let to_it = |entry: &Entry| matches!(entry, Entry::Active(active) if Arc::ptr_eq(&active.peer, peer));
        let keys: Vec<usize> =
            self.entries.iter().filter(|(_, entry)| to_it(entry)).map(|(key, _)| key).collect();
        if !keys.is_empty() {
            for key in keys {
                drop(self.forget(key));
            }
            peer.connect_abandoned();
        }
    }

    fn give_up_connect(&mut self, key: usize, errno: Errno, why: &str) {
        if let Some(Entry::Active(active)) = self.forget(key) {
            self.connect_failed(&active.peer, errno, why);
        }
    }

    /// A call has failed for good: the next comes after a wait.
    pub(super) fn connect_failed(&mut self, peer: &Arc<Peer>, errno: Errno, why: &str) {
        let next = peer.connect_failed(Instant::now());
        self.fail_if_failed(peer, next, errno, why);
    }

    fn fail_if_failed(&mut self, peer: &Arc<Peer>, next: Next, errno: Errno, why: &str) {
        if let Next::Failed(at) = next {
            peer.ni.counts.connects_failed.add();
            let wait = at.saturating_duration_since(Instant::now()).as_secs_f32();
            let line = format_args!("cannot connect to {}: {why}; not before {wait:.1} s again", peer.name());
            self.shared.complaints.say(Reason::NotConnected, line);
            peer.fail_waiting(errno);
        }
        self.go_on(peer, next);
    }
}
