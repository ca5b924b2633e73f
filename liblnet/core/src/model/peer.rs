//! A peer: another node with one or more NIDs, each a peer NI; one of them is its primary NID.

use super::discovery_state::DiscoveryState;
use super::families::{AddressFamilies, AddressFamily};
use super::last_use::LatestUse;
use super::net_usage::NetUsage;
use super::peer_ni::{Criteria, PeerNi};
use super::peer_state::PeerState;
use super::use_order::UseOrder;
use lnet_settings::MAX_HEALTH;
use lnet_wire::{NetId, Nid};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

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
