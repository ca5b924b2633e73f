//! The partners of a peer NI: the local NIDs and gateways that selection rules prefer for it.

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
    /// The gateways to use, each by the NID that its routes name.
    pub gateways: Arc<Vec<Partner>>,
}

/// A preferred local NID, or a preferred gateway.
#[derive(Debug)]
pub struct Partner {
    /// The NID of the local interface or gateway.
    pub nid: Nid,
    /// The priority among the partners; lower is preferred.
    pub priority: u32,
    /// The number of messages of a turn, if the rule counts them.
    pub messages: Option<NonZeroU32>,
    turn: MessageTurn,
}

/// The preference for a candidate as a partner of another; the lowest is preferred. [`Preference::default`] belongs to
/// a candidate that is no partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Preference {
    /// The priority of the partner; `u32::MAX` if the candidate is none.
    pub priority: u32,
    /// The number of the end of the partner's last turn: among equal priorities the lowest is next.
    pub turn_ended: u64,
}

impl Default for Preference {
    fn default() -> Self {
        Self { priority: LOWEST_PRIORITY, turn_ended: 0 }
    }
}

impl Preference {
    /// Whether any rule prefers the candidate.
    pub(crate) fn is_any(self) -> bool {
        self != Self::default()
    }
}

impl Partner {
    /// A partner whose turn has not begun.
    pub fn new(nid: Nid, priority: u32, messages: Option<NonZeroU32>) -> Self {
        Self { nid, priority, messages, turn: MessageTurn::new(messages) }
    }
}

/// Compares partners without the state of their turns.
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

    /// Whether the peer NI has no partners.
    pub fn is_empty(&self) -> bool {
        self.nids.is_empty() && self.gateways.is_empty()
    }

    pub(crate) fn preference_of_local(&self, nid: Nid) -> Preference {
        preference(&self.nids, nid)
    }

    pub(crate) fn preference_of_gateway(&self, nid: Nid) -> Preference {
        preference(&self.gateways, nid)
    }

    /// Counts a message that leaves by the NID `local`. Returns whether that is a partner.
    pub(crate) fn note_message_by(&self, local: Nid, clock: &TurnClock) -> bool {
        note_message(&self.nids, local, clock)
    }

    /// Counts a message that is sent through `gateway`.
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
