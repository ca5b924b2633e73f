//! The state of a net that changes while messages flow.

use super::last_use::LatestUse;
use super::message_turn::MessageTurn;
use super::priority::LOWEST_PRIORITY;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The state of a net that changes while messages flow; it is kept when interfaces are added and removed.
#[derive(Debug)]
pub struct NetUsage {
    priority: AtomicU32,
    turn: MessageTurn,
    latest_ni_use: LatestUse,
    nis_differ: AtomicBool,
    has_partners: AtomicBool,
    has_same_partners: AtomicBool,
    count_messages_of_nis: AtomicBool,
}

impl Default for NetUsage {
    fn default() -> Self {
        Self {
            priority: AtomicU32::new(LOWEST_PRIORITY),
            turn: MessageTurn::default(),
            latest_ni_use: LatestUse::default(),
            nis_differ: AtomicBool::new(false),
            has_partners: AtomicBool::new(false),
            has_same_partners: AtomicBool::new(false),
            count_messages_of_nis: AtomicBool::new(false),
        }
    }
}

impl NetUsage {
    /// The priority that selection rules give the net; `u32::MAX`: no rule does.
    pub fn priority(&self) -> u32 {
        self.priority.load(Ordering::Relaxed)
    }

    pub(crate) fn set_priority(&self, priority: u32) {
        self.priority.store(priority, Ordering::Relaxed);
    }

    /// The number of messages of the net's turn among the nets, if selection rules count them.
    pub fn messages_of_turn(&self) -> Option<NonZeroU32> {
        self.turn.messages()
    }

    /// The net's turn among the nets.
    pub(crate) const fn turn(&self) -> &MessageTurn {
        &self.turn
    }

    /// The most recent use of any NI on a local net.
    pub(crate) const fn latest_ni_use(&self) -> &LatestUse {
        &self.latest_ni_use
    }

    /// Whether selection rules distinguish the NIs on this net, those of this node or those of a peer.
    pub fn nis_differ(&self) -> bool {
        self.nis_differ.load(Ordering::Relaxed)
    }

    pub(crate) fn set_nis_differ(&self, differ: bool) {
        self.nis_differ.store(differ, Ordering::Relaxed);
    }

    /// Whether selection rules name partners of any peer NI on this net of a peer.
    pub fn has_partners(&self) -> bool {
        self.has_partners.load(Ordering::Relaxed)
    }

    pub(crate) fn set_has_partners(&self, has_partners: bool) {
        self.has_partners.store(has_partners, Ordering::Relaxed);
    }

    /// Whether all peer NIs on this net of a peer have the same partners, and no messages of the partners are counted.
    pub(crate) fn has_same_partners(&self) -> bool {
        self.has_same_partners.load(Ordering::Relaxed)
    }

    pub(crate) fn set_has_same_partners(&self, same: bool) {
        self.has_same_partners.store(same, Ordering::Relaxed);
    }

    /// Whether selection rules count the messages of the NIs on this local net.
    pub fn count_messages_of_nis(&self) -> bool {
        self.count_messages_of_nis.load(Ordering::Relaxed)
    }

    pub(crate) fn set_count_messages_of_nis(&self, count: bool) {
        self.count_messages_of_nis.store(count, Ordering::Relaxed);
    }
}
