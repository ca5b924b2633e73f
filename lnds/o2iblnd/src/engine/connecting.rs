//! Connections that come up, in both roles, and those that do not.

use super::{ConnState, Engine};
use crate::conn::{Conn, Ended, Output, Terms};
use crate::decide::admit::{Admission, KnownPeer, admit};
use crate::decide::conn_ack::{self, Asked};
use crate::decide::refused::{Refused, refused};
use crate::device::{ConnId, ConnectError, Device, Setup};
use crate::message::{Arriving, Outgoing};
use crate::proto::{Body, CONN_MESSAGE_LEN, ConnParams, MESSAGE_SIZE, Message, Reject, RejectReason};
use lnd_common::conn_error::{BytesSent, ConnError};
use lnet_core::{Errno, Time};
use lnet_wire::Nid;
use lnet_wire::nid::Address;
use std::net::Ipv4Addr;

impl<M: Outgoing, A: Arriving> Engine<M, A> {
    /// Asks a peer NI for the connections that are missing, if messages wait or others are up.
    pub(super) fn connect_if_needed(&mut self, nid: Nid, device: &mut dyn Device, now: Time) {
        let target = usize::from(self.tunables.conns_per_peer.max(1));
        loop {
            let Some(peer) = self.peers.get_mut(&nid) else { return };
            let may_connect = peer.connect_at.is_none_or(|at| now >= at) && peer.accepting.is_empty();
            let is_needed = !peer.waiting.is_empty() && peer.conns() == 0
                || peer.conns() > 0 && peer.conns() < target && !peer.is_satisfied;
            if !may_connect || !is_needed {
                return;
            }
            peer.connect_at = None;
            if let Err(error) = self.connect(nid, device, now) {
                return self.not_connected(nid, ConnectError::Local(error));
            }
        }
    }

    /// A peer asks for a connection.
    pub(super) fn requested(
        &mut self,
        conn: ConnId,
        private_data: &[u8],
        device: &mut dyn Device,
        now: Time,
    ) {
        let admission = admit(private_data, self.local, |nid| self.known(nid));
        let reject = match admission {
            Admission::Accept { peer, stamp, version, params } => {
                let terms = Terms {
                    local: self.local.nid,
                    local_stamp: self.local.stamp,
                    peer,
                    peer_stamp: stamp,
                    version,
                    depth: params.queue_depth,
                    fragments: params.max_fragments,
                };
                match self.accept(conn, terms, params, device) {
                    Ok(()) => {
                        self.conns.insert(conn, ConnState::Accepting { terms, since: now });
                        self.peer(peer).accepting.push(conn);
                        return;
                    }
                    Err(_) => {
                        Reject { version: version.number(), reason: RejectReason::NoResources, details: None }
                    }
                }
            }
            Admission::Reject(reject) => reject,
            Admission::Race { peer, reject } => {
                self.peer(peer).races += 1;
                reject
            }
            Admission::EndOthers { peer, reject } => {
                self.end_conns_of(peer, device, now);
                reject
            }
        };
        self.counters.rejected += 1;
        device.reject(conn, &reject.encode());
    }

    /// A connection is up.
    pub(super) fn established(
        &mut self,
        id: ConnId,
        private_data: &[u8],
        device: &mut dyn Device,
        now: Time,
    ) {
        let Some(ConnState::Connecting { peer, wanted, .. }) = self.conns.get(&id) else {
            return self.come_up(id, now);
        };
        let (peer, wanted) = (*peer, *wanted);
        let asked = Asked {
            version: wanted.version,
            depth: wanted.depth,
            fragments: wanted.fragments,
            local: self.local.nid,
            local_stamp: self.local.stamp,
            peer,
        };
        match conn_ack::check(private_data, asked) {
            Ok((stamp, params)) => {
                let terms = Terms {
                    local: self.local.nid,
                    local_stamp: self.local.stamp,
                    peer,
                    peer_stamp: stamp,
                    version: wanted.version,
                    depth: params.queue_depth,
                    fragments: params.max_fragments,
                };
                self.counters.connected += 1;
                self.add_conn(id, terms, now);
            }
            Err(error) => {
                self.counters.violations += 1;
                device.disconnect(id);
                device.destroy(id);
                self.conns.remove(&id);
                self.peer(peer).remove(id);
                let reason = format!("its acceptance of the connection is not valid: {error}");
                self.out.push(Output::NotConnected { peer, reason });
                self.fail_if_alone(peer, ConnError::NotConnected(Errno::Protocol));
            }
        }
    }

