//! Messages that only version 4 has room for, and the connections of version 4 that replace older ones for them.

use super::replaced::{FinishedReplaced, NeedOfVersion4};
use super::{ConnSlot, Peer, PeerState, WaitingMessage};
use crate::config::SocklndConfig;
use crate::conn::Connection;
use crate::decide::version::{fit_all_versions, large_nid};
use crate::proto::Version;
use lnd_common::conn_error::{BytesSent, ConnError};
use lnd_common::connect_schedule::Next;
use lnet_core::lnd::SendOutcome;
use lnet_core::{Errno, OutgoingMessage, Pooled, Time};
use lnet_log::LogClass;
use std::collections::VecDeque;
use std::sync::Arc;

impl PeerState {
    pub(super) fn wants_version_4(&self) -> bool {
        self.version_4 == NeedOfVersion4::Wanted
    }

    /// Whether the peer's connections, which are of an older version, are to be replaced.
    pub(super) fn is_to_be_replaced(&self) -> bool {
        self.wants_version_4() && !self.connections.is_empty()
    }

    /// Whether the last connect was made to a port for bulk alone: its failure says nothing of other connections.
    pub(super) fn last_connect_was_to_port_for_bulk(&self, config: &SocklndConfig) -> bool {
        self.last_requested.is_some_and(|kind| config.has_own_port(kind))
    }

    /// Notes the need of a message that is to wait for a connection; the message comes back if the peer has refused version 4.
    pub(super) fn note_need(
        &mut self,
        message: Pooled<OutgoingMessage>,
    ) -> Result<Pooled<OutgoingMessage>, Pooled<OutgoingMessage>> {
        match (large_nid(message.header()), self.version_4) {
            (Some(_), NeedOfVersion4::Refused) => return Err(message),
            (Some(_), _) => self.version_4 = NeedOfVersion4::Wanted,
            (None, _) => {}
        }
        Ok(message)
    }

    /// Forgets a refusal of the peer; a message that waits still has its need.
    pub(super) fn forget_refusal(&mut self) {
        let needed = self.waiting.iter().any(|waiting| large_nid(waiting.message.header()).is_some());
        self.version_4 = if needed { NeedOfVersion4::Wanted } else { NeedOfVersion4::None };
    }

    /// Takes the messages out of the waiting ones that only version 4 has room for.
    fn take_long(&mut self) -> VecDeque<WaitingMessage> {
        let (fitting, long) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|it| large_nid(it.message.header()).is_none());
        self.waiting = fitting;
        long
    }

    /// Makes room for the first connection of another version; returns the connections that it replaces.
    pub(super) fn replace_older(&mut self, version: Version, now: Time) -> Vec<Arc<Connection>> {
        if version != Version::V4 {
            return Vec::new();
        }
        self.version_4 = NeedOfVersion4::None;
        self.replaced.accepting = false;
        let is_older = |slot: &mut ConnSlot| slot.connection.terms.version < version;
        let slots: Vec<_> = self.connections.extract_if(.., is_older).collect();
        let older = slots.iter().map(|slot| Arc::clone(&slot.connection)).collect();
        if !slots.is_empty() {
            self.schedule.start_over();
            self.replaced.add(slots.into_iter().map(|slot| (slot.connection, slot.ended)), now);
        }
        older
    }
}

impl Peer {
    /// Whether this node is to replace the peer's connections by such of version 4.
    pub(crate) fn is_to_be_replaced(&self) -> bool {
        self.state.look().is_to_be_replaced()
    }

    /// Keeps a message until there are connections of version 4, because it does not fit in the version of those that there are. It comes
    /// back if the connections have changed meanwhile.
    pub(super) fn await_version_4(
        &self,
        message: Pooled<OutgoingMessage>,
    ) -> Result<SendOutcome, Pooled<OutgoingMessage>> {
        let connect = {
            let state = &mut *self.state.change();
            let now = self.ni.shared.now();
            let version = state.peer_incarnation.map(|known| known.version);
            if state.is_removed() || version.is_none_or(|version| version == Version::V4) {
                return Err(message);
            }
            if self.synthetic {
                let failure = ConnError::NoRoute.failure(BytesSent::Nothing);
                return Ok(SendOutcome::Done(message, Err(failure)));
            }
            let only_bulk_failed = state.last_connect_was_to_port_for_bulk(&self.ni.shared.config);
            if !only_bulk_failed && state.schedule.is_backing_off(now) {
                let why = state.last_failure.unwrap_or(Errno::HostUnreachable);
                let failure = ConnError::NotConnected(why).failure(BytesSent::Nothing);
                return Ok(SendOutcome::Done(message, Err(failure)));
            }
            let is_new = !state.wants_version_4();
            let message = match state.note_need(message) {
                Ok(message) => message,
                Err(message) => {
                    return Ok(SendOutcome::Done(
                        message,
                        Err(ConnError::NotSupported.failure(BytesSent::Nothing)),
                    ));
                }
            };
            if is_new {
                state.active = true;
                if only_bulk_failed || !state.schedule.has_failed() {
                    state.schedule.start_over();
                }
                self.recount(state);
            }
            state.waiting.push_back(WaitingMessage { message, since: now });
            state.request_connect()
        };
        if connect {
            self.request_connect();
        }
        Ok(SendOutcome::Pending)
    }

