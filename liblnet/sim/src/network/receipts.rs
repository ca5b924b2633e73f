//! A message is not sent until its receiver has it: names, receipts, and what comes twice.

use super::*;

/// The lane of what arrives although its connection has ended for its sender.
pub(super) const AFTERMATH: u8 = u8::MAX - 1;

impl Network {
    /// Whether senders keep messages until they are confirmed.
    pub(super) fn confirms(&self) -> bool {
        self.config.delivery != Delivery::Socket
    }

    /// Whether a receiver knows a message that comes again.
    pub(super) fn knows_again(&self) -> bool {
        self.config.delivery == Delivery::Receipts
    }

    /// Sends a message that comes back only when its receiver has it.
    pub(super) fn send_for_receipt(
        &mut self,
        from: InterfaceId,
        mut message: Box<Message>,
        payload: Option<Box<[u8]>>,
        digest: Digest,
    ) -> SendOutcome {
        let peer = message.next_hop().nid;
        let both_ways = self.is_open_both_ways(from, peer);
        let to = self.by_nid.get(&peer).copied();
        if to.is_none() && both_ways {
            return self.fail(from, message, digest, Trouble::Refused.failure(false, false));
        }
        self.numbers += 1;
        let number = self.numbers;
        let name = self.name(&mut message, number);
        let header = *message.header();
        self.attempted.extend(asked_by(&header));
        let key = to.map(|to| LinkKey { from, to, lane: self.lane(from, to) });
        let connected = key.is_some_and(|key| self.connect(key, both_ways));
        let mut left = connected;
        if let Some(key) = key {
            let latency = self.latency_to(from, peer);
            let now = self.now();
            let link = self.links.entry(key).or_default();
            let arrives = link.queue.back().map_or(Time::START, |last| last.arrives).max(now + latency);
            left &= link.queue.len() < WINDOW;
            link.queue.push_back(Parcel { header, payload, arrives, number, name });
            if link.queue.len() == 1 {
                self.arm(key);
            }
        }
        let sent = self.now();
        let (owed, result) = (false, Ok(()));
        self.unfinished.insert(number, Unfinished { from, peer, key, message, sent, left, owed, result });
        self.look_after(from, peer);
        if let Some(key) = key.filter(|_| self.one_in(self.config.breaks_one_in)) {
            self.counts.breaks += 1;
            self.reset(key);
        }
        SendOutcome::Pending
    }

    /// The name that a message goes by: the one that it was sent by first, where receivers care.
    fn name(&self, message: &mut Message, number: u64) -> Name {
        let first = message.message_id().filter(|_| self.knows_again());
        match (first, std::num::NonZeroU64::new(number)) {
            (Some(first), _) => Name { number: first.get(), again: true },
            (None, Some(fresh)) if self.knows_again() => {
                message.set_message_id(fresh);
                Name { number, again: false }
            }
            _ => Name { number, again: false },
        }
    }

    /// Whether there is a connection, or can be at once.
    fn connect(&mut self, key: LinkKey, both_ways: bool) -> bool {
        let connection = key.connection();
        let can_be = both_ways && !self.faults.is_frozen(key.to.node);
        let is_up = self.connected.contains(&connection) || can_be;
        is_up && {
            self.connected.insert(connection);
            true
        }
    }

    /// Whether the first message of a connection can arrive now; if not it waits for the network to heal.
    pub(super) fn is_passable(&mut self, key: LinkKey) -> bool {
        let (Some(from), Some(to)) = (self.interface(key.from), self.interface(key.to)) else { return false };
        let (from, to) =
            (End { node: Some(key.from.node), nid: from.nid }, End { node: Some(key.to.node), nid: to.nid });
        let in_the_air = key.lane >= AFTERMATH;
        let forth = self.faults.is_open(from, to);
        let back = forth && self.faults.is_open(to, from);
        let passable = forth
            && (in_the_air
                || !self.orphaned.contains(&key)
                    && (self.connected.contains(&key.connection()) || self.connect(key, back)));
        if !passable && let Some(link) = self.links.get_mut(&key) {
            link.stalled = true;
            link.armed = 0;
        }
        passable
    }

    /// Notes that its receiver has a message, and has it confirmed. False for one that it had already.
    pub(super) fn take(&mut self, key: LinkKey, parcel: &Parcel) -> bool {
        if let Some(unfinished) = self.unfinished.get_mut(&parcel.number) {
            unfinished.left = true;
            let latency = self.latency_between(key.to, key.from);
            let at = self.now() + latency;
            self.events.plan(at, |_| SimEvent::Receipt(parcel.number));
        }
        if !self.knows_again() {
            return true;
        }
        if parcel.name.again {
            self.supersede(key, parcel);
        }
        let fresh = self.taken.entry(key.to.node).or_default().insert(parcel.name.number);
        if !fresh {
            self.counts.known_again += 1;
        }
        fresh
    }

    /// What is still under way of an earlier attempt never arrives: its connection is ended first.
    fn supersede(&mut self, key: LinkKey, parcel: &Parcel) {
        let earlier: Vec<LinkKey> = self
            .links
            .iter()
            .filter(|(other, link)| {
                let same = |it: &Parcel| it.name.number == parcel.name.number && it.number != parcel.number;
                other.to.node == key.to.node && link.queue.iter().any(same)
            })
            .map(|(key, _)| *key)
            .collect();
        for earlier in earlier {
            let Some(link) = self.links.get_mut(&earlier) else { continue };
            let is_other = |it: &Parcel| it.name.number != parcel.name.number || it.number == parcel.number;
            link.queue.retain(is_other);
            if link.queue.is_empty() {
                self.links.remove(&earlier);
            }
        }
    }

    /// A receipt has come to the sender, or would have.
    pub(crate) fn take_receipt(&mut self, number: u64) -> Option<Finished> {
        let (from, peer) = self.unfinished.get(&number).map(|it| (it.from, it.peer))?;
        let ends = self.interface(from).map(|it| End { node: Some(from.node), nid: it.nid });
        let open = ends.is_some_and(|here| self.faults.is_open(self.end_of(peer), here));
        let unfinished = self.unfinished.get_mut(&number)?;
        unfinished.owed = !open;
        if open || unfinished.result.is_err() { self.take_finished(number) } else { None }
    }

    /// After something has healed: what stood still goes on, and who has not been told of an end is.
    pub(crate) fn go_on(&mut self) {
        let told: Vec<LinkKey> =
            self.orphaned.iter().filter(|key| self.is_open_from(key.to, key.from)).copied().collect();
        told.into_iter().for_each(|key| self.end_direction(key, Trouble::EndedByPeer, false));
        let stalled: Vec<LinkKey> =
            self.links.iter().filter(|(_, link)| link.stalled).map(|(key, _)| *key).collect();
        for key in stalled {
            // The sender's TCP tries again when its time comes.
            let wait = Duration::from_micros(self.random.u64(0..RETRANSMISSION));
            let at = self.now() + wait;
            let Some(link) = self.links.get_mut(&key) else { continue };
            link.stalled = false;
            link.queue.iter_mut().for_each(|parcel| parcel.arrives = parcel.arrives.max(at));
            self.arm(key);
        }
        let owed: Vec<u64> =
            self.unfinished.iter().filter(|(_, it)| it.owed).map(|(number, _)| *number).collect();
        for number in owed {
            let at = self.now() + self.config.latency;
            self.events.plan(at, |_| SimEvent::Receipt(number));
        }
    }
}

/// Microseconds until TCP tries again, at most.
const RETRANSMISSION: u64 = 300_000;
