//! All peer NIs by NID, and the peers that they belong to (OM-1).

use crate::environment::ConfigGuard;
use crate::environment::time::Time;
use crate::model::Criteria;
use crate::model::DiscoveryState;
use crate::model::{NidMap, Peer, PeerNet, PeerNi, PeerRevision, PeerState};
use crate::select;
use crate::sync::{Spinlock, SpinlockGuard};
use lnet_wire::nid::{part_of_addresses, part_of_table};
use lnet_wire::{NetId, Nid};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// The number of tables of peer NIs, so that threads seldom contend for a lock.
const SHARDS: usize = 16;

type Shard = NidMap<Arc<PeerNi>>;

/// The minimum interval between two searches for unused peers.
const MIN_SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The peers. Lookups and first uses of a NID come from any thread; other changes of a peer take a [`ConfigGuard`].
pub(crate) struct PeerTable {
    shards: [Spinlock<Shard>; SHARDS],
    next_number: AtomicU64,
    revision: PeerRevision,
    /// The discovery states of removed peers, for which requests or threads may wait.
    removed: Mutex<Vec<Arc<DiscoveryState>>>,
    /// The primary NIDs of peers that have gained or lost NIDs.
    reshaped: Mutex<Vec<Nid>>,
    /// The time of the last search for unused peers.
    swept: Mutex<Option<Time>>,
    /// The number of changes in progress: until they are over no peer counts as unused, as it may be gaining NIDs.
    changes: AtomicUsize,
}

/// A change of peers in progress; ends when dropped.
struct Change<'a>(&'a AtomicUsize);

impl PeerTable {
    pub(crate) fn new() -> Self {
        Self {
            shards: std::array::from_fn(|_| Spinlock::new(NidMap::default())),
            next_number: AtomicU64::new(0),
            revision: PeerRevision::default(),
            removed: Mutex::default(),
            reshaped: Mutex::default(),
            swept: Mutex::default(),
            changes: AtomicUsize::new(0),
        }
    }

    /// The revision of what is known of peers.
    pub(crate) const fn revision(&self) -> &PeerRevision {
        &self.revision
    }

    /// The peer NI with this NID, if it is known.
    #[inline(always)]
    pub(crate) fn get(&self, nid: Nid) -> Option<Arc<PeerNi>> {
        match nid.to_u64() {
            Some(short) => self.get_short(short),
            None => self.shard(nid).get(nid).cloned(),
        }
    }

    /// The peer NI whose NID has this eight-byte form.
    #[inline(never)]
    fn get_short(&self, short: u64) -> Option<Arc<PeerNi>> {
        let shard = &self.shards[part_of_addresses(short as u32, SHARDS) % SHARDS];
        shard.lock().get_short(short).cloned()
    }

    /// The peer NI with this NID. If it is unknown it is added, with `credits`: a peer with this NID only, as for all
    /// unknown NIDs of messages (OM-21).
    pub(crate) fn get_or_add(&self, nid: Nid, credits: u32) -> Arc<PeerNi> {
        self.get(nid).unwrap_or_else(|| {
            Arc::clone(self.shard(nid).get_or_insert_with(nid, || {
                Arc::new_cyclic(|this| {
                    let mut peer = self.peer(nid, PeerState::default());
                    let criteria = Arc::new(Criteria::new(credits));
                    add_to_nets(&mut peer.nets, nid, this.clone(), &criteria);
                    PeerNi::new(nid, Arc::new(peer), criteria)
                })
            }))
        })
    }

    /// The number of peer NIs.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    /// Whether there are fewer than `most` peer NIs, after removing unused peers that messages have added, if necessary. These
    /// are searched for at most once per [`MIN_SWEEP_INTERVAL`].
    pub(crate) fn makes_room(&self, most: usize, now: Time) -> bool {
        if self.len() < most {
            return true;
        }
        {
            let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
            if swept.is_some_and(|at| now < at + MIN_SWEEP_INTERVAL) {
                return false;
            }
            *swept = Some(now);
        }
        for shard in &self.shards {
            shard.lock().retain(|peer_ni| {
                let is_changing = self.changes.load(Ordering::SeqCst) > 0;
                is_changing || !(peer_ni.is_idle() && is_only_a_seen_nid(&peer_ni.peer.load()))
            });
        }
        self.revision.note_change();
        self.len() < most
    }

