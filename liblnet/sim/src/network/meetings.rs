//! Meetings of interfaces: a new connection gives each end the incarnation of the other.

use super::*;

/// A meeting of an interface and a peer NI in another incarnation than the last one.
pub(crate) struct Meeting {
    pub(crate) ni: Arc<Ni>,
    pub(crate) upcalls: Arc<dyn Upcalls>,
    pub(crate) incarnation: u64,
}

impl Network {
    /// Notes a meeting before a message is sent to `peer`: returns the news for the sender's driver, if there is any.
    /// Without a usable path there is no meeting.
    pub(crate) fn meet(&mut self, place: InterfaceId, peer: Nid) -> Option<Meeting> {
        let met = self.by_nid.get(&peer).copied()?;
        let is_open = self.is_open_both_ways(place, peer) && !self.faults.is_shut_off(place.node);
        if is_open { self.note_meeting(place, peer, met) } else { None }
    }

    /// Notes a meeting before a message arrives: returns the news for the receiver's driver.
    pub(crate) fn be_met(&mut self, arrival: &Arrival) -> Option<Meeting> {
        self.note_meeting(arrival.key.to, arrival.from, arrival.key.from)
    }

    /// The incarnation of a peer NI that an interface has met last.
    pub(crate) fn incarnation_met(&self, place: InterfaceId, peer: Nid) -> Option<u64> {
        self.met.get(&(place, peer)).map(|met| incarnation_of(*met))
    }

    /// Gives back a message whose destination its node chose by information about an earlier incarnation.
    pub(crate) fn hand_back(&mut self, from: InterfaceId, message: Pooled<OutgoingMessage>) -> SendOutcome {
        let digest = Digest::of(message.header(), None);
        self.fail(from, message, digest, Errno::ConnectionReset.into())
    }

    fn note_meeting(&mut self, place: InterfaceId, peer: Nid, met: InterfaceId) -> Option<Meeting> {
        if self.met.insert((place, peer), met) == Some(met) {
            return None;
        }
        let (ni, upcalls) = self.interface(place)?.plugged.as_ref()?;
        let (ni, upcalls) = (Arc::clone(ni), Arc::clone(upcalls));
        Some(Meeting { ni, upcalls, incarnation: incarnation_of(met) })
    }
}

/// Returns the incarnation: each start of an interface has another place.
fn incarnation_of(place: InterfaceId) -> u64 {
    (u64::from(place.node.0) << 32) | (u64::from(place.index) + 1)
}
