//! Unresponsive paths, and the end of connections.

use super::ack::LATE_LANE;
use super::*;
use lnet_core::message::TakenCredits;

/// Interval at which a path with messages in flight is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// The time without a response after which messages may take another path.
const UNRESPONSIVE_AFTER: Duration = Duration::from_secs(1);

/// A report on a path for the core of a node.
pub(crate) struct PathCheck {
    pub(crate) ni: Arc<Ni>,
    pub(crate) upcalls: Arc<dyn Upcalls>,
    pub(crate) finding: Finding,
}

/// The result of the check of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// There is no response to the messages in flight.
    Late,
    /// There has been no response for too long.
    Unresponsive,
    /// There is a response again.
    Responsive,
}

impl Network {
    /// Starts checking the path from an interface to a peer NI, if that has not begun.
    pub(super) fn watch_path(&mut self, from: InterfaceId, peer: Nid) {
        if let std::collections::btree_map::Entry::Vacant(entry) = self.path_checks.entry((from, peer)) {
            entry.insert(None);
            self.plan_path_check(from, peer);
        }
    }

    fn plan_path_check(&mut self, from: InterfaceId, peer: Nid) {
        let at = self.now() + CHECK_INTERVAL;
        self.events.plan(at, |_| SimEvent::PathCheck(from, peer));
    }

    /// Checks a path; messages in flight for longer than `timeout` fail. Returns what to report to the core, if anything.
    pub(crate) fn check_path(
        &mut self,
        from: InterfaceId,
        peer: Nid,
        timeout: Duration,
    ) -> Option<PathCheck> {
        let now = self.now();
        let waiting =
            self.unfinished.values().filter(|it| it.from == from && it.peer == peer && it.result.is_ok());
        let Some(oldest) = waiting.map(|it| it.sent).min() else {
            self.path_checks.remove(&(from, peer));
            return None;
        };
        self.plan_path_check(from, peer);
        let is_unresponsive = !self.is_open_both_ways(from, peer);
        let since = self.path_checks.entry((from, peer)).or_default();
        let responses = since.is_some() && !is_unresponsive;
        let unresponsive_since = is_unresponsive.then(|| *since.get_or_insert(now));
        *since = unresponsive_since;
        if now.since(oldest) >= timeout {
            self.end_pair(from, peer, ConnError::Stalled);
            return None;
        }
        let finding = match unresponsive_since {
            _ if responses => Finding::Responsive,
            Some(since) if now.since(since) + CHECK_INTERVAL >= UNRESPONSIVE_AFTER => Finding::Unresponsive,
            Some(_) => Finding::Late,
            None => return None,
        };
        let (ni, upcalls) = self.interface(from)?.plugged.as_ref()?;
        Some(PathCheck { ni: Arc::clone(ni), upcalls: Arc::clone(upcalls), finding })
    }

    /// Moves messages off an unresponsive path, because there are others for all messages, or for some. If receivers
    /// recognise duplicates the path's connections are ended, and all messages are returned; otherwise only the messages that
    /// have not left and may move, and the credits of the rest.
    pub(crate) fn leave_path(
        &mut self,
        from: InterfaceId,
        peer: Nid,
        all_may_move: bool,
        may_move: impl Fn(&OutgoingMessage) -> bool,
    ) -> Vec<TakenCredits> {
        if all_may_move && self.deduplicates() {
            self.end_pair(from, peer, ConnError::Unresponsive);
            return Vec::new();
        }
        let stays = |it: &Unfinished| it.from != from || it.peer != peer || it.left || it.result.is_err();
        let unsent = self.unfinished.iter().filter(|(_, it)| !stays(it) && may_move(&it.message));
        let unsent: BTreeMap<u64, Option<LinkKey>> = unsent.map(|(number, it)| (*number, it.key)).collect();
        for key in unsent.values().flatten().copied().collect::<BTreeSet<_>>() {
            let Some(link) = self.links.get_mut(&key) else { continue };
            let first = link.queue.front().map(|in_flight| in_flight.number);
            link.queue.retain(|in_flight| !unsent.contains_key(&in_flight.number));
            if link.queue.is_empty() {
                self.links.remove(&key);
            } else if link.queue.front().map(|in_flight| in_flight.number) != first {
                self.arm(key);
            }
        }
        self.give_back_numbers(|number, _| unsent.contains_key(&number), ConnError::Unresponsive);
        self.take_credits(from, peer)
    }

    /// Takes the credits of the messages under way from an interface to a peer NI.
    pub(crate) fn take_credits(&mut self, from: InterfaceId, peer: Nid) -> Vec<TakenCredits> {
        let stuck =
            self.unfinished.values_mut().filter(|it| it.from == from && it.peer == peer && it.result.is_ok());
        stuck.filter_map(|it| it.message.take_credits()).collect()
    }

    /// Ends the connections of an interface with a peer NI; messages that are not known to have arrived come back.
    pub(crate) fn end_pair(&mut self, from: InterfaceId, peer: Nid, error: ConnError) {
        self.counts.pairs_ended += 1;
        self.path_checks.insert((from, peer), None).is_none().then(|| self.plan_path_check(from, peer));
        let to_peer = |key: &LinkKey| {
            key.from == from
                && key.lane < LATE_LANE
                && self.interface(key.to).is_some_and(|it| it.nid == peer)
        };
        let keys = self.keys(to_peer);
        keys.into_iter().for_each(|key| self.end_connection(key, error));
        if let Some(to) = self.by_nid.get(&peer).copied() {
            self.forget_connections(|key| key.from == from && key.to == to);
        }
        let uncalled = |it: &Unfinished| it.from == from && it.peer == peer && it.key.is_none();
        self.give_back(uncalled, error);
    }

