//! The properties of a peer NI that path selection compares.

use super::last_use::LastUse;
use super::message_turn::MessageTurn;
use super::partners::{Partners, Preference};
use super::priority::LOWEST_PRIORITY;
use crate::credit::SharedPool;
use arc_swap::ArcSwapOption;
use lnet_settings::MAX_HEALTH;
use lnet_wire::Nid;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

/// The properties of a peer NI that path selection compares. The peer holds them too, so that a selection among many peer NIs
/// need not hold the peer NIs themselves. `M` is the type that takes credits.
#[derive(Debug)]
pub(crate) struct PeerNiCriteria<M> {
    pub(super) tx: SharedPool<M>,
    pub(super) health: AtomicU32,
    /// The priority by selection rules.
    pub(super) priority: AtomicU32,
    /// Whether the peer reports the peer NI as down.
    pub(super) reported_down: AtomicBool,
    /// The turn of the peer NI among those of its peer on its net.
    pub(super) turn: MessageTurn,
    /// Whether selection rules name partners; without rules `partners` need not be read.
    pub(super) has_partners: AtomicBool,
    /// The partners that selection rules name.
    pub(super) partners: ArcSwapOption<Partners>,
    /// The last use of the peer NI among those of its peer.
    pub(super) last_use: LastUse,
    /// The position of the peer NI among those of its peer on its net.
    pub(super) position: AtomicUsize,
}

impl<M> PeerNiCriteria<M> {
    pub(crate) fn new(credits: u32) -> Self {
        Self {
            tx: SharedPool::new(credits),
            health: AtomicU32::new(MAX_HEALTH),
            priority: AtomicU32::new(LOWEST_PRIORITY),
            reported_down: AtomicBool::new(false),
            turn: MessageTurn::default(),
            has_partners: AtomicBool::new(false),
            partners: ArcSwapOption::empty(),
            last_use: LastUse::default(),
            position: AtomicUsize::new(0),
        }
    }

    /// The credits to send, and those of the messages that wait.
    pub(crate) const fn tx(&self) -> &SharedPool<M> {
        &self.tx
    }

    /// Whether the peer reports the peer NI as down.
    pub(crate) fn is_reported_down(&self) -> bool {
        self.reported_down.load(Ordering::Relaxed)
    }

    /// The health value, or 0 while the peer reports the peer NI as down.
    pub(crate) fn usable_health(&self) -> u32 {
        if self.is_reported_down() { 0 } else { self.health.load(Ordering::Relaxed) }
    }

    /// The priority by selection rules; `u32::MAX` is the lowest.
    pub(crate) fn priority(&self) -> u32 {
        self.priority.load(Ordering::Relaxed)
    }

    pub(crate) const fn turn(&self) -> &MessageTurn {
        &self.turn
    }

    /// Whether selection rules name partners.
    pub(crate) fn has_partners(&self) -> bool {
        self.has_partners.load(Ordering::Relaxed)
    }

    /// Calls `look` with the partners that selection rules name, if they name any.
    pub(crate) fn with_partners<R>(&self, look: impl FnOnce(&Partners) -> R) -> Option<R> {
        if !self.has_partners() {
            return None;
        }
        self.partners.load().as_deref().map(look)
    }

    /// Whether rules prefer local NIs for sending to the peer NI.
    pub(crate) fn prefers_local_nis(&self) -> bool {
        self.with_partners(|partners| !partners.nids.is_empty()).unwrap_or(false)
    }

    /// The preference of the rules for a message to the peer NI that is sent from `local`.
    pub(crate) fn preference_of_local(&self, local: Nid) -> Preference {
        self.with_partners(|partners| partners.preference_of_local(local)).unwrap_or_default()
    }

    /// The preference of the rules for a message to the peer NI over this gateway, by the NID of its route.
    pub(crate) fn preference_of_gateway(&self, gateway: Nid) -> Preference {
        self.with_partners(|partners| partners.preference_of_gateway(gateway)).unwrap_or_default()
    }

    pub(crate) const fn last_use(&self) -> &LastUse {
        &self.last_use
    }

    /// The last stored position of the peer NI among those of its peer on its net.
    pub(super) fn position(&self) -> usize {
        self.position.load(Ordering::Relaxed)
    }

    pub(super) fn set_position(&self, position: usize) {
        self.position.store(position, Ordering::Relaxed);
    }
}
