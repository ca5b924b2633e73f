//! Messages under way of which nothing is heard, and the end of connections.

use super::receipts::AFTERMATH;
use super::*;
use lnet_core::message::TakenCredits;

/// How often connections are looked at on which something is under way.
const LOOK: Duration = Duration::from_millis(250);
/// Silence after which messages may go elsewhere.
const SILENCE: Duration = Duration::from_secs(1);

/// What is to be told the core of a node of a path: that it is unresponsive, or that it answers again.
pub(crate) struct Look {
    pub(crate) ni: Arc<Ni>,
    pub(crate) upcalls: Arc<dyn Upcalls>,
    pub(crate) answers: bool,
}

impl Network {
    /// Sees to it that somebody looks after what is under way from an interface to a peer NI.
    pub(super) fn look_after(&mut self, from: InterfaceId, peer: Nid) {
        if let std::collections::btree_map::Entry::Vacant(entry) = self.looks.entry((from, peer)) {
            entry.insert(None);
            self.plan_look(from, peer);
        }
    }

    fn plan_look(&mut self, from: InterfaceId, peer: Nid) {
        let at = self.now() + LOOK;
        self.events.plan(at, |_| SimEvent::Look(from, peer));
    }

    /// Looks after it. `patience` is how long anything may take. Something, if its core is to be told.
    pub(crate) fn look(&mut self, from: InterfaceId, peer: Nid, patience: Duration) -> Option<Look> {
        let now = self.now();
        let waiting =
            self.unfinished.values().filter(|it| it.from == from && it.peer == peer && it.result.is_ok());
        let Some(oldest) = waiting.map(|it| it.sent).min() else {
            self.looks.remove(&(from, peer));
            return None;
        };
        self.plan_look(from, peer);
        let is_silent = !self.is_open_both_ways(from, peer);
        let since = self.looks.entry((from, peer)).or_default();
        let answers = since.is_some() && !is_silent;
        let silent_since = is_silent.then(|| *since.get_or_insert(now));
        *since = silent_since;
        if now.since(oldest) >= patience {
            self.end_pair(from, peer, Trouble::Stalled);
            return None;
        }
        if !answers && silent_since.is_none_or(|since| now.since(since) + LOOK < SILENCE) {
            return None;
        }
        let (ni, upcalls) = self.interface(from)?.plugged.as_ref()?;
        Some(Look { ni: Arc::clone(ni), upcalls: Arc::clone(upcalls), answers })
    }

    /// A path is unresponsive, and there are others for all messages, or for some: where receivers know messages again its
    /// connections are ended, and everything comes back; otherwise only what has not left and may move, and the credits of
    /// the rest.
    pub(crate) fn leave_path(
        &mut self,
        from: InterfaceId,
        peer: Nid,
        all_may_move: bool,
        may_move: impl Fn(&Message) -> bool,
    ) -> Vec<TakenCredits> {
        if all_may_move && self.knows_again() {
            self.end_pair(from, peer, Trouble::Silent);
            return Vec::new();
        }
        let stays = |it: &Unfinished| it.from != from || it.peer != peer || it.left || it.result.is_err();
        let unsent = self.unfinished.iter().filter(|(_, it)| !stays(it) && may_move(&it.message));
        let unsent: BTreeMap<u64, Option<LinkKey>> = unsent.map(|(number, it)| (*number, it.key)).collect();
        for key in unsent.values().flatten().copied().collect::<BTreeSet<_>>() {
            let Some(link) = self.links.get_mut(&key) else { continue };
            let first = link.queue.front().map(|parcel| parcel.number);
            link.queue.retain(|parcel| !unsent.contains_key(&parcel.number));
            if link.queue.is_empty() {
                self.links.remove(&key);
            } else if link.queue.front().map(|parcel| parcel.number) != first {
                self.arm(key);
            }
        }
        self.give_back_numbers(|number, _| unsent.contains_key(&number), Trouble::Silent);
        let stuck =
            self.unfinished.values_mut().filter(|it| it.from == from && it.peer == peer && it.result.is_ok());
        stuck.filter_map(|it| it.message.take_credits()).collect()
    }

    /// Ends the connections of an interface with a peer NI; what is not known to have arrived comes back.
    pub(crate) fn end_pair(&mut self, from: InterfaceId, peer: Nid, trouble: Trouble) {
        self.counts.pairs_ended += 1;
        self.looks.insert((from, peer), None).is_none().then(|| self.plan_look(from, peer));
        let to_peer = |key: &LinkKey| {
            key.from == from
                && key.lane < AFTERMATH
                && self.interface(key.to).is_some_and(|it| it.nid == peer)
        };
        let keys = self.keys(to_peer);
        keys.into_iter().for_each(|key| self.end_connection(key, trouble));
        let uncalled = |it: &Unfinished| it.from == from && it.peer == peer && it.key.is_none();
        self.give_back(uncalled, trouble);
    }

    /// The same with all peer NIs, if none is given.
    pub(crate) fn abort_tx(&mut self, from: InterfaceId, peer: Option<Nid>, trouble: Trouble) {
        let peers: BTreeSet<Nid> = match peer {
            Some(peer) => BTreeSet::from([peer]),
            None => {
                let linked = self.keys(|key| key.from == from && key.lane < AFTERMATH);
                let linked = linked.iter().filter_map(|key| self.interface(key.to)).map(|it| it.nid);
                let waiting = self.unfinished.values().filter(|it| it.from == from).map(|it| it.peer);
                linked.chain(waiting).collect()
            }
        };
        peers.into_iter().for_each(|peer| self.end_pair(from, peer, trouble));
    }

