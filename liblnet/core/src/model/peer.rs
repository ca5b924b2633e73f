//! A peer: another node with one or more NIDs, each a peer NI; one of them is its primary NID.

use super::discovery_state::DiscoveryState;
use super::families::{AddressFamilies, AddressFamily};
use super::last_use::LatestUse;
use super::net_usage::NetUsage;
use super::ni::Ni;
use super::peer_ni::{Criteria, PeerNi};
use super::peer_state::PeerState;
use super::ready_peer::{self, Readiness};
use super::use_order::UseOrder;
use arc_swap::{ArcSwap, Guard};
use lnet_settings::MAX_HEALTH;
use lnet_wire::{NetId, Nid};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// Another node. The NIDs of a `Peer` never change: a node that gains or loses one gets a new `Peer`.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The NID by which upper layers know the peer (OM-20).
    pub primary: Nid,
    /// All NIDs, the primary first: net by net, in the order in which they were added.
    pub nids: Vec<Nid>,
    /// The NIDs by net, in the order in which the nets were added.
    pub(crate) nets: Vec<PeerNet>,
    /// The discovery state, which stays with the peer when it gains or loses NIDs.
    pub(crate) discovery: Arc<DiscoveryState>,
    /// The position in the list of peers, which is in the order of addition.
    pub(crate) order: Arc<AtomicU64>,
    /// The most recent use of any of the peer's NIs.
    pub(crate) latest_use: Arc<LatestUse>,
}

/// The peer NIs of a peer on one net.
#[derive(Clone, Debug)]
pub(crate) struct PeerNet {
    pub(crate) id: NetId,
    /// The peer NIs, as weak references, since they hold the peer. A removed peer NI is no longer valid here.
    pub(crate) nis: Vec<Weak<PeerNi>>,
    /// The criteria of each of these peer NIs.
    pub(crate) criteria: Vec<Arc<Criteria>>,
    /// The families of the NIDs.
    pub(crate) families: AddressFamilies,
    /// The peer NIs of each family, in the order of [`AddressFamily::ALL`], if there are both.
    by_family: Option<Box<[Self; 2]>>,
    /// The use of the net, which is kept when the peer gains or loses NIDs.
    pub(crate) usage: Arc<NetUsage>,
    /// The order of use of these peer NIs, if they are many.
    pub(crate) order: Option<Arc<PeerNetOrder>>,
}

/// The order of last use of the peer NIs on a net.
#[derive(Debug)]
pub(crate) struct PeerNetOrder {
    by_use: UseOrder,
    /// The most credits that any of these peer NIs has when no message to it is in flight.
    most_credits: AtomicI32,
}

/// The state that requests to a ready peer NI depend on.
pub(crate) type ReadyPeer = ready_peer::ReadyPeer<Ni, Peer>;
pub(crate) type ReadyPaths = ready_peer::ReadyPaths<Ni, Peer>;

/// The number of peer NIs on a net above which their order is kept; fewer are compared in less time.
const MANY: usize = 16;

impl PeerNet {
    /// A net without peer NIs.
    pub(crate) fn new(id: NetId, usage: Arc<NetUsage>) -> Self {
        Self {
            id,
            nis: Vec::new(),
            criteria: Vec::new(),
            families: AddressFamilies::NONE,
            by_family: None,
            usage,
            order: None,
        }
    }

    /// Adds a peer NI with this NID.
    pub(crate) fn add(&mut self, nid: Nid, peer_ni: Weak<PeerNi>, criteria: &Arc<Criteria>) {
        self.nis.push(peer_ni);
        self.criteria.push(Arc::clone(criteria));
        self.families = self.families.with(AddressFamily::of(nid));
    }

    /// Removes all peer NIs.
    pub(crate) fn clear(&mut self) {
        self.nis.clear();
        self.criteria.clear();
        self.families = AddressFamilies::NONE;
        self.by_family = None;
    }

