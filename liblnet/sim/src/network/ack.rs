//! Delivery ACKs: a message counts as sent when its receiver has confirmed it. Message IDs, ACKs, duplicates.

use super::*;
use crate::driver::PartWaiter;

/// The lane of messages that arrive although their connection has ended for the sender.
pub(super) const LATE_LANE: u8 = u8::MAX - 1;

impl Network {
    /// Whether senders keep messages until these are confirmed.
    pub(super) fn confirms(&self) -> bool {
        self.config.delivery != Delivery::Socket
    }

    /// Whether receivers recognise a message that comes again.
    pub(super) fn deduplicates(&self) -> bool {
        self.config.delivery == Delivery::Acked
    }

    /// Sends a message that is complete only when its receiver has it.
    pub(super) fn send_acked(
        &mut self,
        from: InterfaceId,
        message: Pooled<OutgoingMessage>,
        payload: Option<Box<[u8]>>,
        digest: Digest,
        waiter: Option<Arc<PartWaiter>>,
    ) -> SendOutcome {
        self.send_acked_since(self.now(), from, message, payload, digest, waiter)
    }

    /// Sends a message that its driver has had since `sent`, as [`Network::send_acked`] does.
    fn send_acked_since(
        &mut self,
        sent: Time,
        from: InterfaceId,
        mut message: Pooled<OutgoingMessage>,
        payload: Option<Box<[u8]>>,
        digest: Digest,
        waiter: Option<Arc<PartWaiter>>,
    ) -> SendOutcome {
        let peer = message.next_hop().nid;
        let both_ways = self.is_open_both_ways(from, peer);
        let to = self.by_nid.get(&peer).copied();
        if to.is_none() && both_ways {
            return self.fail(from, message, digest, ConnError::Refused.failure(false, false));
        }
        self.numbers += 1;
        let number = self.numbers;
        let name = self.name(&mut message, number);
        if let Some(named) = self.origin(from.node, name.number).filter(|_| message.is_routed()) {
            message.expect_confirmation(named);
        }
        let carried = message.carried_origin();
        let header = *message.header();
        self.attempted.extend(asked_by(&header));
        let key = to.map(|to| LinkKey { from, to, lane: self.lane_for(from, to, payload.as_deref()) });
        let connected = key.is_some_and(|key| self.connect(key, both_ways));
        let mut left = connected;
        if let Some(key) = key {
            let progress = self.progress(key, &message, carried.is_some());
            let arrives = self.now();
            let in_flight = InFlight { header, payload, carried, arrives, number, name, progress };
            self.note_payload(from, &in_flight);
            let latency = self.latency_to(from, peer);
            let length = in_flight.payload.as_deref().map_or(0, <[u8]>::len);
            let length = if both_ways && in_flight.is_whole() { length } else { 0 };
            let at = self.arrival_time([from, key.to], length, latency);
            let link = self.links.entry(key).or_default();
            let arrives = link.queue.back().map_or(Time::START, |last| last.arrives).max(at);
            left &= link.queue.len() < WINDOW;
            link.queue.push_back(InFlight { arrives, ..in_flight });
            if link.queue.len() == 1 {
                self.arm(key);
            }
        }
        let unfinished =
            Unfinished { from, peer, key, message, sent, left, owed: false, result: Ok(()), following: None };
        self.unfinished.insert(number, unfinished);
        if let Some(waiter) = waiter {
            self.follow(number, waiter);
        }
        self.watch_path(from, peer);
        if let Some(key) = key.filter(|_| self.one_in(self.config.breaks_one_in)) {
            self.counts.breaks += 1;
            self.reset(key);
        }
        SendOutcome::Pending
    }

    /// Returns the ID of a message: that of its first attempt, if receivers drop duplicates.
    fn name(&self, message: &mut OutgoingMessage, number: u64) -> MessageId {
        let first = message.message_id().filter(|_| self.deduplicates());
        match (first, std::num::NonZeroU64::new(number)) {
            (Some(first), _) => MessageId { number: first.get(), again: true },
            (None, Some(fresh)) if self.deduplicates() => {
                message.set_message_id(fresh);
                MessageId { number, again: false }
            }
            _ => MessageId { number, again: false },
        }
    }

    /// Whether there is a connection, or one can be made at once.
    fn connect(&mut self, key: LinkKey, both_ways: bool) -> bool {
        let connection = key.connection();
        let can_be = both_ways && !self.faults.is_frozen(key.to.node);
        let is_up = self.connected.contains(&connection) || can_be;
        is_up && {
            self.connected.insert(connection);
            true
        }
    }

