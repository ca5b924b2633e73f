//! Connects to a peer, inbound connections of the peer, and the installation of established ones.

use super::{Listing, Peer, PeerState, WaitingMessage};
use crate::conn::{ConnContext, ConnOwner, Connection, Settled};
use crate::decide::admit::PeerStatus;
use crate::decide::choose::{TxKind, only_for_small};
use crate::decide::conn_types::{ConnCounts, next_type};
use crate::decide::identity::{Identity, IpNid};
use crate::decide::version::{PeerIncarnation, Relation, version_to_propose};
use crate::proto::{ConnectionType, Version};
use lnd_common::conn_error::{BytesSent, ConnError};
use lnd_common::connect_schedule::{Next, Pace};
use lnet_core::lnd::SendOutcome;
use lnet_core::{Errno, Time};
use std::net::IpAddr;
use std::sync::Arc;

impl Peer {
    /// Keeps the peer in the NI's table until [`Peer::unpin`]; false if it has been removed already. Only the connecting
    /// thread does this.
    pub(crate) fn pin(&self) -> bool {
        let mut state = self.state.change();
        if !state.is_removed() {
            state.listing = Listing::Pinned;
        }
        !state.is_removed()
    }

    pub(crate) fn unpin(&self) {
        {
            let mut state = self.state.change();
            if state.listing == Listing::Pinned {
                state.listing = Listing::Listed;
            }
        }
        self.retire();
    }

    /// Returns the state that decides whether a connection from the peer is accepted.
    /// On a peer's host any process may claim its NID (see [`crate::decide::identity::identify`]), but must not end connections of a
    /// `privileged` process there.
    pub(crate) fn status(
        &self,
        (kind, version): (ConnectionType, Version),
        remote: IpAddr,
        privileged: bool,
        now: Time,
    ) -> PeerStatus {
        let state = self.state.change();
        let same_type = |slot: &&super::ConnSlot| {
            let terms = &slot.connection.terms;
            terms.kind == kind && terms.version == version && terms.remote == remote
        };
        let has_privileged = state.connections.iter().any(|slot| slot.connection.terms.privileged);
        PeerStatus {
            peer_incarnation: state.peer_incarnation,
            own_connect: state.schedule.connecting(now),
            same_type: state.connections.iter().filter(same_type).count(),
            may_end: privileged || !has_privileged,
            replaced_lately: state.replaced.is_recent(now),
        }
    }

