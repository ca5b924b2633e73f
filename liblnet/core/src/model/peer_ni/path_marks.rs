//! The paths to a peer NI, each by a local NI: whether something has arrived by it, and whether it is suspect, late or unresponsive.

use super::PeerNi;
use crate::model::families::AddressFamily;
use crate::model::ni::Ni;
use crate::model::path_state::UnresponsiveFrom;
use lnet_wire::Nid;
use std::sync::atomic::Ordering;

impl PeerNi {
    /// Whether something has arrived from the peer NI on this interface since the path was last unresponsive.
    pub(crate) fn was_heard_by(&self, ni: &Ni) -> bool {
        self.heard_by.load(Ordering::Relaxed) & ni.mark() != 0
    }

    pub(crate) fn note_heard_by(&self, ni: &Ni) {
        if !self.was_heard_by(ni) {
            self.heard_by.fetch_or(ni.mark(), Ordering::Relaxed);
            self.ever_heard_by.fetch_or(ni.mark(), Ordering::Relaxed);
        }
        self.trust_from(ni);
    }

    pub(crate) fn note_not_heard_by(&self, ni: &Ni) {
        self.heard_by.fetch_and(!ni.mark(), Ordering::Relaxed);
    }

    /// Whether anything has ever arrived from the peer NI on this interface.
    pub(crate) fn was_ever_heard_by(&self, ni: &Ni) -> bool {
        self.ever_heard_by.load(Ordering::Relaxed) & ni.mark() != 0
    }

    /// Whether the path from this interface is suspect: it is late, or another path to the peer has become late or
    /// unresponsive.
    pub(crate) fn is_suspect_from(&self, ni: &Ni) -> bool {
        self.suspect_from.load(Ordering::Relaxed) & ni.mark() != 0
    }

    /// Marks the path from this interface as suspect. Returns whether it was not.
    pub(crate) fn suspect_from(&self, ni: &Ni) -> bool {
        self.suspect_from.fetch_or(ni.mark(), Ordering::Relaxed) & ni.mark() == 0
    }

    /// Whether the path from this interface is late: something is in flight on it, and its driver receives nothing.
    pub(crate) fn is_late_from(&self, ni: &Ni) -> bool {
        self.late_from.load(Ordering::Relaxed) & ni.mark() != 0
    }

    /// Marks the path from this interface as late, and with that as suspect. Returns whether it was not late.
    pub(crate) fn late_from(&self, ni: &Ni) -> bool {
        self.suspect_from(ni);
        self.late_from.fetch_or(ni.mark(), Ordering::Relaxed) & ni.mark() == 0
    }

    /// Clears the marks of the path from this interface as suspect and late. Called for every message that arrives.
    pub(crate) fn trust_from(&self, ni: &Ni) {
        if self.is_suspect_from(ni) {
            self.late_from.fetch_and(!ni.mark(), Ordering::Relaxed);
            self.suspect_from.fetch_and(!ni.mark(), Ordering::Relaxed);
        }
    }

    /// The local NIDs from which the peer NI is unresponsive: these paths are used only if there are no others.
    pub fn unresponsive_from(&self) -> Vec<Nid> {
        self.unresponsive.all().into_iter().map(|(local, _)| local).collect()
    }

    pub(crate) const fn unresponsive(&self) -> &UnresponsiveFrom {
        &self.unresponsive
    }
}

/// Whether there is a path from this interface to a peer NI on its net: the interface reaches the family of the NID, or messages have
/// come from the NID on this interface.
#[inline]
pub(crate) fn can_reach(ni: &Ni, peer_ni: &PeerNi) -> bool {
    ni.reaches(AddressFamily::of(peer_ni.nid())) || peer_ni.was_ever_heard_by(ni)
}
