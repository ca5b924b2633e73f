//! What selection rules about pairs and routers say of a peer NI: its partners.

use super::message_turn::{MessageTurn, TurnClock};
use super::priority::LOWEST_PRIORITY;
use lnet_wire::Nid;
use std::num::NonZeroU32;
use std::sync::Arc;

/// The partners that rules prefer for a peer NI. Immutable but for the turns: a change makes a new value.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Partners {
    /// The local NIDs to send from.
    pub nids: Arc<Vec<Partner>>,
    /// The gateways to send by, each by the NID of its route.
    pub gateways: Arc<Vec<Partner>>,
}

/// A preferred local NID, or a preferred gateway.
#[derive(Debug)]
pub struct Partner {
    /// Its NID.
    pub nid: Nid,
    /// Its priority among the partners.
    pub priority: u32,
    /// The messages of a turn, if its rule counts them.
    pub messages: Option<NonZeroU32>,
    turn: MessageTurn,
}

/// How much rules prefer one candidate as a partner of another: the lowest most, [`Preference::default`] not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Preference {
    /// The priority of the partner; `u32::MAX` if it is none.
    pub priority: u32,
    /// Whose turn it is among equal ones: the lowest.
    pub turn_ended: u64,
}

impl Default for Preference {
    fn default() -> Self {
        Self { priority: LOWEST_PRIORITY, turn_ended: 0 }
    }
}

impl Preference {
    /// Whether it is preferred at all.
    pub(crate) fn is_any(self) -> bool {
        self != Self::default()
    }
}

impl Partner {
    /// A partner of which no message has been counted.
    pub fn new(nid: Nid, priority: u32, messages: Option<NonZeroU32>) -> Self {
        Self { nid, priority, messages, turn: MessageTurn::new(messages) }
    }
}

/// The turns do not count.
impl PartialEq for Partner {
    fn eq(&self, other: &Self) -> bool {
        (self.nid, self.priority, self.messages) == (other.nid, other.priority, other.messages)
    }
}

impl Eq for Partner {}

impl Partners {
    pub(crate) fn with_nids(&self, nids: Vec<Partner>) -> Self {
        Self { nids: Arc::new(nids), gateways: Arc::clone(&self.gateways) }
    }

    pub(crate) fn with_gateways(&self, gateways: Vec<Partner>) -> Self {
        Self { nids: Arc::clone(&self.nids), gateways: Arc::new(gateways) }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nids.is_empty() && self.gateways.is_empty()
    }

    pub(crate) fn preference_of_local(&self, nid: Nid) -> Preference {
        preference(&self.nids, nid)
    }

    pub(crate) fn preference_of_gateway(&self, nid: Nid) -> Preference {
        preference(&self.gateways, nid)
    }

    /// A message leaves by this local NID. Returns whether that is a partner.
    pub(crate) fn note_message_by(&self, local: Nid, clock: &TurnClock) -> bool {
        note_message(&self.nids, local, clock)
    }

    /// A message takes this gateway.
    pub(crate) fn note_message_over(&self, gateway: Nid, clock: &TurnClock) {
        note_message(&self.gateways, gateway, clock);
    }

    pub(crate) fn counts_messages(&self) -> bool {
        self.nids.iter().chain(&*self.gateways).any(|partner| partner.messages.is_some())
    }
}

fn note_message(list: &[Partner], nid: Nid, clock: &TurnClock) -> bool {
    let found = list.iter().find(|partner| partner.nid == nid);
    found.inspect(|partner| partner.turn.note_message(clock)).is_some()
}

fn preference(list: &[Partner], nid: Nid) -> Preference {
    let found = list.iter().find(|partner| partner.nid == nid);
    found.map_or_else(Preference::default, |partner| Preference {
        priority: partner.priority,
        turn_ended: partner.turn.ended(),
    })
}