    /// The peer NIs of one family; `None` if there are none.
    pub(crate) fn of_family(&self, family: AddressFamily) -> Option<&Self> {
        match &self.by_family {
            None => self.families.contains(family).then_some(self),
            Some(both) => AddressFamily::ALL
                .iter()
                .zip(both.iter())
                .find(|(its, _)| **its == family)
                .map(|(_, net)| net),
        }
    }

    pub(crate) fn nis(&self) -> impl Iterator<Item = Arc<PeerNi>> {
        self.nis.iter().filter_map(Weak::upgrade)
    }

    /// The most recent use of any of these peer NIs.
    pub(crate) fn last_use(&self) -> u64 {
        let last_use = |criteria: &Arc<Criteria>| criteria.last_use().get();
        match self.order.as_ref().and_then(|order| self.criteria.get(order.by_use.most_recently_used())) {
            Some(latest) => last_use(latest),
            None => self.criteria.iter().map(last_use).max().unwrap_or(0),
        }
    }

    /// Whether the peer reports all of these peer NIs as down.
    pub(crate) fn is_reported_down(&self) -> bool {
        self.criteria.iter().all(|criteria| criteria.is_reported_down())
    }

    /// The best health of any of these peer NIs; `None` if there are none.
    pub(crate) fn usable_health(&self) -> Option<u32> {
        let mut best = None;
        for criteria in &self.criteria {
            best = best.max(Some(criteria.usable_health()));
            if best == Some(MAX_HEALTH) {
                break;
            }
        }
        best
    }

    /// Whether there are so many peer NIs that they are listed by their last use.
    pub(crate) const fn has_many(&self) -> bool {
        self.order.is_some()
    }

    /// The least recently used of many peer NIs, if it is unsurpassed: no other is better by its criteria, given the most
    /// credits that any of them may have. `None` if all have to be compared.
    pub(crate) fn least_recently_used(
        &self,
        is_unsurpassed: impl Fn(&Criteria, i32) -> bool,
    ) -> Option<&Weak<PeerNi>> {
        let order = self.order.as_ref().filter(|_| !self.usage.nis_differ())?;
        let most_credits = order.most_credits.load(Ordering::Relaxed);
        let is_best = |position: usize| is_unsurpassed(&self.criteria[position], most_credits);
        self.nis.get(order.by_use.least_recently_used(is_best)?)
    }

    /// The peer NI of [`PeerNet::least_recently_used`], whose use now is recorded as [`PeerNet::note_use`] does.
    #[inline(always)]
    pub(crate) fn take_least_recently_used(
        &self,
        is_unsurpassed: impl Fn(&Criteria, i32) -> bool,
        latest_use: &LatestUse,
    ) -> Option<&Weak<PeerNi>> {
        let order = self.order.as_ref().filter(|_| !self.usage.nis_differ())?;
        let most_credits = order.most_credits.load(Ordering::Relaxed);
        let mut turn = order.by_use.begin_turn();
        let first = turn.first();
        let (mut position, mut criteria) = (first, self.criteria.get(first)?);
        if is_unsurpassed(criteria, most_credits) {
            turn.take_first();
        } else {
            position = turn.take(|position| is_unsurpassed(&self.criteria[position], most_credits))?;
            criteria = self.criteria.get(position)?;
        }
        latest_use.note(criteria.last_use());
        drop(turn);
        self.nis.get(position)
    }

    /// Records that one of these peer NIs is used now, which is the most recent use of its peer.
    #[inline(always)]
    pub(crate) fn note_use(&self, its: &Criteria, latest_use: &LatestUse) {
        match &self.order {
            None => latest_use.note(its.last_use()),
            Some(order) => self.note_use_in(order, its, latest_use),
        }
    }

    fn note_use_in(&self, order: &PeerNetOrder, its: &Criteria, latest_use: &LatestUse) {
        let note = || latest_use.note(its.last_use());
        let position = its.position();
        // A peer NI that has just changed its position, or its peer, is late in the order at most once.
        match self.criteria.get(position).is_some_and(|at| std::ptr::eq(&raw const **at, its)) {
            true => order.by_use.used(position, note),
            false => note(),
        }
    }

