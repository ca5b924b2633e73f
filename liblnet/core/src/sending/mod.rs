//! Admission to the drivers: the credits that a message takes before it is sent, the queues in which it waits for
//! them, and the messages that get returned credits (core-behaviour 3.2).
//!
//! [`Sending`] takes the credits of a message or queues it; it returns messages that have got their credits, and those that
//! have waited too long. It calls no driver.

mod epochs;

use crate::credit::{NiCredit, RECLAIM_AFTER, SharedNiPool};
use crate::environment::time::Time;
use crate::model::message::{OutgoingMessage, Pooled, TakenCredits};
use crate::model::{Ni, PeerNi};
use crate::topology::Topology;
use epochs::Epochs;
use std::cell::Cell;

/// The credits of a node's interfaces and peer NIs. Any thread may call its methods.
#[derive(Debug, Default)]
pub(crate) struct Sending {
    /// The times at which the credits of interfaces are reclaimed from messages that have not ended.
    epochs: Epochs,
}

/// The result of [`Sending::admit`].
pub(crate) enum Admission {
    /// The message has all its credits.
    Granted(Pooled<OutgoingMessage>),
    /// The message waits for a credit of the peer NI.
    WaitsForPeer,
    /// The message waits for a credit of the interface.
    WaitsForNi,
}

impl Sending {
    /// Whether a message to a peer NI needs no credits, as its driver would return them at once, and as no message waits for any.
    #[inline]
    pub(crate) fn waives(&self, message: &OutgoingMessage) -> bool {
        let OutgoingMessage { head, held, next_hop, .. } = message;
        let (Some(ni), Some(peer_ni)) = (&head.ni, &head.peer_ni) else { return false };
        peer_ni.waived().include(head.header.payload_length)
            && !message.is_routed()
            && !held.peer
            && held.ni.is_none()
            && peer_ni.tx().credits().0 > 0
            && ni.tx(&next_hop.nid).credits().0 > 0
    }

    /// Takes the credits that a message to a peer NI does not have yet, the peer NI's first, as far as they are available at the
    /// moment. Returns whether the message has both.
    #[inline]
    pub(crate) fn try_admit(&self, message: &mut OutgoingMessage) -> bool {
        let bytes = message.wire_len();
        let OutgoingMessage { head, held, next_hop, .. } = message;
        let (Some(ni), Some(peer_ni)) = (&head.ni, &head.peer_ni) else { return false };
        if !held.peer {
            held.peer = peer_ni.tx().try_take(bytes);
        }
        if held.peer && held.ni.is_none() {
            held.ni = ni.tx(&next_hop.nid).try_take();
        }
        held.peer && held.ni.is_some()
    }

    /// Takes the credits that a message to `peer_ni` on `ni` does not have yet, the peer NI's first. `expect_wait`
    /// is called before a credit is taken that is not available at the moment.
    pub(crate) fn admit(
        &self,
        mut message: Pooled<OutgoingMessage>,
        ni: &Ni,
        peer_ni: &PeerNi,
        expect_wait: impl Fn(&mut OutgoingMessage),
    ) -> Admission {
        if !message.held.peer {
            message.held.peer = true;
            let bytes = message.wire_len();
            if peer_ni.tx().credits().0 <= 0 {
                expect_wait(&mut message);
            }
            match peer_ni.tx().take(message, bytes) {
                Some(granted) => message = granted,
                None => return Admission::WaitsForPeer,
            }
        }
        if message.held.ni.is_none() {
            let pool = ni.tx(&message.next_hop.nid);
            if pool.credits().0 <= 0 {
                expect_wait(&mut message);
            }
            match pool.take(message) {
                Some(granted) => message = with_ni_credit(granted),
                None => return Admission::WaitsForNi,
            }
        }
        Admission::Granted(message)
    }

    /// Returns the credits of a message, the interface's first (CR-10); calls `resume` with the messages that get them.
    #[inline(always)]
    pub(crate) fn release(
        &self,
        message: &mut OutgoingMessage,
        mut resume: impl FnMut(Pooled<OutgoingMessage>),
    ) {
        let held = std::mem::take(&mut message.held);
        if let (Some(ni), Some(credit)) = (&message.ni, held.ni)
            && let Some(granted) = ni.tx(&message.next_hop.nid).give_back(credit)
        {
            resume(with_ni_credit(granted));
        }
        if held.peer
            && let Some(peer_ni) = &message.peer_ni
            && let Some(granted) = peer_ni.tx().give_back(message.wire_len())
        {
            resume(granted);
        }
    }

    /// Returns credits that were taken from a message which its driver still has; returns the messages that get them.
    pub(crate) fn release_taken(
        &self,
        taken: TakenCredits,
    ) -> impl Iterator<Item = Pooled<OutgoingMessage>> + use<> {
        let TakenCredits { ni, peer_ni, next_hop, bytes } = taken;
        let of_ni = ni.and_then(|(ni, credit)| ni.tx(&next_hop).give_back(credit));
        let of_peer = peer_ni.and_then(|peer_ni| peer_ni.tx().give_back(bytes));
        of_ni.map(with_ni_credit).into_iter().chain(of_peer)
    }