    /// All NIDs with IPv6 addresses, in no order.
    pub(crate) fn long_nids(&self) -> Vec<Nid> {
        let of_shard = |shard: &Spinlock<Shard>| shard.lock().long_nids().collect::<Vec<_>>();
        self.shards.iter().flat_map(of_shard).collect()
    }

    /// Whether the peer with this NID is only a NID that messages came from.
    pub(crate) fn is_only_seen(&self, nid: Nid) -> bool {
        self.get(nid).is_some_and(|peer_ni| is_only_a_seen_nid(&peer_ni.peer.load()))
    }

    /// Removes a peer that is only a NID that messages came from, if it is idle; returns whether it is left.
    pub(crate) fn keeps_unless_idle(&self, nid: Nid) -> bool {
        let mut shard = self.shard(nid);
        let is_changing = self.changes.load(Ordering::SeqCst) > 0;
        let is_unused = |peer_ni: &Arc<PeerNi>| peer_ni.is_idle() && is_only_a_seen_nid(&peer_ni.peer.load());
        match shard.get(nid) {
            None => false,
            Some(peer_ni) if !is_changing && is_unused(peer_ni) => {
                shard.remove(nid);
                self.revision.note_change();
                false
            }
            Some(_) => true,
        }
    }

    /// The primary NID of the peer with this NID: the NID itself if it is unknown (TRAP-13).
    pub(crate) fn primary(&self, nid: Nid) -> Nid {
        self.shard(nid).get(nid).map_or(nid, |peer_ni| peer_ni.primary())
    }

    /// Replaces the peer with this NID by a new one with just this NID. Credits in use stay in use.
    pub(crate) fn make(&self, _: &ConfigGuard<'_>, nid: Nid, state: PeerState, credits: u32) {
        let _change = self.begin_change();
        let previous = self.get_or_add(nid, credits).peer();
        self.forget(previous.nids.iter().copied().filter(|its| *its != nid));
        self.store(&self.peer(nid, state), vec![nid]);
        self.note_removed(&previous);
    }

    /// Moves `nid` to `peer`, from the peer that has it; a peer whose primary NID it was is removed.
    pub(crate) fn attach(&self, config: &ConfigGuard<'_>, peer: &Arc<Peer>, nid: Nid, credits: u32) {
        let nids = peer.nids.iter().copied().chain([nid]).collect();
        self.reshape(config, peer, peer.primary, nids, |_| credits);
    }

    /// Removes the NIDs for which `go` holds from `peer`. Without its primary NID the whole peer is removed.
    pub(crate) fn detach(&self, config: &ConfigGuard<'_>, peer: &Arc<Peer>, go: impl Fn(Nid) -> bool) {
        if go(peer.primary) {
            self.forget(peer.nids.iter().copied());
            self.note_removed(peer);
        } else {
            let stay = peer.nids.iter().copied().filter(|nid| !go(*nid)).collect();
            self.reshape(config, peer, peer.primary, stay, |_| 0);
        }
    }

    /// Makes `nids`, `primary` among them, the NIDs of `peer`. NIDs of other peers are taken from these with their
    /// messages in flight; a peer whose primary NID is taken is removed. Unknown NIDs get the credits `credits`.
    pub(crate) fn reshape(
        &self,
        _: &ConfigGuard<'_>,
        peer: &Arc<Peer>,
        primary: Nid,
        nids: Vec<Nid>,
        credits: impl Fn(Nid) -> u32,
    ) -> Arc<Peer> {
        let _change = self.begin_change();
        for nid in nids.iter().filter(|nid| !peer.nids.contains(nid)) {
            self.take(peer, *nid, || credits(*nid));
        }
        self.forget(peer.nids.iter().copied().filter(|nid| !nids.contains(nid)));
        peer.discovery.with(|inner| inner.primary = Some(primary));
        self.store(&Peer { primary, ..Peer::clone(peer) }, nids)
    }