    /// Whether the first message of a connection can arrive now; if not, the message waits for the network to heal.
    pub(super) fn is_passable(&mut self, key: LinkKey) -> bool {
        let (Some(from), Some(to)) = (self.interface(key.from), self.interface(key.to)) else { return false };
        let (from, to) = (
            PathEnd { node: Some(key.from.node), nid: from.nid },
            PathEnd { node: Some(key.to.node), nid: to.nid },
        );
        let in_the_air = key.lane >= LATE_LANE;
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

    /// Notes that the receiver has a message, and plans its ACK. False for a duplicate.
    pub(super) fn take(&mut self, key: LinkKey, in_flight: &InFlight) -> bool {
        if let Some(unfinished) = self.unfinished.get_mut(&in_flight.number) {
            unfinished.left = true;
            let latency = self.latency_between(key.to, key.from);
            let at = self.now() + latency;
            self.events.plan(at, |_| SimEvent::Ack(in_flight.number));
        }
        if !self.deduplicates() {
            return true;
        }
        if in_flight.name.again {
            self.supersede(key, in_flight.number, in_flight.name.number);
        }
        let fresh = self.taken.entry(key.to.node).or_default().insert(in_flight.name.number);
        if !fresh {
            self.counts.deduplicated += 1;
        }
        fresh
    }

    /// Ends the connection of an earlier attempt to send this message, so that the rest of that never arrives.
    pub(super) fn supersede(&mut self, key: LinkKey, number: u64, name: u64) {
        let earlier: Vec<LinkKey> = self
            .links
            .iter()
            .filter(|(other, link)| {
                let same = |it: &InFlight| it.name.number == name && it.number != number;
                other.to.node == key.to.node && link.queue.iter().any(same)
            })
            .map(|(key, _)| *key)
            .collect();
        for earlier in earlier {
            let Some(link) = self.links.get_mut(&earlier) else { continue };
            let is_other = |it: &InFlight| it.name.number != name || it.number == number;
            link.queue.retain(is_other);
            if link.queue.is_empty() {
                self.links.remove(&earlier);
            }
        }
    }

    /// Delivers an ACK to the sender, unless the path back is cut.
    pub(crate) fn take_ack(&mut self, number: u64) -> Option<Finished> {
        let (from, peer) = self.unfinished.get(&number).map(|it| (it.from, it.peer))?;
        let ends = self.interface(from).map(|it| PathEnd { node: Some(from.node), nid: it.nid });
        let open = ends.is_some_and(|here| self.faults.is_open(self.end_of(peer), here));
        let unfinished = self.unfinished.get_mut(&number)?;
        unfinished.owed = !open;
        if open || unfinished.result.is_err() { self.take_finished(number) } else { None }
    }

    /// Plans the connects of interfaces whose messages wait for a connection, where the path is usable now.
    fn plan_connects(&mut self) {
        let waiting = self.unfinished.values().filter(|it| it.waits_for_connection());
        let paths: BTreeSet<(InterfaceId, Nid)> = waiting.map(|it| (it.from, it.peer)).collect();
        for (from, peer) in paths {
            if self.is_open_both_ways(from, peer) {
                let at = self.now() + self.retransmission();
                self.events.plan(at, |_| SimEvent::Connect(from, peer));
            }
        }
    }

    /// Removes and returns the messages that wait for a connection from an interface to a peer NI, each with the time at which it was sent.
    pub(crate) fn take_waiting(
        &mut self,
        from: InterfaceId,
        peer: Nid,
    ) -> Vec<(Pooled<OutgoingMessage>, Time)> {
        let waits = |it: &Unfinished| it.from == from && it.peer == peer && it.waits_for_connection();
        let numbers: Vec<u64> =
            self.unfinished.iter().filter(|(_, it)| waits(it)).map(|(number, _)| *number).collect();
        let taken = numbers.iter().filter_map(|number| self.unfinished.remove(number));
        taken.map(|it| (it.message, it.sent)).collect()
    }

    /// Sends a message that has waited for a connection since `sent`.
    pub(crate) fn send_waiting(
        &mut self,
        from: InterfaceId,
        message: Pooled<OutgoingMessage>,
        sent: Time,
    ) -> SendOutcome {
        let payload = (message.payload_len() > 0).then(|| payload_of(&message));
        let digest = Digest::of(message.header(), payload.as_deref().filter(|_| self.trace.is_kept()));
        self.send_acked_since(sent, from, message, payload, digest, None)
    }

    /// Returns how long the sender's TCP waits before it retransmits.
    fn retransmission(&mut self) -> Duration {
        Duration::from_micros(self.random.u64(0..RETRANSMISSION))
    }

    /// Continues stalled connections after a repair, opens the connections that messages wait for, and reports connections
    /// that have ended meanwhile to their senders.
    pub(crate) fn go_on(&mut self) {
        let told: Vec<LinkKey> =
            self.orphaned.iter().filter(|key| self.is_open_from(key.to, key.from)).copied().collect();
        told.into_iter().for_each(|key| self.end_direction(key, ConnError::EndedByPeer, false));
        self.tell_ends();
        let stalled: Vec<LinkKey> =
            self.links.iter().filter(|(_, link)| link.stalled).map(|(key, _)| *key).collect();
        for key in stalled {
            let at = self.now() + self.retransmission();
            let Some(link) = self.links.get_mut(&key) else { continue };
            link.stalled = false;
            link.queue.iter_mut().for_each(|in_flight| in_flight.arrives = in_flight.arrives.max(at));
            self.arm(key);
        }
        let owed: Vec<u64> =
            self.unfinished.iter().filter(|(_, it)| it.owed).map(|(number, _)| *number).collect();
        for number in owed {
            let at = self.now() + self.config.latency;
            self.events.plan(at, |_| SimEvent::Ack(number));
        }
        self.plan_connects();
    }
}

/// Maximum time in microseconds until TCP retransmits.
const RETRANSMISSION: u64 = 300_000;
