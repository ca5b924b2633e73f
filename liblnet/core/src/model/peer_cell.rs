//! The peer that a peer NI belongs to.

use super::last_use::LatestUse;
use super::peer::Peer;
use super::ready_peer::Readiness;
use arc_swap::{ArcSwap, Guard};
use lnet_wire::{NetId, Nid};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The peer of a peer NI, with copies of what every message needs: these are read as numbers, without the work that keeps the peer
/// in memory meanwhile.
pub(crate) struct PeerCell {
    peer: ArcSwap<Peer>,
    /// The primary NID in its eight-byte form; [`NO_SHORT_FORM`] for a NID that has none.
    primary: AtomicU64,
    /// Whether the peer has no other NID.
    is_alone: AtomicBool,
    /// The net of the peer NI.
    net: NetId,
    /// The most recent uses of NIs of the first peers that the peer NI belonged to. They never change, so that they can be read without
    /// the peer.
    latest_uses: [OnceLock<Arc<LatestUse>>; KEPT_USES],
    /// The place of the present peer's among them, if that is all that changes when the peer NI is used; [`KEPT_USES`] otherwise.
    use_place: AtomicUsize,
    readiness: Readiness,
}

/// A peer NI that was a peer of its own may become one of another peer once. The uses of later peers are read from these.
const KEPT_USES: usize = 2;

/// The number that is no NID in the eight-byte form.
const NO_SHORT_FORM: u64 = u64::MAX;

impl PeerCell {
    /// The cell of a peer NI on this net.
    pub(super) fn new(net: NetId, peer: Arc<Peer>) -> Self {
        let cell = Self {
            primary: AtomicU64::new(short_form(peer.primary)),
            is_alone: AtomicBool::new(peer.nids.len() == 1),
            peer: ArcSwap::from(Arc::clone(&peer)),
            net,
            latest_uses: [const { OnceLock::new() }; KEPT_USES],
            use_place: AtomicUsize::new(KEPT_USES),
            readiness: Readiness::default(),
        };
        cell.note_latest_use(&peer);
        cell
    }

    /// Replaces the peer.
    pub(crate) fn store(&self, peer: Arc<Peer>) {
        self.primary.store(short_form(peer.primary), Ordering::Relaxed);
        self.is_alone.store(peer.nids.len() == 1, Ordering::Relaxed);
        let revision = peer.discovery.revision.clone();
        self.note_latest_use(&peer);
        self.peer.store(peer);
        revision.note_change();
        self.readiness.forget();
    }

    /// The peer, for a short access.
    pub(crate) fn load(&self) -> Guard<Arc<Peer>> {
        self.peer.load()
    }

    /// The peer.
    pub(super) fn load_full(&self) -> Arc<Peer> {
        self.peer.load_full()
    }

    /// The primary NID of the peer.
    #[inline(always)]
    pub(super) fn primary(&self) -> Nid {
        Nid::from_u64(self.primary.load(Ordering::Relaxed)).unwrap_or_else(|| self.peer.load().primary)
    }

    /// Whether the peer has no other NID than that of this peer NI.
    #[inline]
    pub(super) fn is_alone(&self) -> bool {
        self.is_alone.load(Ordering::Relaxed)
    }

    /// Whether the peer NI is ready.
    pub(super) const fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// The most recent use of the peer's NIs, if those are few and all on one net: a use of the peer NI is recorded there, and nowhere
    /// else.
    #[inline(always)]
    pub(super) fn latest_use_of_few(&self) -> Option<&LatestUse> {
        self.latest_uses.get(self.use_place.load(Ordering::Relaxed))?.get().map(|latest_use| &**latest_use)
    }

    fn note_latest_use(&self, peer: &Peer) {
        let is_few = matches!(&peer.nets[..], [only] if only.id == self.net && !only.has_many());
        let is_its = |place: &OnceLock<Arc<LatestUse>>| {
            Arc::ptr_eq(place.get_or_init(|| Arc::clone(&peer.latest_use)), &peer.latest_use)
        };
        let place = self.latest_uses.iter().position(is_its).filter(|_| is_few).unwrap_or(KEPT_USES);
        self.use_place.store(place, Ordering::Relaxed);
    }
}

fn short_form(nid: Nid) -> u64 {
    nid.to_u64().unwrap_or(NO_SHORT_FORM)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::discovery_state::DiscoveryState;
    use super::super::peer::PeerNet;
    use super::super::peer_revision::PeerRevision;
    use super::super::peer_state::PeerState;
    use super::*;

    fn peer(nids: &[Nid]) -> Arc<Peer> {
        let primary = nids[0];
        Arc::new(Peer {
            primary,
            nids: nids.to_vec(),
            nets: Vec::new(),
            discovery: Arc::new(DiscoveryState::new(
                1,
                primary,
                PeerState::default(),
                PeerRevision::default(),
            )),
            order: Arc::default(),
            latest_use: Arc::default(),
        })
    }

    #[test]
    fn the_primary_nid_is_that_of_the_present_peer_whatever_its_form() {
        let short = Nid::from_u64(0x0002_0000_0a00_0001).unwrap();
        let long = Nid::new_long(short.net(), [7; 16]);
        let cell = PeerCell::new(short.net(), peer(&[short]));
        assert_eq!((cell.primary(), cell.is_alone()), (short, true));
        for (nids, alone) in [(&[long, short][..], false), (&[short, long], false), (&[long], true)] {
            cell.store(peer(nids));
            assert_eq!((cell.primary(), cell.is_alone()), (nids[0], alone), "{nids:?}");
            assert_eq!((cell.load().primary, cell.load_full().primary), (nids[0], nids[0]));
        }
    }

    /// PS-31: fails if a use is recorded as one of the NIs of another peer, or where the uses of several nets or of many NIs are compared.
    #[test]
    fn uses_are_recorded_as_those_of_the_present_peer() {
        let nid = Nid::from_u64(0x0002_0000_0a00_0001).unwrap();
        let on = |nets: &[NetId]| {
            let nets = nets.iter().map(|net| PeerNet::new(*net, Arc::default())).collect();
            Arc::new(Peer { nets, ..Peer::clone(&peer(&[nid])) })
        };
        let own = |peer: &Arc<Peer>| Arc::new(Peer { latest_use: Arc::default(), ..Peer::clone(peer) });
        let first = on(&[nid.net()]);
        let (second, third) = (own(&first), own(&first));
        let with_other =
            Arc::new(Peer { nets: on(&[nid.net(), NetId::LOOPBACK]).nets.clone(), ..Peer::clone(&first) });
        let cell = PeerCell::new(nid.net(), Arc::clone(&first));
        for (case, peer, is_kept) in [
            ("the first", &first, true),
            ("another", &second, true),
            ("the first again", &first, true),
            ("on two nets", &with_other, false),
            ("a third", &third, false),
            ("the second again", &second, true),
        ] {
            cell.store(Arc::clone(peer));
            let found = cell
                .latest_use_of_few()
                .map(|latest_use| std::ptr::eq(latest_use, &raw const *peer.latest_use));
            assert_eq!(found, is_kept.then_some(true), "{case}");
        }
    }
}