    fn begin_change(&self) -> Change<'_> {
        self.changes.fetch_add(1, Ordering::SeqCst);
        Change(&self.changes)
    }

    /// Removes `nid` from the peer that has it, to add it to `peer`.
    fn take(&self, peer: &Arc<Peer>, nid: Nid, credits: impl FnOnce() -> u32) {
        let peer_ni = Arc::clone(self.shard(nid).get_or_insert_with(nid, || {
            let criteria = Arc::new(Criteria::new(credits()));
            Arc::new(PeerNi::new(nid, Arc::clone(peer), criteria))
        }));
        let previous = peer_ni.peer();
        if previous.discovery.id() == peer.discovery.id() {
            return;
        }
        let others = previous.nids.iter().copied().filter(|its| *its != nid);
        if previous.primary == nid {
            self.forget(others);
            self.note_removed(&previous);
        } else {
            self.store(&previous, others.collect());
            rediscover(&previous);
        }
    }

    /// The discovery states of peers that have been removed since the last call.
    pub(crate) fn take_removed(&self) -> Vec<Arc<DiscoveryState>> {
        std::mem::take(&mut *self.removed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The primary NIDs of peers that have gained or lost NIDs since the last call, or were added by configuration or discovery.
    pub(crate) fn take_reshaped(&self) -> Vec<Nid> {
        std::mem::take(&mut *self.reshaped.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note_removed(&self, peer: &Peer) {
        peer.discovery.with(|inner| inner.removed = true);
        self.removed.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&peer.discovery));
    }

    /// Removes `nid`, which has become local, from its peer, unless that is configured. Messages to that peer
    /// would be sent to this node.
    pub(crate) fn forget_nid(&self, config: &ConfigGuard<'_>, nid: Nid) {
        let peer = self.get(nid).map(|peer_ni| peer_ni.peer());
        if let Some(peer) = peer.filter(|peer| !peer.is_configured()) {
            self.detach(config, &peer, |its| its == nid);
            rediscover(&peer);
        }
    }

    /// Removes the peers that this node, which has left `net`, cannot reach otherwise (OM-33). A configured peer with NIDs on
    /// other nets stays, and so does any other peer with a NID on a net for which `leads_to` holds. The peer keeps all of its
    /// NIDs, including the primary one: they are used again when this node joins the net again.
    pub(crate) fn leave_net(&self, config: &ConfigGuard<'_>, net: NetId, leads_to: impl Fn(NetId) -> bool) {
        for peer in self.peers().into_iter().filter(|peer| peer.net(net).is_some()) {
            let mut others = peer.nets.iter().map(|its| its.id).filter(|its| *its != net);
            let stays = others.any(|other| peer.is_configured() || leads_to(other));
            if !stays {
                self.detach(config, &peer, |_| true);
            }
        }
    }

    /// All peer NIs, in no order.
    pub(crate) fn all(&self) -> Vec<Arc<PeerNi>> {
        let read = |shard: &Spinlock<Shard>| shard.lock().values().cloned().collect::<Vec<_>>();
        self.shards.iter().flat_map(read).collect()
    }

    /// Makes all peer NIs let go of the nets that they have kept.
    pub(super) fn forget_ready_paths(&self) {
        self.all().iter().for_each(|peer_ni| peer_ni.forget_ready_paths());
    }

    /// The peer NIs for which `is_meant` holds, in no order. `is_meant` is called under a lock: it must be quick and not look
    /// up peers.
    pub(crate) fn select(&self, is_meant: impl Fn(Nid, &PeerNi) -> bool) -> Vec<Arc<PeerNi>> {
        let mut selected = Vec::new();
        for shard in &self.shards {
            let shard = shard.lock();
            selected.extend(shard.values().filter(|its| is_meant(its.nid(), its)).map(Arc::clone));
        }
        selected
    }

    /// All peers, in the order in which they were added.
    pub(crate) fn peers(&self) -> Vec<Arc<Peer>> {
        // Read once: the peer NI may move to another peer meanwhile.
        let primary =
            |peer_ni: Arc<PeerNi>| Some(peer_ni.peer()).filter(|peer| peer.primary == peer_ni.nid());
        let mut peers: Vec<_> = self.all().into_iter().filter_map(primary).collect();
        peers.sort_by_cached_key(|peer| peer.order.load(Ordering::Relaxed));
        peers
    }

    /// Moves the peer to the end of the list, as if it had just been added.
    pub(crate) fn list_last(&self, peer: &Peer) {
        peer.order.store(self.next_number.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }

    fn forget(&self, nids: impl Iterator<Item = Nid>) {
        for nid in nids {
            self.shard(nid).remove(nid);
        }
        self.revision.note_change();
    }

    /// A new peer without any nets.
    fn peer(&self, primary: Nid, state: PeerState) -> Peer {
        let id = self.next_number.fetch_add(1, Ordering::Relaxed);
        let order = Arc::new(AtomicU64::new(id));
        let discovery = Arc::new(DiscoveryState::new(id, primary, state, self.revision.clone()));
        Peer { primary, nids: vec![primary], nets: Vec::new(), discovery, order, latest_use: Arc::default() }
    }

    /// Gives `peer` exactly the NIDs `nids`, all of which are known: net by net, in the order in which they were
    /// added, but the primary one and its net first (OM-7).
    fn store(&self, peer: &Peer, nids: Vec<Nid>) -> Arc<Peer> {
        let nids = by_net(in_order(peer.primary, &peer.nids, &nids));
        let peer_nis: Vec<_> = nids.iter().filter_map(|nid| self.get(*nid)).collect();
        let mut nets: Vec<PeerNet> = peer.nets.clone();
        nets.iter_mut().for_each(PeerNet::clear);
        nets.sort_by_key(|net| nids.iter().position(|nid| nid.net() == net.id));
        for peer_ni in &peer_nis {
            add_to_nets(&mut nets, peer_ni.nid(), Arc::downgrade(peer_ni), peer_ni.criteria());
        }
        nets.retain(|net| !net.nis.is_empty());
        peer.latest_use.include(peer_nis.iter().map(|peer_ni| peer_ni.last_use()));
        nets.iter_mut().for_each(PeerNet::complete);
        // NIs of several peers may have different priorities, until the rules are renewed.
        for net in nets.iter().filter(|net| select::do_rules_distinguish(&net.nis().collect::<Vec<_>>())) {
            net.usage.set_nis_differ(true);
        }
        let peer = Arc::new(Peer { nids, nets, ..peer.clone() });
        for peer_ni in peer_nis {
            peer_ni.peer.store(Arc::clone(&peer));
        }
        self.reshaped.lock().unwrap_or_else(PoisonError::into_inner).push(peer.primary);
        peer
    }

    /// Locks the shard with the peer NI that has this NID.
    #[inline]
    fn shard(&self, nid: Nid) -> SpinlockGuard<'_, Shard> {
        self.shards[part_of_table(nid, SHARDS) % SHARDS].lock()
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// `nids`, with those in `known` first, in that order; `primary`, if it is among them, before all.
fn in_order(primary: Nid, known: &[Nid], nids: &[Nid]) -> Vec<Nid> {
    let place = |nid: &Nid| known.iter().position(|its| its == nid).unwrap_or(usize::MAX);
    let mut ordered = nids.to_vec();
    ordered.sort_by_key(|nid| (*nid != primary, place(nid)));
    ordered
}

/// The NIDs net by net, each net at the position of its first NID.
fn by_net(nids: Vec<Nid>) -> Vec<Nid> {
    let place = |net: NetId| nids.iter().position(|nid| nid.net() == net);
    let mut ordered = nids.clone();
    ordered.sort_by_key(|nid| place(nid.net()));
    ordered
}

/// Whether a peer is only a NID that messages came from, and no request waits for its discovery.
fn is_only_a_seen_nid(peer: &Arc<Peer>) -> bool {
    let harmless = PeerState::NO_DISCOVERY.0
        | PeerState::DISCOVERED.0
        | PeerState::REDISCOVER.0
        | PeerState::NIDS_UPTODATE.0;
    peer.nids.len() == 1
        && peer.state().0 & !harmless == 0
        && peer.discovery.with(|inner| !inner.queued && inner.parked == 0)
}

/// Makes discovery ping and push to a peer before it is used again, because the peer has lost a NID without having pushed. The
/// last push to it may have reached the peer that has the NID now.
fn rediscover(peer: &Peer) {
    if !peer.is_configured() {
        peer.discovery.with(|inner| {
            inner.progress.clear(PeerState::NIDS_UPTODATE);
            inner.progress.node_sequence = 0;
        });
    }
}

fn add_to_nets(nets: &mut Vec<PeerNet>, nid: Nid, peer_ni: Weak<PeerNi>, criteria: &Arc<Criteria>) {
    let net = match nets.iter_mut().find(|net| net.id == nid.net()) {
        Some(net) => net,
        None => nets.push_mut(PeerNet::new(nid.net(), Arc::default())),
    };
    net.add(nid, peer_ni, criteria);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::environment::ConfigLock;

    fn nid(text: &str) -> Nid {
        text.parse().unwrap()
    }

    /// Fails if NIDs are listed in another order than `peer show` and `discover` of the kernel list them.
    #[test]
    fn a_peers_nids_are_listed_net_by_net_in_the_order_in_which_they_were_learned() {
        let (table, lock) = (PeerTable::new(), ConfigLock::default());
        let config = lock.lock();
        let texts = ["1@tcp", "1@tcp1", "2@tcp", "2@tcp1", "3@tcp", "1@tcp2"].map(|text| {
            let (address, net) = text.split_once('@').unwrap();
            format!("10.0.0.{address}@{net}")
        });
        let [a1, b1, a2, b2, a3, c1] = texts.each_ref().map(|text| nid(text));
        table.make(&config, a1, PeerState::MULTI_RAIL, 8);
        let nids = || table.get(a1).unwrap().peer().nids.clone();
        // (the change, the primary NID, the NIDs in the order given, the NIDs as listed)
        let table_of_cases = [
            ("as told", a1, vec![a1, b1, a2, b2], vec![a1, a2, b1, b2]),
            ("told in another order", a1, vec![b2, a2, b1, a1], vec![a1, a2, b1, b2]),
            (
                "new ones come last on their nets",
                a1,
                vec![c1, a3, a1, b1, a2, b2],
                vec![a1, a2, a3, b1, b2, c1],
            ),
            ("the primary one comes first, with its net", b2, vec![a1, b1, a2, b2], vec![b2, b1, a1, a2]),
            ("what is lost and learned again is new", b2, vec![a1, b2], vec![b2, a1]),
            ("again", a1, vec![a1, b2, a2, b1], vec![a1, a2, b2, b1]),
        ];
        for (name, primary, told, listed) in table_of_cases {
            let peer = table.reshape(&config, &table.get(a1).unwrap().peer(), primary, told, |_| 8);
            assert_eq!((nids(), peer.nids.clone()), (listed.clone(), listed.clone()), "{name}");
            let by_nets: Vec<Nid> = peer.nets.iter().flat_map(PeerNet::nis).map(|its| its.nid()).collect();
            assert_eq!(by_nets, listed, "{name}");
        }
    }

    #[test]
    fn peers_are_listed_in_the_order_in_which_they_came_or_were_listed_last() {
        let (table, lock) = (PeerTable::new(), ConfigLock::default());
        let config = lock.lock();
        let nids = ["1@tcp", "2@tcp", "3@tcp"].map(|text| nid(&format!("10.0.0.{text}")));
        let peers = nids.map(|nid| table.get_or_add(nid, 8).peer());
        let listed = || table.peers().iter().map(|peer| peer.primary).collect::<Vec<_>>();
        assert_eq!(listed(), nids);
        table.list_last(&peers[0]);
        table.attach(&config, &peers[0], nid("10.0.1.1@tcp"), 8);
        assert_eq!(listed(), [nids[1], nids[2], nids[0]]);
    }
}