    /// Whether the planned connect is due; notes that it is being made.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        {
            let mut state = self.state.change();
            if !state.schedule.due(now) {
                return false;
            }
            if state.has_reason_to_connect() {
                return true;
            }
            state.schedule.cancel();
        }
        self.retire();
        false
    }

    /// Whether a connect is still to be made: another may have made the requested one superfluous.
    pub(crate) fn is_connect_requested(&self) -> bool {
        self.state.look().schedule.is_requested()
    }

    /// Whether to continue with a connect for the next connection of the set; notes that it is being made.
    pub(crate) fn wants_more(&self) -> bool {
        self.state.change().request_connect()
    }

    /// Returns the version and type of the connection to request now. Begins the connect, or cancels it if no connection
    /// is needed.
    pub(crate) fn begin_connect(&self, now: Time) -> Option<(Version, ConnectionType)> {
        let mut state = self.state.change();
        let Some(kind) = state.wanted.filter(|_| !state.is_removed()) else {
            state.schedule.cancel();
            return None;
        };
        state.schedule.begin(now);
        state.last_requested = Some(kind);
        state.failed_fast = false;
        let heard = state.peer_incarnation.map(|known| known.version).or(state.proposed);
        let usual = self.ni.shared.config.use_protocol;
        Some((
            version_to_propose(self.ni.local.nid, self.id.nid, heard, state.wants_version_4(), usual),
            kind,
        ))
    }

    /// Postpones the connect, because an unfinished inbound handshake may be this peer's.
    pub(crate) fn postpone_connect(&self, until: Time) {
        self.state.change().schedule.postpone(until);
    }

    /// The incarnation of the peer that its connections show, if there are any.
    pub(crate) fn incarnation(&self) -> Option<u64> {
        let known = self.state.look().peer_incarnation;
        known.map(|known| known.incarnation).filter(|incarnation| !self.synthetic && *incarnation != 0)
    }

    /// The relation of a connect that found this incarnation of the peer to the peer's connections.
    pub(crate) fn relation(&self, peer_incarnation: PeerIncarnation) -> Relation {
        peer_incarnation.relation_to(self.state.look().peer_incarnation)
    }

    pub(crate) fn connect_refused(&self, now: Time) -> Next {
        let mut state = self.state.change();
        let have = self.count(&state);
        state.schedule.refused(now, self.pace(), have.connected())
    }

    /// Notes that this node must connect again at once, in another version if one is given. Returns the next step.
    pub(crate) fn connect_again(&self, now: Time, version: Option<Version>) -> Next {
        let mut state = self.state.change();
        state.proposed = version.or(state.proposed);
        state.schedule.again(now, self.pace())
    }

    /// Notes that the connect failed. Returns the next step: another connect at once if this one was for bulk, to a port of its own, and
    /// messages wait for connections of version 4.
    pub(crate) fn connect_failed(&self, now: Time) -> Next {
        let mut state = self.state.change();
        if state.is_to_be_replaced() && state.last_connect_was_to_port_for_bulk(&self.ni.shared.config) {
            return state.schedule.again(now, self.pace());
        }
        let connected = !state.connections.is_empty();
        state.schedule.failed(now, self.pace(), connected)
    }

    /// Notes that the peer does not listen on this node's port for bulk. Returns whether that is news.
    pub(crate) fn note_bulk_port_refused(&self) -> bool {
        !std::mem::replace(&mut self.state.change().bulk_port_refused, true)
    }

    /// Notes that the peer's system did not respond to the connect. Returns the next step.
    pub(crate) fn connect_without_response(&self) -> Next {
        let next = {
            let mut state = self.state.change();
            let wanted = state.has_reason_to_connect();
            state.schedule.unanswered(wanted)
        };
        if next == Next::Enough {
            self.retire();
        }
        next
    }

    /// Notes that the connect was given up for a reason that does not concern the peer; another may still be needed.
    pub(crate) fn connect_abandoned(&self) {
        self.state.change().schedule.abandoned();
        self.retire();
    }

    fn pace(&self) -> Pace {
        let config = &self.ni.shared.config;
        Pace { min: config.min_reconnect, max: config.max_reconnect, random: self.ni.random() }
    }

    /// Whether any message waits for a connection.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.state.look().waiting.is_empty()
    }

    /// Whether only recovery pings wait for a connection: their path is known not to work.
    pub(crate) fn is_only_probed(&self) -> bool {
        let state = self.state.change();
        !state.waiting.is_empty() && state.waiting.iter().all(|waiting| waiting.message.is_recovery_ping())
    }

    /// Gives back the messages that wait for a connection.
    pub(crate) fn give_back_waiting(&self, conn_error: ConnError) {
        let waiting = std::mem::take(&mut self.state.change().waiting);
        for WaitingMessage { message, .. } in waiting {
            self.ni.finalize(message, Err(conn_error.failure(BytesSent::Nothing)));
        }
    }

    /// Fails the messages that wait for a connection after a failed connect, if there is none; with connections those that do not fit in
    /// their version.
    pub(crate) fn fail_waiting(&self, errno: Errno) {
        {
            let mut state = self.state.change();
            state.last_failure = Some(errno);
            if !state.connections.is_empty() {
                drop(state);
                return self.fail_long(ConnError::NotConnected(errno));
            }
        }
        self.give_back_waiting(ConnError::NotConnected(errno));
    }

    /// Adds an established connection: messages are sent on it from now on. `outbound`: this node has connected.
    pub(crate) fn install(
        &self,
        settled: Settled,
        incarnation: u64,
        outbound: bool,
        now: Time,
    ) -> Result<(), Errno> {
        let peer_incarnation = PeerIncarnation { version: settled.version, incarnation };
        let lnet_ni = self.ni.lnet_ni().ok_or(Errno::Shutdown)?;
        let this = self.this.upgrade().ok_or(Errno::Shutdown)?;
        if !self.synthetic && incarnation != 0 {
            // The core is told before anything can be sent on the connection.
            self.ni.upcalls.connected(&lnet_ni, self.id.nid, incarnation);
        }
        let context = ConnContext {
            owner: this as Arc<dyn ConnOwner>,
            identity: Identity { id: self.id, synthetic: self.synthetic },
            ni: &self.ni,
            lnet_ni,
            scheduler: self.owner.scheduler_of(self.id.nid),
            watch_list: self.owner.watch_list(),
            nodes: self.owner.nodes(),
            deferred_bytes: &self.deferred_bytes,
        };
        let connection = Connection::new(settled, context, now);
        self.owner.remember_connection(&connection)?;
        let (removed, replaced) = {
            let mut state = self.state.change();
            let mut replaced = Vec::new();
            if !state.is_removed() {
                replaced = state.replace_older(peer_incarnation.version, now);
                state.connections.push(super::ConnSlot {
                    connection: Arc::clone(&connection),
                    last_used: 0,
                    ended: false,
                });
                state.peer_incarnation = Some(peer_incarnation);
                self.recount(&mut state);
                if outbound {
                    state.schedule.succeeded();
                }
            }
            (state.is_removed(), replaced)
        };
        if removed {
            connection.close(ConnError::Shutdown);
            return Err(Errno::Shutdown);
        }
        if let Err(error) = connection.scheduler.add(&connection) {
            let errno = Errno::from(error);
            self.end_because_of(&connection, ConnError::Local(errno));
            return Err(errno);
        }
        self.note_connected();
        self.move_unsent(&replaced);
        self.send_waiting();
        Ok(())
    }

    pub(super) fn send_waiting(&self) {
        let waiting = {
            let mut state = self.state.change();
            let min_bulk = self.ni.shared.config.min_bulk;
            if state.must_queue() || state.choose(TxKind::Message(0), min_bulk).is_none() {
                return;
            }
            std::mem::take(&mut state.waiting)
        };
        let mut returned = Vec::new();
        for WaitingMessage { message, .. } in waiting {
            if self.ni.upcalls.is_for_earlier_incarnation(&message) {
                let failure = ConnError::ClosedByPeer(Errno::ConnectionReset).failure(BytesSent::Nothing);
                self.ni.finalize(message, Err(failure));
                continue;
            }
            // The message is not sent by this peer, which may have lost its connections and been removed since.
            match Arc::clone(&self.owner).send_again(message) {
                SendOutcome::Done(message, result) => self.ni.finalize(message, result),
                SendOutcome::Sent(credits) => returned.push(credits),
                SendOutcome::Pending => {}
            }
        }
        // Messages that get these credits follow those that have waited here.
        returned.into_iter().for_each(|credits| self.ni.upcalls.release_credits(credits));
    }

    fn count(&self, state: &PeerState) -> ConnCounts {
        let ip = self.ip();
        let is_kept = |version| version == Version::V4 || !state.wants_version_4();
        let here = state.connections.iter().filter(|slot| {
            let terms = &slot.connection.terms;
            terms.remote == ip && is_kept(terms.version)
        });
        ConnCounts::of(here.map(|slot| slot.connection.terms.kind))
    }

    pub(super) fn recount(&self, state: &mut PeerState) {
        let config = &self.ni.shared.config;
        let kinds =
            state.connections.iter().map(|slot| (slot.connection.terms.kind, slot.connection.terms.version));
        state.for_small = only_for_small(kinds, config.min_bulk);
        state.wanted = next_type(self.count(state), config.typed_conns, self.ni.conns_per_peer().into());
    }

    /// The address to connect to.
    pub(crate) fn ip(&self) -> IpAddr {
        self.id.nid.ip()
    }
}

impl PeerState {
    /// Whether there is a reason to connect: a message to send, or an incomplete set of connections.
    fn has_reason_to_connect(&self) -> bool {
        self.failed_fast || !self.waiting.is_empty() || !self.connections.is_empty()
    }
}