    /// Ends the connections of an interface with a peer NI, or with all if none is given.
    pub(crate) fn abort_tx(&mut self, from: InterfaceId, peer: Option<Nid>, error: ConnError) {
        let peers: BTreeSet<Nid> = match peer {
            Some(peer) => BTreeSet::from([peer]),
            None => {
                let linked = self.keys(|key| key.from == from && key.lane < LATE_LANE);
                let linked = linked.iter().filter_map(|key| self.interface(key.to)).map(|it| it.nid);
                let waiting = self.unfinished.values().filter(|it| it.from == from).map(|it| it.peer);
                linked.chain(waiting).collect()
            }
        };
        peers.into_iter().for_each(|peer| self.end_pair(from, peer, error));
    }

    /// Returns the directions of connections on which anything is under way or waits for an ACK.
    pub(super) fn keys(&self, wanted: impl Fn(&LinkKey) -> bool) -> BTreeSet<LinkKey> {
        let unconfirmed = self.unfinished.values().filter_map(|it| it.key);
        self.links.keys().copied().chain(unconfirmed).filter(wanted).collect()
    }

    /// Ends a connection from one side; the other side gets an error if it can be reached.
    fn end_connection(&mut self, key: LinkKey, error: ConnError) {
        self.end_direction(key, error, true);
        self.end_by_peer(key.back());
        self.forget_connection(key);
    }

    /// Handles a connection that the receiver has closed: its sender gets an error, if it can be reached.
    pub(super) fn end_by_peer(&mut self, key: LinkKey) {
        if self.is_open_from(key.to, key.from) {
            self.end_direction(key, ConnError::EndedByPeer, false);
        } else if !self.keys(|other| *other == key).is_empty() {
            self.orphaned.insert(key);
        }
    }

    /// Resets a connection: both ends get an error.
    pub(super) fn reset(&mut self, key: LinkKey) {
        self.end_by_peer(key);
        self.end_by_peer(key.back());
        self.forget_connection(key);
    }

    /// Closes these connections at their receivers.
    pub(super) fn hang_up(&mut self, gone: impl Fn(&LinkKey) -> bool, why: &'static str) {
        if !self.confirms() {
            let keys: Vec<LinkKey> = self.links.keys().filter(|key| gone(key)).copied().collect();
            keys.into_iter().for_each(|key| self.break_link(key, why));
            return;
        }
        for key in self.keys(&gone) {
            self.end_by_peer(key);
            self.forget_connection(key);
        }
        self.forget_connections(gone);
    }

    /// Ends one direction of a connection for its sender. With `lingers` messages that have left may still arrive.
    pub(super) fn end_direction(&mut self, key: LinkKey, error: ConnError, lingers: bool) {
        self.orphaned.remove(&key);
        let link = self.links.remove(&key).unwrap_or_default();
        let lingers = lingers && self.config.order == Order::Timed && self.is_open_from(key.from, key.to);
        for in_flight in link.queue {
            let left = self.unfinished.get(&in_flight.number).is_some_and(|it| it.left);
            if lingers && left && in_flight.is_whole() && self.random.bool() {
                let late = LinkKey { lane: LATE_LANE, ..key };
                let link = self.links.entry(late).or_default();
                link.queue.push_back(in_flight);
                if link.queue.len() == 1 {
                    self.arm(late);
                }
            } else {
                let digest = Digest::of(&in_flight.header, in_flight.payload.as_deref());
                self.lose(key.to.node, digest, error.text());
            }
        }
        self.give_back(|it| it.key == Some(key), error);
    }

    /// Ends the messages for which `whose` returns true with this error.
    fn give_back(&mut self, whose: impl Fn(&Unfinished) -> bool, error: ConnError) {
        self.give_back_numbers(|_, it| whose(it), error);
    }

    fn give_back_numbers(&mut self, whose: impl Fn(u64, &Unfinished) -> bool, error: ConnError) {
        let deduplicated = self.deduplicates();
        let mut back = Vec::new();
        for (number, it) in &mut self.unfinished {
            if it.result.is_ok() && whose(*number, it) {
                let failure = error.failure(it.left, deduplicated);
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

/// Paths.
impl Network {
    pub(crate) fn end_of(&self, nid: Nid) -> PathEnd {
        PathEnd { node: self.owner(nid), nid }
    }

    pub(super) fn is_open_from(&self, from: InterfaceId, to: InterfaceId) -> bool {
        let end = |place| {
            self.interface(place).map(|it: &Interface| PathEnd { node: Some(place.node), nid: it.nid })
        };
        end(from).zip(end(to)).is_some_and(|(from, to)| self.faults.is_open(from, to))
    }

    pub(super) fn is_open_both_ways(&self, from: InterfaceId, peer: Nid) -> bool {
        let Some(nid) = self.interface(from).map(|it| it.nid) else { return false };
        let (here, there) = (PathEnd { node: Some(from.node), nid }, self.end_of(peer));
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