    /// A connection that this node accepted is up, as a message or the connection manager shows.
    pub(super) fn come_up(&mut self, id: ConnId, now: Time) {
        if let Some(ConnState::Accepting { terms, .. }) = self.conns.get(&id) {
            let terms = *terms;
            self.counters.accepted += 1;
            self.add_conn(id, terms, now);
        }
    }

    /// The core knows of a connection: messages that wait are sent, but for those that `is_stale`.
    pub(crate) fn reported(
        &mut self,
        conn: ConnId,
        peer: Nid,
        is_stale: impl Fn(&M) -> bool,
        device: &mut dyn Device,
        now: Time,
    ) {
        if !self.conns.contains_key(&conn) {
            return self.connect_if_needed(peer, device, now);
        }
        self.peer(peer).connected(conn);
        let waiting = std::mem::take(&mut self.peer(peer).waiting);
        let failure = ConnError::ClosedByPeer(Errno::ConnectionReset).failure(BytesSent::Nothing);
        for (message, _) in waiting {
            if is_stale(&message) {
                self.out.push(Output::Finalize(message, Err(failure)));
            } else {
                self.send(message, device, now);
            }
        }
        self.connect_if_needed(peer, device, now);
    }

    /// A peer has refused a connection.
    pub(super) fn rejected(
        &mut self,
        id: ConnId,
        reason: u16,
        private_data: &[u8],
        device: &mut dyn Device,
        now: Time,
    ) {
        let Some(ConnState::Connecting { peer, wanted, .. }) = self.conns.get(&id) else {
            return self.end(id, &Ended::ByPeer, device, now);
        };
        let (peer, wanted) = (*peer, *wanted);
        self.conns.remove(&id);
        device.destroy(id);
        self.peer(peer).remove(id);
        let reject = Reject::decode(private_data).ok();
        match refused(reason, reject, wanted) {
            Refused::Again(wanted) => {
                self.peer(peer).ask_again(wanted, now);
                self.connect_if_needed(peer, device, now);
            }
            Refused::GiveUp(errno) => {
                self.counters.connects_failed += 1;
                let why = match reject {
                    Some(Reject { reason, .. }) => format!("the peer refused the connection ({reason})"),
                    None => format!("the peer refused the connection (reason {reason})"),
                };
                self.out.push(Output::NotConnected { peer, reason: why });
                self.fail_if_alone(peer, ConnError::NotConnected(errno));
            }
        }
        self.forget_if_idle(peer);
    }

    /// A connection could not be made.
    pub(super) fn failed(&mut self, id: ConnId, error: ConnectError, device: &mut dyn Device, now: Time) {
        let Some(state) = self.conns.get(&id) else { return };
        let ConnState::Connecting { peer, .. } = state else {
            return self.end(id, &Ended::ByPeer, device, now);
        };
        let peer = *peer;
        self.conns.remove(&id);
        device.destroy(id);
        self.peer(peer).remove(id);
        self.not_connected(peer, error);
    }

    /// Gives up connections that have not come up in time.
    pub(super) fn end_late_connects(&mut self, device: &mut dyn Device, now: Time) {
        let timeout = self.timeout;
        let is_late = |state: &ConnState<M, A>| match state {
            ConnState::Connecting { since, .. } | ConnState::Accepting { since, .. } => {
                now.since(*since) >= timeout
            }
            ConnState::Up(_) => false,
        };
        let late: Vec<_> = self.conns.iter().filter(|(_, state)| is_late(state)).map(|(id, _)| *id).collect();
        for id in late {
            // The peer may have accepted it meanwhile.
            device.disconnect(id);
            self.failed(id, ConnectError::Unreachable(Errno::TimedOut), device, now);
        }
    }

