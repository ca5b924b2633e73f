//! The connections of an older version that others have replaced.
//!
//! All connections of a peer have one version. Those of an older one finish what they have begun: what they have not sent goes by the new
//! ones, and they stay until the peer has ended them and has confirmed what was sent on them.

use crate::conn::{ConnPhase, Connection};
use lnet_core::Time;
use std::sync::Arc;
use std::time::Duration;

/// Time after a change of the version in which a HELLO of the older one may still be under way.
const OLD_HELLO_ARRIVES: Duration = Duration::from_secs(5);

/// Whether messages need connections of version 4 with the peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum NeedOfVersion4 {
    #[default]
    None,
    /// A message waits for such a connection: this node connects with version 4.
    Wanted,
    /// The peer has refused version 4.
    Refused,
}

/// Connections of an older version that others have replaced.
#[derive(Default)]
pub(super) struct Replaced {
    connections: Vec<ReplacedConn>,
    /// The time when connections of version 4 last replaced older ones.
    at: Option<Time>,
    /// Whether a connection of the peer is being accepted that replaces the others.
    pub(super) accepting: bool,
}

struct ReplacedConn {
    connection: Arc<Connection>,
    /// Whether the peer has ended it: nothing more arrives.
    ended_by_peer: bool,
}

/// The replaced connections that change their state.
pub(super) struct FinishedReplaced {
    /// Everything that they were given has left.
    pub(super) written: Vec<Arc<Connection>>,
    /// A delivery ACK is overdue.
    pub(super) stalled: Vec<Arc<Connection>>,
    /// They have nothing left to do.
    pub(super) over: Vec<Arc<Connection>>,
}

impl Replaced {
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Connection>> {
        self.connections.iter().map(|replaced| &replaced.connection)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Adds connections, each with whether the peer has ended it already.
    pub(super) fn add(&mut self, connections: impl Iterator<Item = (Arc<Connection>, bool)>, now: Time) {
        self.at = Some(now);
        let replaced =
            connections.map(|(connection, ended_by_peer)| ReplacedConn { connection, ended_by_peer });
        self.connections.extend(replaced);
    }

    /// Removes the connections, which end with the others.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Arc<Connection>> {
        (self.at, self.accepting) = (None, false);
        std::mem::take(&mut self.connections).into_iter().map(|replaced| replaced.connection)
    }

    /// Whether a HELLO of the older version may still be under way.
    pub(super) fn is_recent(&self, now: Time) -> bool {
        self.at.is_some_and(|at| now.since(at) < OLD_HELLO_ARRIVES)
    }

    /// Notes that a connection has ended, and whether the peer has ended it (`by_peer`); false if it is none of these.
    pub(super) fn note_end(&mut self, connection: &Arc<Connection>, by_peer: bool) -> bool {
        let replaced = self.connections.iter_mut().find(|it| Arc::ptr_eq(&it.connection, connection));
        replaced.map(|it| it.ended_by_peer |= by_peer).is_some()
    }

    /// Returns the connections that change their state. Those that are stalled or over, and those that are closed, are removed.
    pub(super) fn take_finished(&mut self, now: Time) -> FinishedReplaced {
        let all = &mut self.connections;
        all.retain(|it| it.connection.phase() != ConnPhase::Closed);
        let written = all
            .iter()
            .filter(|it| it.connection.phase() == ConnPhase::Open && !it.connection.has_unsent())
            .map(|it| Arc::clone(&it.connection))
            .collect();
        let is_stalled = |it: &mut ReplacedConn| it.connection.is_ack_overdue(now);
        let stalled = all.extract_if(.., is_stalled).map(|it| it.connection).collect();
        let is_over = |it: &mut ReplacedConn| {
            it.ended_by_peer && !it.connection.has_unsent() && !it.connection.awaits_acks()
        };
        let over = all.extract_if(.., is_over).map(|it| it.connection).collect();
        FinishedReplaced { written, stalled, over }
    }
}
