//! The messages that wait for credits: those that get them, move to other paths, or have waited too long.

use super::DataPath;
use crate::environment::time::Time;
use crate::model::message::{OutgoingMessage, TakenCredits};
use crate::model::{Ni, PeerNi};
use lnet_wire::Errno;
use std::sync::Arc;

impl DataPath {
    /// Sets the credits of a peer NI to those of its net, if this node is on that net (OM-6).
    pub(crate) fn grant_credits(&self, peer_ni: &PeerNi) {
        let Some(credits) = self.topology.peer_credits(peer_ni.nid()) else { return };
        self.resume_all(self.sending.grant(peer_ni, credits));
    }

    /// Moves the messages that wait for a credit of this interface, or of a peer NI and would leave by this
    /// interface, to other paths (snd-085).
    pub(crate) fn move_waiting(&self, ni: &Arc<Ni>) {
        let may_move = |message: &OutgoingMessage| message.source().is_none() && message.is_by(ni);
        self.resume_all(self.sending.withdraw_from_ni(ni, may_move));
        self.move_waiting_for_peers(may_move);
    }

    /// Moves the messages that wait for a peer credit and satisfy `may_move` to other paths, if theirs should
    /// be avoided.
    pub(crate) fn move_waiting_for_peers(&self, may_move: impl Fn(&OutgoingMessage) -> bool) {
        self.resume_all(self.sending.withdraw_from_peers(&self.topology, may_move));
    }

    /// Ends the messages that have waited for a credit until their deadline; returns the time of the next
    /// deadline.
    pub(crate) fn end_waiting(&self, now: Time) -> Option<Time> {
        let (late, next) = self.sending.take_late(&self.topology, now);
        for message in late {
            self.end(message, Err(Errno::TimedOut.into()));
        }
        next
    }

    /// Ends the messages that wait for a credit, and whose MDs have been unlinked: they need not wait for their turn. Those that wait to
    /// be resent are looked at now.
    pub fn end_given_up(&self) {
        let given_up = self.sending.take_where(&self.topology, OutgoingMessage::is_given_up);
        for message in given_up {
            self.end(message, Err(Errno::Cancelled.into()));
        }
        self.health.expedite_given_up(self.env.now());
    }

    /// Takes NI credits back from messages that drivers have had for too long; returns the time of the next check.
    pub(crate) fn reclaim_ni_credits(&self, now: Time) -> Option<Time> {
        match self.sending.reclaim(&self.topology, now) {
            Ok(granted) => {
                self.resume_all(granted);
                self.sending.next_reclaim(&self.topology, now)
            }
            Err(next) => next,
        }
    }

    /// Returns the credits of a message that its driver keeps, so that waiting messages may leave.
    pub(crate) fn release_taken(&self, credits: TakenCredits) {
        self.resume_all(self.sending.release_taken(credits));
    }
}