    /// Removes the messages for which `which` holds from the queues of peer NIs.
    pub(crate) fn withdraw_from_peers(
        &self,
        topology: &Topology,
        which: impl Fn(&OutgoingMessage) -> bool,
    ) -> Vec<Pooled<OutgoingMessage>> {
        let all = topology.peers().all();
        all.iter().flat_map(|peer_ni| self.withdraw_from_peer(peer_ni, &which)).collect()
    }

    /// Removes the messages for which `which` holds from the queue of a peer NI.
    pub(crate) fn withdraw_from_peer(
        &self,
        peer_ni: &PeerNi,
        which: impl Fn(&OutgoingMessage) -> bool,
    ) -> Vec<Pooled<OutgoingMessage>> {
        let out = peer_ni.tx().withdraw(|message| which(message), |message| message.wire_len());
        let without_credit = out.into_iter().map(|mut message| {
            message.held.peer = false;
            message
        });
        without_credit.collect()
    }

    /// Removes the messages for which `which` holds from the queues of an interface. They keep their peer credits.
    pub(crate) fn withdraw_from_ni(
        &self,
        ni: &Ni,
        which: impl Fn(&OutgoingMessage) -> bool,
    ) -> Vec<Pooled<OutgoingMessage>> {
        ni.all_tx().iter().flat_map(|pool| pool.withdraw(|message| which(message))).collect()
    }

    /// Removes all messages that wait for a credit of this interface, which is being removed.
    pub(crate) fn abandon(&self, ni: &Ni) -> Vec<Pooled<OutgoingMessage>> {
        ni.all_tx().iter().flat_map(SharedNiPool::abandon).collect()
    }

    /// Removes the messages whose deadline has passed; returns them, and the next deadline of the others.
    pub(crate) fn take_late(
        &self,
        topology: &Topology,
        now: Time,
    ) -> (Vec<Pooled<OutgoingMessage>>, Option<Time>) {
        let next: Cell<Option<Time>> = Cell::new(None);
        let late = |message: &OutgoingMessage| {
            let is_late = message.deadline <= now;
            if !is_late {
                next.set(Some(next.get().map_or(message.deadline, |next| next.min(message.deadline))));
            }
            is_late
        };
        (self.take_where(topology, late), next.get())
    }

    /// Removes the messages for which `which` holds from all queues.
    pub(crate) fn take_where(
        &self,
        topology: &Topology,
        which: impl Fn(&OutgoingMessage) -> bool,
    ) -> Vec<Pooled<OutgoingMessage>> {
        let mut out = self.withdraw_from_peers(topology, &which);
        for ni in topology.nets().nis() {
            out.extend(self.withdraw_from_ni(ni, &which));
        }
        out
    }

    /// Records that a message waits for a credit of an interface. Returns whether [`Sending::reclaim`] must be called from now
    /// on.
    pub(crate) fn watch(&self) -> bool {
        self.epochs.watch()
    }

    /// Reclaims the credits of interfaces from messages that their drivers have had for too long, if others wait for
    /// them: see [`crate::credit::NiCreditPool`]. Returns the messages that get them, or the time of the next call, if
    /// one is needed.
    pub(crate) fn reclaim(
        &self,
        topology: &Topology,
        now: Time,
    ) -> Result<Vec<Pooled<OutgoingMessage>>, Option<Time>> {
        if !self.epochs.is_watched() {
            return Err(None);
        }
        self.epochs.begin(now).map_err(Some)?;
        let nets = topology.nets();
        let granted = nets.nis().flat_map(|ni| ni.all_tx()).flat_map(SharedNiPool::next_epoch);
        Ok(granted.map(with_ni_credit).collect())
    }

    /// Checks whether interfaces still have no credits, after the messages that [`Sending::reclaim`] returned have
    /// been sent. Returns the time of the next [`Sending::reclaim`], if one is needed.
    pub(crate) fn next_reclaim(&self, topology: &Topology, now: Time) -> Option<Time> {
        let nets = topology.nets();
        if nets.nis().flat_map(|ni| ni.all_tx()).any(SharedNiPool::is_exhausted) {
            self.epochs.watch();
        }
        self.epochs.is_watched().then(|| now + RECLAIM_AFTER)
    }

    /// Gives a peer NI `credits` credits (OM-6); returns the messages that waited for them.
    pub(crate) fn grant(&self, peer_ni: &PeerNi, credits: u32) -> Vec<Pooled<OutgoingMessage>> {
        let woken = peer_ni.tx().resize(credits).into();
        if let Some(net) = peer_ni.peer_now().net(peer_ni.nid().net()) {
            net.note_credits();
        }
        woken
    }
}

fn with_ni_credit((mut message, credit): (Pooled<OutgoingMessage>, NiCredit)) -> Pooled<OutgoingMessage> {
    message.held.ni = Some(credit);
    message
}

#[cfg(all(test, not(loom)))]
mod waiver_tests;
