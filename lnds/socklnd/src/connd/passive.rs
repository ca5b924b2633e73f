//! Being called: from the listener to a connection.

use super::{Entry, Work};
use crate::complaints::Reason;
use crate::conn::Settled;
use crate::decide::admit::{Admission, Refusal, admit};
use crate::decide::cause::ConnError;
use crate::decide::conn_limit::Capacity;
use crate::decide::identity::identify;
use crate::driver::Shared;
use crate::handshake::{self, PassiveStep};
use crate::ni::SockNi;
use crate::permit::Permit;
use crate::proto::acceptor::{LAST_PRIVILEGED_PORT, REFUSAL, admit_port};
use crate::proto::{ConnectionType, Hello, Version};
use crate::sockets;
use lnet_core::Errno;
use lnet_wire::Nid;
use lnet_wire::byte_order::ByteOrder;
use rustix::event::epoll;
use socket2::Socket;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

/// Connecting peers taken from one listener before others get their turn.
const ACCEPTS: usize = 64;

/// A connecting peer that has not finished its handshake.
pub(super) struct Passive {
    pub(super) socket: Socket,
    source: SocketAddr,
    permit: Permit,
    machine: handshake::Passive,
    since: Instant,
    pub(super) deadline: Instant,
}

impl Passive {
    /// The interface that it calls, once it has said so.
    pub(super) fn target(&self) -> Option<Nid> {
        self.machine.target()
    }

    pub(super) fn source(&self) -> SocketAddr {
        self.source
    }

    /// Since when it has been here.
    pub(super) fn since(&self) -> Instant {
        self.since
    }

    /// It was too slow.
    pub(super) fn timed_out(self, shared: &Shared) {
        log::debug!("dropped a caller from {}: it was too slow with its handshake", self.source);
        count_for(shared, &self.socket, |ni| ni.counts.handshakes_timed_out.add());
    }
}