    /// Directions of connections on which anything is under way or waits for a receipt.
    pub(super) fn keys(&self, wanted: impl Fn(&LinkKey) -> bool) -> BTreeSet<LinkKey> {
        let unconfirmed = self.unfinished.values().filter_map(|it| it.key);
        self.links.keys().copied().chain(unconfirmed).filter(wanted).collect()
    }

    /// One end of a connection ends it, and the other hears of that if it can.
    fn end_connection(&mut self, key: LinkKey, trouble: Trouble) {
        self.end_direction(key, trouble, true);
        self.end_by_peer(key.back());
        self.connected.remove(&key.connection());
    }

    /// The receiver has ended a connection: its sender is told, if it can be.
    fn end_by_peer(&mut self, key: LinkKey) {
        if self.is_open_from(key.to, key.from) {
            self.end_direction(key, Trouble::EndedByPeer, false);
        } else if !self.keys(|other| *other == key).is_empty() {
            self.orphaned.insert(key);
        }
    }

    /// Both ends of a connection are told that it has ended.
    pub(super) fn reset(&mut self, key: LinkKey) {
        self.end_by_peer(key);
        self.end_by_peer(key.back());
        self.connected.remove(&key.connection());
    }

    /// Those who listen at the end of these connections do not any more.
    pub(super) fn hang_up(&mut self, gone: impl Fn(&LinkKey) -> bool, why: &'static str) {
        if !self.confirms() {
            let keys: Vec<LinkKey> = self.links.keys().filter(|key| gone(key)).copied().collect();
            keys.into_iter().for_each(|key| self.break_link(key, why));
            return;
        }
        for key in self.keys(gone) {
            self.end_by_peer(key);
            self.connected.remove(&key.connection());
        }
    }

    /// Ends one direction of a connection for its sender. With `lingers` what has left already may arrive all the same.
    pub(super) fn end_direction(&mut self, key: LinkKey, trouble: Trouble, lingers: bool) {
        self.orphaned.remove(&key);
        let link = self.links.remove(&key).unwrap_or_default();
        let lingers = lingers && self.config.order == Order::Timed && self.is_open_from(key.from, key.to);
        for parcel in link.queue {
            let left = self.unfinished.get(&parcel.number).is_some_and(|it| it.left);
            if lingers && left && self.random.bool() {
                let aftermath = LinkKey { lane: AFTERMATH, ..key };
                let link = self.links.entry(aftermath).or_default();
                link.queue.push_back(parcel);
                if link.queue.len() == 1 {
                    self.arm(aftermath);
                }
            } else {
                let digest = Digest::of(&parcel.header, parcel.payload.as_deref());
                self.lose(key.to.node, digest, trouble.text());
            }
        }
        self.give_back(|it| it.key == Some(key), trouble);
    }

    /// Has these messages come back.
    fn give_back(&mut self, whose: impl Fn(&Unfinished) -> bool, trouble: Trouble) {
        self.give_back_numbers(|_, it| whose(it), trouble);
    }

    fn give_back_numbers(&mut self, whose: impl Fn(u64, &Unfinished) -> bool, trouble: Trouble) {
        let known_again = self.knows_again();
        let mut back = Vec::new();
        for (number, it) in &mut self.unfinished {
            if it.result.is_ok() && whose(*number, it) {
                let failure = trouble.failure(it.left, known_again);
                it.result = Err(failure);
                back.push((*number, it.from.node, Digest::of(it.message.header(), None), failure));
            }
        }
        for (number, node, digest, failure) in back {
            self.note_failure(node, digest, failure);
            self.plan_finish(number, Duration::ZERO);
        }
    }
}

/// Ways.
impl Network {
    pub(crate) fn end_of(&self, nid: Nid) -> End {
        End { node: self.owner(nid), nid }
    }

    pub(super) fn is_open_from(&self, from: InterfaceId, to: InterfaceId) -> bool {
        let end =
            |place| self.interface(place).map(|it: &Interface| End { node: Some(place.node), nid: it.nid });
        end(from).zip(end(to)).is_some_and(|(from, to)| self.faults.is_open(from, to))
    }

    pub(super) fn is_open_both_ways(&self, from: InterfaceId, peer: Nid) -> bool {
        let Some(nid) = self.interface(from).map(|it| it.nid) else { return false };
        let (here, there) = (End { node: Some(from.node), nid }, self.end_of(peer));
        self.faults.is_open(here, there) && self.faults.is_open(there, here)
    }

    pub(super) fn latency_between(&mut self, from: InterfaceId, to: InterfaceId) -> Duration {
        let nid = self.interface(to).map(|it| it.nid);
        nid.map_or(Duration::ZERO, |nid| self.latency_to(from, nid))
    }

    pub(super) fn latency_to(&mut self, from: InterfaceId, to: Nid) -> Duration {
        let from = self.interface(from).map_or(to, |it| it.nid);
        if self.config.order == Order::Chosen {
            return Duration::ZERO;
        }
        self.latency() + self.faults.delay_between(from, to)
    }
}