    /// Handles the peer's offer of `version` in place of version 4: what needs version 4 fails, and one line says so. `None` if this node
    /// has not connected with version 4 for messages alone.
    pub(crate) fn version_4_refused(&self, offered: Version) -> Option<Next> {
        let (long, next) = {
            let state = &mut *self.state.change();
            if !state.wants_version_4()
                || offered == Version::V4
                || !fit_all_versions(self.ni.local.nid, self.id.nid)
            {
                return None;
            }
            state.version_4 = NeedOfVersion4::Refused;
            state.proposed = Some(offered);
            state.schedule.cancel();
            self.recount(state);
            let long = state.take_long();
            let has_reason = !state.waiting.is_empty() || !state.connections.is_empty();
            (long, if has_reason && state.request_connect() { Next::Now } else { Next::Enough })
        };
        if let Some(nid) = long.front().and_then(|waiting| large_nid(waiting.message.header())) {
            let peer = self.id.nid;
            self.ni.shared.log(
                LogClass::LargeNidsRefused,
                peer,
                format_args!(
                    "{peer}: messages from or to {nid} cannot be sent (it supports no 20-byte NIDs: HELLO version {})",
                    offered as u32
                ),
            );
        }
        for WaitingMessage { message, .. } in long {
            self.ni.finalize(message, Err(ConnError::NotSupported.failure(BytesSent::Nothing)));
        }
        self.retire();
        Some(next)
    }

    /// Fails the messages that wait for version 4: this node cannot connect to the peer.
    pub(super) fn fail_long(&self, conn_error: ConnError) {
        let long = {
            let mut state = self.state.change();
            if state.wants_version_4() {
                state.version_4 = NeedOfVersion4::None;
                self.recount(&mut state);
            }
            state.take_long()
        };
        for WaitingMessage { message, .. } in long {
            self.ni.finalize(message, Err(conn_error.failure(BytesSent::Nothing)));
        }
    }

    /// Makes what these connections have not sent wait for others.
    pub(super) fn move_unsent(&self, connections: &[Arc<Connection>]) {
        let since = self.ni.shared.now();
        let unsent = connections.iter().flat_map(|connection| connection.withdraw());
        let mut unsent: VecDeque<_> = unsent.map(|message| WaitingMessage { message, since }).collect();
        let removed = {
            let mut state = self.state.change();
            unsent.append(&mut state.waiting);
            state.waiting = unsent;
            state.is_removed()
        };
        if removed {
            self.give_back_waiting(ConnError::Shutdown);
        }
    }

    /// Handles that the peer has ended a connection that another has replaced, or that it cannot be written to any more; returns whether it
    /// is one. `can_read`: what the peer sent before is still to be read.
    pub(super) fn replaced_has_ended(&self, connection: &Arc<Connection>, can_read: bool) -> bool {
        if !self.state.change().replaced.note_end(connection, !can_read) {
            return false;
        }
        if can_read {
            connection.drain(ConnError::Replaced);
        }
        true
    }

    /// Notes that a connection of version 4 is about to be accepted: the peer may end the older ones before it is installed here.
    pub(crate) fn begin_replacement(&self) {
        self.state.change().replaced.accepting = true;
    }

    /// Handles that the peer has ended a connection while one of version 4 is being made: it has that one already, and still reads the older
    /// ones. Returns whether it is so.
    pub(super) fn ends_early(&self, connection: &Arc<Connection>, can_read: bool) -> bool {
        let state = &mut *self.state.change();
        let connecting =
            state.is_to_be_replaced() && state.schedule.connecting(self.ni.shared.now()).is_some();
        if can_read || !connecting && !state.replaced.accepting {
            return false;
        }
        let mut slots = state.connections.iter_mut();
        let Some(slot) = slots.find(|slot| Arc::ptr_eq(&slot.connection, connection)) else { return false };
        slot.ended = true;
        true
    }

    /// Handles the connections that the peer has ended early: there is none of version 4 after all.
    pub(crate) fn end_early(&self) {
        let ended = {
            let mut state = self.state.change();
            state.replaced.accepting = false;
            let slot = state.connections.iter().find(|slot| slot.ended);
            slot.map(|slot| Arc::clone(&slot.connection))
        };
        if let Some(ended) = ended {
            self.peer_has_closed(&ended, Errno::ConnectionReset, false);
        }
    }

    /// Ends the replaced connections that have nothing left to do, or on which delivery ACKs are overdue. To be called periodically.
    /// Returns whether there are none.
    pub(super) fn end_replaced(&self, now: Time) -> bool {
        let FinishedReplaced { written, stalled, over } = {
            let state = &mut *self.state.change();
            if state.replaced.is_empty() {
                return true;
            }
            state.replaced.take_finished(now)
        };
        for connection in written {
            connection.drain_if_written(ConnError::Replaced);
        }
        for connection in stalled {
            self.ni.counts.timed_out.add();
            log::debug!("{}: no delivery ACKs received on a replaced connection; closing it", self.id);
            connection.close(ConnError::Stalled);
        }
        for connection in over {
            connection.close(ConnError::Replaced);
        }
        let is_empty = self.state.look().replaced.is_empty();
        if is_empty {
            self.retire();
        }
        is_empty
    }
}