    /// Records that the number of credits of one of these peer NIs has changed.
    pub(crate) fn note_credits(&self) {
        if let Some(order) = &self.order {
            order.most_credits.store(self.most_credits(), Ordering::Relaxed);
        }
    }

    fn most_credits(&self) -> i32 {
        self.criteria.iter().map(|criteria| criteria.tx().size().0).max().unwrap_or(0)
    }

    /// Completes the net after all peer NIs have been added.
    pub(crate) fn complete(&mut self) {
        self.by_family = (!self.families.are_one_with(self.families))
            .then(|| Box::new(AddressFamily::ALL.map(|family| self.only(family))));
        for (position, criteria) in self.criteria.iter().enumerate() {
            criteria.set_position(position);
        }
        self.order = (self.criteria.len() > MANY).then(|| {
            let mut positions: Vec<usize> = (0..self.criteria.len()).collect();
            positions.sort_by_cached_key(|position| self.criteria[*position].last_use().get());
            Arc::new(PeerNetOrder {
                by_use: UseOrder::new(&positions),
                most_credits: AtomicI32::new(self.most_credits()),
            })
        });
    }
}

impl PeerNet {
    /// A copy with the peer NIs of one family. Their positions are those among all peer NIs on the net, and their order of use is not kept.
    fn only(&self, family: AddressFamily) -> Self {
        let mut only = Self::new(self.id, Arc::clone(&self.usage));
        for (weak, criteria) in self.nis.iter().zip(&self.criteria) {
            let nid = weak.upgrade().map(|peer_ni| peer_ni.nid());
            if let Some(nid) = nid.filter(|nid| AddressFamily::of(*nid) == family) {
                only.add(nid, Weak::clone(weak), criteria);
            }
        }
        only
    }
}

impl Peer {
    /// The state flags.
    pub fn state(&self) -> PeerState {
        self.discovery.flags()
    }

    /// Whether the peer is multi-rail: its NIDs are interchangeable.
    pub fn is_multi_rail(&self) -> bool {
        self.state().contains(PeerState::MULTI_RAIL)
    }

    /// Whether the peer is configured.
    pub fn is_configured(&self) -> bool {
        self.state().contains(PeerState::CONFIGURED)
    }

    /// The peer NI of the primary NID.
    pub(crate) fn primary_ni(&self) -> Option<Arc<PeerNi>> {
        self.net(self.primary.net())?.nis().find(|its| its.nid() == self.primary)
    }

    /// The peer NIs on one net.
    pub(crate) fn net(&self, net: NetId) -> Option<&PeerNet> {
        self.nets.iter().find(|its| its.id == net)
    }

    /// The values that selection rules give one of the peer's nets, and its last use.
    pub fn usage(&self, net: NetId) -> Option<&NetUsage> {
        self.net(net).map(|net| &*net.usage)
    }

    /// The peer's NIDs on one net, in order.
    pub fn nids_on(&self, net: NetId) -> impl Iterator<Item = Nid> {
        self.nids.iter().copied().filter(move |nid| nid.net() == net)
    }
}

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
    latest_uses: [OnceLock<Arc<LatestUse>>; MAX_KEPT_USES],
    /// The place of the present peer's among them, if that is all that changes when the peer NI is used; [`MAX_KEPT_USES`] otherwise.
    use_place: AtomicUsize,
    readiness: Readiness<Ni, Peer>,
}

/// A peer NI that was a peer of its own may become one of another peer once. The uses of later peers are read from these.
const MAX_KEPT_USES: usize = 2;

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
            latest_uses: [const { OnceLock::new() }; MAX_KEPT_USES],
            use_place: AtomicUsize::new(MAX_KEPT_USES),
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
    pub(super) const fn readiness(&self) -> &Readiness<Ni, Peer> {
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
        let place = self.latest_uses.iter().position(is_its).filter(|_| is_few).unwrap_or(MAX_KEPT_USES);
        self.use_place.store(place, Ordering::Relaxed);
    }
}

fn short_form(nid: Nid) -> u64 {
    nid.to_u64().unwrap_or(NO_SHORT_FORM)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::peer_revision::PeerRevision;
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
