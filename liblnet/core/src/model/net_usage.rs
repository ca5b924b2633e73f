//! The state of a net that changes while messages flow.

use super::message_turn::MessageTurn;
use super::priority::LOWEST_PRIORITY;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The state of a net that changes while messages flow; it is kept when interfaces are added and removed.
#[derive(Debug)]
pub struct NetUsage {
    priority: AtomicU32,
    turn: MessageTurn,
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
            nis_differ: AtomicBool::new(false),
            has_partners: AtomicBool::new(false),
            has_same_partners: AtomicBool::new(false),
            count_messages_of_nis: AtomicBool::new(false),
        }
    }
}

impl NetUsage {
    /// Its priority by selection rules; `u32::MAX` is none.
    pub fn priority(&self) -> u32 {
        self.priority.load(Ordering::Relaxed)
    }

    pub(crate) fn set_priority(&self, priority: u32) {
        self.priority.store(priority, Ordering::Relaxed);
    }

    /// The messages of its turn among the nets, if selection rules count them.
    pub fn messages_of_turn(&self) -> Option<NonZeroU32> {
        self.turn.messages()
    }

    /// Its turn among the nets.
    pub(crate) const fn turn(&self) -> &MessageTurn {
        &self.turn
    }

    /// Of a peer's net: whether selection rules make its peer NIs different.
    pub fn nis_differ(&self) -> bool {
        self.nis_differ.load(Ordering::Relaxed)
    }

    pub(crate) fn set_nis_differ(&self, differ: bool) {
        self.nis_differ.store(differ, Ordering::Relaxed);
    }

    /// Of a peer's net: whether selection rules name partners of any peer NI on it.
    pub fn has_partners(&self) -> bool {
        self.has_partners.load(Ordering::Relaxed)
    }

    pub(crate) fn set_has_partners(&self, has_partners: bool) {
        self.has_partners.store(has_partners, Ordering::Relaxed);
    }

    /// Of a peer's net: whether the partners of all its peer NIs are the same, and no messages of them are counted.
    pub(crate) fn has_same_partners(&self) -> bool {
        self.has_same_partners.load(Ordering::Relaxed)
    }

    pub(crate) fn set_has_same_partners(&self, same: bool) {
        self.has_same_partners.store(same, Ordering::Relaxed);
    }

    /// Of a local net: whether selection rules count the messages of its NIs.
    pub fn count_messages_of_nis(&self) -> bool {
        self.count_messages_of_nis.load(Ordering::Relaxed)
    }

    pub(crate) fn set_count_messages_of_nis(&self, count: bool) {
        self.count_messages_of_nis.store(count, Ordering::Relaxed);
    }
}
