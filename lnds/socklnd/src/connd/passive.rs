//! Inbound connections: from the listener to a connection.

use super::Connd;
use super::entry::{Handshake, Passive};
use crate::conn::Settled;
use crate::decide::admit::{Admission, Refusal, admit};
use crate::decide::identity::{RejectedHello, identify};
use crate::decide::version::{PeerIncarnation, Relation, version_to_answer, version_to_offer};
use crate::handshake::{self, PassiveStep};
use crate::ni::SockNi;
use crate::ni_peers::NiPeers;
use crate::proto::acceptor::{LAST_PRIVILEGED_PORT, REFUSAL, admit_port};
use crate::proto::{ConnectionType, Hello, Version};
use crate::socket_io::send_handshake;
use crate::sockets;
use lnd_common::conn_error::ConnError;
use lnd_common::conn_limit::Capacity;
use lnet_core::Errno;
use lnet_log::LogClass;
use lnet_wire::Nid;
use lnet_wire::byte_order::ByteOrder;
use rustix::event::epoll;
use socket2::Socket;
use std::fmt::Display;
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;

/// Maximum number of connections accepted from one listener before the next listener is served.
const ACCEPTS: usize = 64;

impl Connd {
    /// Accepts the waiting connections.
    pub(super) fn accept_all(&mut self, key: usize) {
        for _ in 0..ACCEPTS {
            let Some(Handshake::Listener(listener, address)) = self.entries.get(key) else { return };
            match sockets::accept(listener) {
                Ok(None) => return,
                Ok(Some((socket, source))) => self.accept_inbound(socket, source),
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                Err(error) => {
                    self.shared.log(
                        LogClass::AcceptFailed,
                        address,
                        format_args!("{address}: cannot accept a connection ({error}); retry in 0.2 s"),
                    );
                    // The listener would be reported again at once; the next scan polls it again.
                    let data = epoll::EventData::new_u64(key as u64);
                    let nothing = epoll::EventFlags::empty();
                    let _ = epoll::modify(&self.commands.epoll, listener, data, nothing);
                    if let Some(worst) = self.shared.permits.worst() {
                        self.drop_oldest_inbound(worst);
                    }
                    return;
                }
            }
        }
    }

    fn accept_inbound(&mut self, socket: Socket, source: SocketAddr) {
        if let Err(why) = admit_port(self.shared.config.accept, source.port()) {
            self.log_rejected(source, &why);
            self.count_for(&socket, |ni| ni.counts.rejected.add());
            return;
        }
        let address = source.ip().to_canonical();
        match self.shared.permits.capacity(address) {
            Capacity::Free => {}
            Capacity::AfterEvicting(other) => self.drop_oldest_inbound(other),
            Capacity::Full => {
                let taken = self.shared.permits.taken();
                self.shared.log(
                    LogClass::InboundLimit,
                    address,
                    format_args!(
                        "{source}: connection rejected (limit of inbound connections of its address or of this node; \
                         {taken} are open)"
                    ),
                );
                return self.count_for(&socket, |ni| ni.counts.limit_rejected.add());
            }
        }
        let permit = self.shared.permits.take(address);
        let since = self.shared.now();
        let deadline = since + self.shared.config.accept_timeout;
        let machine = handshake::Passive::new();
        let entry = Handshake::Passive(Passive { socket, source, permit, machine, since, deadline });
        if let Some(key) = self.watch(entry, epoll::EventFlags::IN) {
            // The first bytes are often there already.
            self.read_passive(key);
        }
    }

    /// Drops the handshake with `address` that has taken longest.
    fn drop_oldest_inbound(&mut self, address: IpAddr) {
        let inbound = self.entries.iter().filter_map(|(key, entry)| match entry {
            Handshake::Passive(passive) if passive.source.ip().to_canonical() == address => {
                Some((passive.since, key))
            }
            _ => None,
        });
        if let Some((_, key)) = inbound.min()
            && let Some(Handshake::Passive(passive)) = self.forget(key)
        {
            self.count_for(&passive.socket, |ni| ni.counts.handshakes_dropped.add());
        }
    }

    /// Reads what a connecting peer has sent, and sends the response.
    pub(super) fn read_passive(&mut self, key: usize) {
        let step = loop {
            let Some(Handshake::Passive(passive)) = self.entries.get_mut(key) else { return };
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
            match passive.machine.feed(bytes, |nid| self.nis.find(nid).is_some()) {
                PassiveStep::More if passive.machine.pieces() > pieces => {
                    passive.deadline = self.shared.now() + self.shared.config.accept_timeout;
                }
                PassiveStep::More => {}
                step => break step,
            }
        };
        let Some(Handshake::Passive(passive)) = self.forget(key) else { return };
        match step {
            PassiveStep::More => {}
            PassiveStep::RefuseRequest => {
                send_bytes(&passive.socket, &REFUSAL);
                self.count_for(&passive.socket, |ni| ni.counts.rejected.add());
            }
            PassiveStep::OfferVersion { target } => {
                if let Some(ni) = self.nis.find(target) {
                    offer_version(&ni.ni, &passive, target);
                }
            }
            PassiveStep::Close(why) => {
                self.log_rejected(passive.source, &why);
                self.count_for(&passive.socket, |ni| ni.counts.rejected.add());
            }
            PassiveStep::Hello { target, hello, order } => {
                if let Some(ni) = self.nis.find(target) {
                    self.on_hello(&ni, passive, &hello, order);
                }
            }
        }
    }