    fn connect(&mut self, nid: Nid, device: &mut dyn Device, now: Time) -> Result<(), Errno> {
        let wanted = self.peer(nid).wanted;
        let Address::Short(address) = nid.address() else { return Err(Errno::AddressNotAvailable) };
        let params = ConnParams {
            queue_depth: wanted.depth,
            max_fragments: wanted.fragments,
            max_message_size: MESSAGE_SIZE as u32,
        };
        let private_data =
            self.private_data(wanted.version, nid, wanted.stamp.unwrap_or(0), Body::ConnReq(params))?;
        let setup = Setup::new(wanted.depth, wanted.fragments);
        let id = device.connect(Ipv4Addr::from(address), setup, &private_data)?;
        self.conns.insert(id, ConnState::Connecting { peer: nid, wanted, since: now });
        self.peer(nid).connecting.push(id);
        Ok(())
    }

    fn accept(
        &mut self,
        conn: ConnId,
        terms: Terms,
        params: ConnParams,
        device: &mut dyn Device,
    ) -> Result<(), Errno> {
        let body = Body::ConnAck(params);
        let private_data = self.private_data(terms.version, terms.peer, terms.peer_stamp, body)?;
        device.accept(conn, Setup::new(terms.depth, terms.fragments), &private_data)
    }

    fn private_data(
        &self,
        version: crate::proto::Version,
        peer: Nid,
        peer_stamp: u64,
        body: Body<'_>,
    ) -> Result<[u8; CONN_MESSAGE_LEN], Errno> {
        let mut bytes = [0; CONN_MESSAGE_LEN];
        let message = Message {
            version,
            credits: 0,
            src_nid: self.local.nid,
            src_stamp: self.local.stamp,
            dst_nid: peer,
            dst_stamp: peer_stamp,
            body,
        };
        message.encode(&mut bytes).map(|_| bytes).map_err(|_| Errno::AddressNotAvailable)
    }

    /// What is known of a peer NI that asks for a connection.
    fn known(&self, nid: Nid) -> KnownPeer {
        let Some(peer) = self.peers.get(&nid) else { return KnownPeer::default() };
        let all = [&peer.up, &peer.accepting].into_iter().flatten();
        let connected = all.filter_map(|id| self.conns.get(id)).find_map(|state| match state {
            ConnState::Up(conn) => Some((conn.terms.peer_stamp, conn.terms.version)),
            ConnState::Accepting { terms, .. } => Some((terms.peer_stamp, terms.version)),
            ConnState::Connecting { .. } => None,
        });
        KnownPeer { connected, is_connecting: !peer.connecting.is_empty(), races: peer.races }
    }

    /// Makes a connection usable for what the peer sends, and reports it.
    fn add_conn(&mut self, id: ConnId, terms: Terms, now: Time) {
        let conn = Conn::new(id, terms, self.tunables.conn, now);
        self.conns.insert(id, ConnState::Up(Box::new(conn)));
        self.out.push(Output::Connected { conn: id, peer: terms.peer, stamp: terms.peer_stamp });
    }

    /// Ends the connections to an incarnation of a peer that is no more. The messages that wait stay.
    fn end_conns_of(&mut self, nid: Nid, device: &mut dyn Device, now: Time) {
        let peer = self.peer(nid);
        let all: Vec<_> = [&peer.up, &peer.accepting].into_iter().flatten().copied().collect();
        for conn in all {
            self.end(conn, &Ended::Restarted, device, now);
        }
    }

    /// A connection could not be made: without another, the messages that wait fail.
    fn not_connected(&mut self, nid: Nid, error: ConnectError) {
        self.counters.connects_failed += 1;
        self.out.push(Output::NotConnected { peer: nid, reason: error.to_string() });
        let error = match error {
            ConnectError::Local(errno) => ConnError::Local(errno),
            _ => ConnError::NotConnected(error.errno()),
        };
        self.fail_if_alone(nid, error);
        self.forget_if_idle(nid);
    }

    /// Fails the messages that wait, unless another connection may come up.
    fn fail_if_alone(&mut self, nid: Nid, error: ConnError) {
        self.peer(nid).is_satisfied = true;
        if self.peer(nid).conns() == 0 {
            self.fail_waiting(nid, error);
        }
        self.forget_if_idle(nid);
    }
}
