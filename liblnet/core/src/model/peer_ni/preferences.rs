//! The effects of selection rules on a peer NI: its priority, its turns, and the partners that it prefers.

use super::PeerNi;
use crate::model::partners::{Partner, Partners};
use lnet_wire::Nid;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl PeerNi {
    /// The priority by selection rules; `u32::MAX` is the lowest.
    pub fn priority(&self) -> u32 {
        self.criteria.priority()
    }

    /// The number of messages in a turn of the peer NI among those of its peer on its net, if selection rules count messages
    /// there.
    pub fn messages_of_turn(&self) -> Option<NonZeroU32> {
        self.criteria.turn().messages()
    }

    pub(crate) fn set_priority(&self, priority: u32) {
        self.criteria.priority.store(priority, Ordering::Relaxed);
    }

    /// The partners that selection rules name; `None` if they name none.
    pub fn partners(&self) -> Option<Arc<Partners>> {
        self.criteria.partners.load_full()
    }

    /// Sets the preferred local NIDs. If they have not changed they keep their turns, and so do the gateways.
    pub(crate) fn set_preferred_nids(&self, nids: Vec<Partner>) {
        self.change_partners(|now| (*now.nids != nids).then(|| now.with_nids(nids)));
    }

    /// Sets the preferred gateways, as [`PeerNi::set_preferred_nids`] does.
    pub(crate) fn set_preferred_gateways(&self, gateways: Vec<Partner>) {
        self.change_partners(|now| (*now.gateways != gateways).then(|| now.with_gateways(gateways)));
    }

    fn change_partners(&self, change: impl FnOnce(&Partners) -> Option<Partners>) {
        let changed = match self.criteria.partners.load().as_deref() {
            Some(now) => change(now),
            None => change(&Partners::default()),
        };
        if let Some(partners) = changed {
            let partners = Some(partners).filter(|partners| !partners.is_empty());
            self.criteria.has_partners.store(partners.is_some(), Ordering::Relaxed);
            self.criteria.partners.store(partners.map(Arc::new));
        }
    }

    /// Whether rules prefer this local NID for the peer NI.
    pub(crate) fn prefers_local(&self, nid: Nid) -> bool {
        self.criteria.partners.load().as_deref().is_some_and(|its| its.nids.iter().any(|its| its.nid == nid))
    }

    /// Whether rules prefer this gateway for the peer NI.
    pub(crate) fn prefers_gateway(&self, nid: Nid) -> bool {
        self.criteria
            .partners
            .load()
            .as_deref()
            .is_some_and(|its| its.gateways.iter().any(|its| its.nid == nid))
    }
}