impl Work<'_> {
    /// Takes the connecting peers that wait.
    pub(super) fn accept_all(&mut self, key: usize) {
        for _ in 0..ACCEPTS {
            let Some(Entry::Listener(listener, address)) = self.entries.get(key) else { return };
            match sockets::accept(listener) {
                Ok(None) => return,
                Ok(Some((socket, source))) => self.accept_inbound(socket, source),
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                Err(error) => {
                    let line = format_args!("{address}: cannot accept a connection: {error}");
                    self.shared.complaints.say(Reason::NoDescriptor, line);
                    // It would be reported again at once; the next scan hears it again.
                    let data = epoll::EventData::new_u64(key as u64);
                    let nothing = epoll::EventFlags::empty();
                    let _ = epoll::modify(&self.connd.epoll, listener, data, nothing);
                    if let Some(worst) = self.shared.permits.worst() {
                        self.drop_oldest_inbound(worst);
                    }
                    return;
                }
            }
        }
    }

    fn accept_inbound(&mut self, socket: Socket, source: SocketAddr) {
        let config = &self.shared.config;
        if let Err(why) = admit_port(config.accept, source.port()) {
            self.shared
                .complaints
                .say(Reason::Rejected, format_args!("refused a connection from {source}: {why}"));
            count_for(self.shared, &socket, |ni| ni.counts.rejected.add());
            return;
        }
        let address = source.ip().to_canonical();
        match self.shared.permits.capacity(address) {
            Capacity::Free => {}
            Capacity::AfterEvicting(other) => self.drop_oldest_inbound(other),
            Capacity::Full => {
                let line = format_args!(
                    "refused a connection from {source}: there are {} connections that others have opened, and as many from \
                     there as there may be, or as many in all",
                    self.shared.permits.taken()
                );
                self.shared.complaints.say(Reason::LimitReached, line);
                return count_for(self.shared, &socket, |ni| ni.counts.limit_rejected.add());
            }
        }
        let permit = self.shared.permits.take(address);
        let since = Instant::now();
        let deadline = since + config.accept_timeout;
        let machine = handshake::Passive::new();
        let entry = Entry::Passive(Passive { socket, source, permit, machine, since, deadline });
        if let Some(key) = self.watch(entry, epoll::EventFlags::IN) {
            // What it sends first is often there already.
            self.read_passive(key);
        }
    }

    /// Drops the connecting peer from `address` that has taken longest with its handshake.
    fn drop_oldest_inbound(&mut self, address: IpAddr) {
        let callers = self.entries.iter().filter_map(|(key, entry)| match entry {
            Entry::Passive(passive) if passive.source.ip().to_canonical() == address => {
                Some((passive.since, key))
            }
            _ => None,
        });
        if let Some((_, key)) = callers.min()
            && let Some(Entry::Passive(passive)) = self.forget(key)
        {
            count_for(self.shared, &passive.socket, |ni| ni.counts.handshakes_dropped.add());
        }
    }

    /// Reads what a connecting peer has sent, and answers.
    pub(super) fn read_passive(&mut self, key: usize) {
        let step = loop {
            let Some(Entry::Passive(passive)) = self.entries.get_mut(key) else { return };
            let mut buffer = [0; 128];
            let wants = passive.machine.wants().min(buffer.len());
            let bytes = match (&passive.socket).read(&mut buffer[..wants]) {
                Ok(0) => {
                    drop(self.forget(key));
                    return;
                }
                Ok(got) => &buffer[..got],
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    drop(self.forget(key));
                    return;
                }
            };
            let pieces = passive.machine.pieces();
            match passive.machine.feed(bytes, |nid| self.shared.ni(nid).is_some()) {
                PassiveStep::More if passive.machine.pieces() > pieces => {
                    passive.deadline = Instant::now() + self.shared.config.accept_timeout;
                }
                PassiveStep::More => {}
                step => break step,
            }
        };
        let Some(Entry::Passive(passive)) = self.forget(key) else { return };
        match step {
            PassiveStep::More => {}
            PassiveStep::RefuseRequest => {
                say(&passive.socket, &REFUSAL);
                count_for(self.shared, &passive.socket, |ni| ni.counts.rejected.add());
            }
            PassiveStep::OfferVersion { target } => {
                if let Some(ni) = self.shared.ni(target) {
                    ni.counts.refused.add();
                    // Our own NID as the destination, as the kernel answers here.
                    refuse(&ni, &passive.socket, Version::V3, target);
                }
            }
            PassiveStep::Close(why) => {
                let line = format_args!("refused a connection from {}: {why}", passive.source);
                self.shared.complaints.say(Reason::Nonsense, line);
                count_for(self.shared, &passive.socket, |ni| ni.counts.rejected.add());
            }
            PassiveStep::Hello { target, hello, order } => {
                if let Some(ni) = self.shared.ni(target) {
                    self.judge(&ni, passive, &hello, order);
                }
            }
        }
    }

    /// The connecting peer has said who it is and what it wants.
    fn judge(&mut self, ni: &Arc<SockNi>, passive: Passive, hello: &Hello, order: ByteOrder) {
        let Passive { socket, source, permit, .. } = passive;
        let identity = identify(hello, source, ni.own.nid);
        let Some(peer) = ni.peer_to_keep(identity) else { return };
        let remote = source.ip().to_canonical();
        let to_itself = socket
            .local_addr()
            .ok()
            .and_then(|local| local.as_socket())
            .is_some_and(|local| local.ip().to_canonical() == remote);
        let mine = hello.connection_type.map_or(ConnectionType::Any, ConnectionType::mirror);
        let now = Instant::now();
        let known = peer.known(mine, remote, now);
        let limit = ni.bulk_conns();
        match admit(hello, identity.id.nid, ni.own.nid, known, limit, to_itself) {
            Admission::Close => ni.counts.rejected.add(),
            Admission::Refuse(refusal) => {
                ni.counts.refused.add();
                log::debug!("refused a connection from {}: {refusal}", peer.name());
                // On a peer's host anybody may claim its NID (see `identify`), but not end what a privileged
                // process there has begun.
                let may_end = source.port() <= LAST_PRIVILEGED_PORT || !peer.has_privileged();
                match refusal {
                    Refusal::OtherIncarnation if may_end => {
                        peer.end_all(ConnError::ClosedByPeer(Errno::ConnectionReset));
                    }
                    // It may have lost those that are open here; then its system says so, or nothing comes from there any
                    // more, and its next call is taken.
                    Refusal::Duplicate => peer.note_surplus_connect(mine, may_end, now),
                    Refusal::OtherIncarnation | Refusal::LostRace => {}
                }
                refuse(ni, &socket, hello.version, identity.id.nid);
            }
            Admission::Accept(kind) => {
                let answer = ni.own.hello(hello.version, identity.id.nid, Some(kind)).encode();
                let identity = hello.dest_incarnation;
                let permit = Some(permit.finish());
                let settled =
                    Settled { socket, kind, version: hello.version, order, remote, identity, permit };
                let said = answer.is_some_and(|answer| say(&settled.socket, &answer))
                    && sockets::settle(&settled.socket, &self.shared.config, ni.sock_timeout()).is_ok();
                if said && peer.install(settled, hello.src_incarnation, false, now).is_ok() {
                    if known.hangs() {
                        self.abandon(&peer);
                    }
                    ni.counts.accepted.add();
                    log::debug!("{} has connected, type {kind}", peer.name());
                }
            }
        }
        peer.release();
    }
}

/// Answers a HELLO with type none.
fn refuse(ni: &SockNi, socket: &Socket, version: Version, dest: Nid) {
    if let Some(answer) = ni.own.hello(version, dest, None).encode() {
        say(socket, &answer);
    }
}

/// Sends a few bytes into a socket that has room for them: nothing was sent on it before.
fn say(mut socket: &Socket, bytes: &[u8]) -> bool {
    socket.write(bytes).is_ok_and(|written| written == bytes.len())
}

/// Counts for an interface with the address that was called; the connecting peer has not said which it wants.
fn count_for(shared: &Shared, socket: &Socket, count: impl FnOnce(&SockNi)) {
    use crate::decide::identity::IpNid;
    let Some(local) = socket.local_addr().ok().and_then(|local| local.as_socket()) else { return };
    if let Some(ni) = shared.nis().iter().find(|ni| ni.own.nid.ip() == local.ip().to_canonical()) {
        count(ni);
    }
}
