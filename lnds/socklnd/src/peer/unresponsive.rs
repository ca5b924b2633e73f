//! A peer of which nothing is heard: what the core is told, and what becomes of messages.
//!
//! A peer that would know again what comes twice loses its connections as soon as there is another path for everything. To
//! any other one what has begun to leave stays with TCP, and what has not waits, or takes another path.

use super::{Peer, Waiting};
use crate::conn::Connection;
use crate::decide::cause::{BytesSent, ConnError};
use crate::proto::frame::{Cookies, KEEPALIVE_COOKIE};
use crate::proto::{ConnectionType, Version};
use crate::sync::lock;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The core is told of an unresponsive path at most so often.
const TELL_PAUSE: Duration = Duration::from_millis(200);
/// The least time between two probes of connections that a peer has and calls for. It doubles with each.
const FIRST_SURPLUS_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_SURPLUS_PAUSE: Duration = Duration::from_secs(30);

/// What follows when nothing is heard of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consequence {
    /// It was told lately: nothing new.
    Nothing,
    /// Its connections are to be given up: all that is under way has another path.
    GiveUp,
    /// It keeps its connections. Whether that is news, and how many messages took another path.
    Stay { is_new: bool, moved: usize },
}

impl Peer {
    /// Whether any connection was heard within `limit`, by what TCP knows.
    pub(crate) fn is_heard(&self, limit: Duration) -> bool {
        self.open_connections().iter().any(|connection| connection.is_heard(limit))
    }

    /// Nothing is heard although something is under way, or waits for a call: tells the core, and has what can take
    /// another path do so. `is_heard`: in the other direction something arrives, so that its connections may be well again
    /// soon.
    pub(crate) fn note_unresponsive(self: &Arc<Self>, now: Instant, is_heard: bool) -> Consequence {
        let (is_new, deduplicates) = {
            let mut state = lock(&self.state);
            if state.last_told.is_some_and(|at| now.saturating_duration_since(at) < TELL_PAUSE) {
                return Consequence::Nothing;
            }
            state.last_told = Some(now);
            let connected = !state.connections.is_empty();
            (!std::mem::replace(&mut state.unresponsive, connected), state.deduplicates())
        };
        let Some(ni) = self.ni.lnet_ni() else { return Consequence::Nothing };
        let all_may_move = self.ni.upcalls.path_is_unresponsive(&ni, self.id.nid);
        if all_may_move && deduplicates && !is_heard {
            return Consequence::GiveUp;
        }
        let moved = self.withdraw(ConnError::Unresponsive);
        if !deduplicates {
            let stuck =
                self.open_connections().iter().flat_map(|connection| connection.take_credits()).collect();
            self.ni.upcalls.release_credits(stuck);
        }
        Consequence::Stay { is_new, moved }
    }

    /// Something is heard.
    pub(crate) fn note_responsive(self: &Arc<Self>) {
        if !std::mem::take(&mut lock(&self.state).unresponsive) {
            return;
        }
        log::debug!("{} is responsive again", self.name());
        if let Some(ni) = self.ni.lnet_ni() {
            self.ni.upcalls.path_is_responsive(&ni, self.id.nid);
        }
        self.send_waiting();
    }

    /// The core knows that nothing gets there at this time, and that there is another path. What would not be known again
    /// stays with TCP once it has begun to leave: that may be over soon.
    pub(crate) fn abort_tx(self: &Arc<Self>, conn_error: ConnError) {
        let stays = {
            let state = lock(&self.state);
            !state.connections.is_empty() && !state.deduplicates()
        };
        if stays {
            self.withdraw(conn_error);
        } else {
            self.give_up(conn_error);
        }
    }

    /// Gives back the messages of which nothing has left and that may take another path; how many. The others of them wait,
    /// and those that have names by which the peer would know them again stay where they are.
    fn withdraw(self: &Arc<Self>, conn_error: ConnError) -> usize {
        let connections = self.open_connections();
        let unnamed = connections.iter().filter(|connection| !connection.same_implementation());
        let queued: Vec<_> = unnamed.flat_map(|connection| connection.withdraw()).collect();
        let since = Instant::now();
        let queued = queued.into_iter().map(|message| Waiting { message, since });
        let waiting = std::mem::take(&mut lock(&self.state).waiting);
        let (mut kept, mut moved) = (VecDeque::new(), 0);
        for waiting in queued.chain(waiting) {
            if self.ni.upcalls.may_change_path(&waiting.message) {
                moved += 1;
                self.ni.upcalls.finalize(waiting.message, Err(conn_error.failure(BytesSent::Nothing)));
            } else {
                kept.push_back(waiting);
            }
        }
        let gone = {
            let mut state = lock(&self.state);
            kept.append(&mut state.waiting);
            state.waiting = kept;
            state.gone
        };
        if gone {
            self.give_back_waiting(ConnError::Shutdown);
        } else {
            // A connection may have come up meanwhile, or gone.
            self.send_waiting();
            self.retire();
        }
        moved
    }

    /// It has called for a connection of this kind, although it has as many as there may be. The first that a node calls
    /// for says that it may have none at all; a further one for bulk, only that it would have more than there may be.
    /// Connections that are suspected for that are probed: its system says so if it knows nothing of them.
    /// `may_end`: who called may also end them.
    pub(crate) fn note_surplus_connect(&self, kind: ConnectionType, may_end: bool, now: Instant) {
        if matches!(kind, ConnectionType::BulkIn | ConnectionType::BulkOut) {
            return;
        }
        let connections = self.open_connections();
        if may_end {
            connections.iter().for_each(|connection| connection.note_surplus_connect(now));
        }
        {
            let mut state = lock(&self.state);
            let pause = state.surplus_pause;
            if state.last_surplus_probe.is_some_and(|at| now.saturating_duration_since(at) < pause) {
                return;
            }
            state.last_surplus_probe = Some(now);
            state.surplus_pause = (2 * pause).clamp(FIRST_SURPLUS_PAUSE, LONGEST_SURPLUS_PAUSE);
        }
        let alike = connections.iter().filter(|connection| connection.kind == kind);
        for connection in alike.filter(|connection| connection.version >= Version::V3) {
            if !connection.has_unsent() {
                connection.transmit_noop(Cookies { request: 0, ack: KEEPALIVE_COOKIE });
            }
        }
    }

    fn open_connections(&self) -> Vec<Arc<Connection>> {
        lock(&self.state).connections.iter().map(|slot| Arc::clone(&slot.connection)).collect()
    }
}