    /// Handles a HELLO: accepts the connection, or refuses it.
    fn on_hello(&mut self, ni_peers: &Arc<NiPeers>, passive: Passive, hello: &Hello, order: ByteOrder) {
        let ni = &ni_peers.ni;
        let Some(version) = version_to_answer(ni.local.nid, hello.version) else {
            self.log_rejected(
                passive.source,
                &RejectedHello::TooOld { version: hello.version, target: ni.local.nid },
            );
            return offer_version(ni, &passive, hello.src_nid);
        };
        let Passive { socket, source, permit, .. } = passive;
        let identity = match identify(hello, source, ni.local.nid) {
            Ok(identity) => identity,
            Err(why) => {
                self.log_rejected(source, &why);
                return ni.counts.rejected.add();
            }
        };
        let Some(peer) = ni_peers.peer_to_keep(identity) else { return };
        let remote = source.ip().to_canonical();
        let to_itself = socket
            .local_addr()
            .ok()
            .and_then(|local| local.as_socket())
            .is_some_and(|local| local.ip().to_canonical() == remote);
        let local_type = hello.connection_type.map_or(ConnectionType::Any, ConnectionType::mirror);
        let now = self.shared.now();
        let privileged = source.port() <= LAST_PRIVILEGED_PORT;
        let status = peer.status((local_type, version), remote, privileged, now);
        let limit = ni.conns_per_peer().into();
        let heard = PeerIncarnation { version, incarnation: hello.src_incarnation };
        let relation = heard.relation_to(status.peer_incarnation);
        match admit(hello, identity.id.nid, ni.local.nid, status, limit, to_itself) {
            Admission::Close => ni.counts.rejected.add(),
            Admission::Refuse(refusal) => {
                ni.counts.refused.add();
                log::debug!("{}: connection refused ({refusal})", peer.id);
                match refusal {
                    Refusal::OtherIncarnation if status.may_end => {
                        peer.end_all(ConnError::ClosedByPeer(Errno::ConnectionReset));
                    }
                    // The peer may have lost the connections that are open here; then its system resets them, or nothing
                    // arrives on them any more, and its next connect is accepted.
                    Refusal::Duplicate => peer.note_surplus_connect(local_type, status.may_end, now),
                    Refusal::OtherIncarnation | Refusal::OlderVersion | Refusal::ConnectionRace => {}
                }
                refuse(ni, &socket, version, identity.id.nid);
            }
            Admission::Accept(kind) => {
                let response = ni.local.hello(version, identity.id.nid, Some(kind)).encode();
                let identity = hello.dest_incarnation;
                let permit = Some(permit.finish());
                if relation == Relation::Newer {
                    peer.begin_replacement();
                }
                let settled = Settled { socket, kind, version, order, remote, identity, permit };
                let sent = sockets::bind_to_device(&settled.socket, ni.device_towards(remote)).is_ok()
                    && response.is_some_and(|response| send_bytes(&settled.socket, &response))
                    && sockets::settle(&settled.socket, &self.shared.config, ni.sock_timeout()).is_ok();
                if sent && peer.install(settled, hello.src_incarnation, false, now).is_ok() {
                    if status.own_connect_is_stalled() {
                        self.abandon(&peer);
                    }
                    ni.counts.accepted.add();
                    log::debug!("{}: connected by the peer, type {kind}", peer.id);
                } else {
                    peer.end_early();
                }
            }
        }
        peer.unpin();
    }

    /// Ends a handshake that was too slow.
    pub(super) fn handshake_timed_out(&mut self, key: usize) {
        if let Some(Handshake::Passive(Passive { socket, source, .. })) = self.forget(key) {
            log::debug!("{source}: handshake timed out; closing the connection");
            self.count_for(&socket, |ni| ni.counts.handshakes_timed_out.add());
        }
    }

    fn log_rejected(&self, source: SocketAddr, why: &dyn Display) {
        self.shared.log(
            LogClass::InboundRejected,
            source.ip().to_canonical(),
            format_args!("{source}: connection rejected ({why})"),
        );
    }

    /// Counts for an NI with the address that the peer connected to: the peer has not requested an NI yet.
    fn count_for(&self, socket: &Socket, count: impl FnOnce(&SockNi)) {
        let Some(local) = socket.local_addr().ok().and_then(|local| local.as_socket()) else { return };
        if let Some(ni) = self.nis.with_address(local.ip().to_canonical()) {
            count(&ni.ni);
        }
    }
}

/// Responds with type none in the version that this node offers, so that the peer learns which one it supports; `dest` is the destination:
/// the local NID where the version of the HELLO is not known, as the kernel answers.
fn offer_version(ni: &SockNi, passive: &Passive, dest: Nid) {
    ni.counts.refused.add();
    let version = version_to_offer(ni.local.nid, passive.source.ip().to_canonical());
    refuse(ni, &passive.socket, version, dest);
}

/// Responds to a HELLO with type none.
fn refuse(ni: &SockNi, socket: &Socket, version: Version, dest: Nid) {
    if let Some(response) = ni.local.hello(version, dest, None).encode() {
        send_bytes(socket, &response);
    }
}

/// Sends bytes of a handshake; returns whether they were sent.
fn send_bytes(socket: &Socket, bytes: &[u8]) -> bool {
    send_handshake(socket.as_fd(), bytes).is_ok()
}
