//! Messages of which a part has arrived, as their receivers read them.

use super::*;
use lnet_core::ArrivingMessage;

/// Time without a part after which a receiver that cannot be told of the end of a connection gives it up.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(50);

/// A message whose head has been read, and not all of its payload.
pub(crate) struct Reception {
    pub(crate) key: LinkKey,
    pub(crate) upcalls: Arc<dyn Upcalls>,
    /// `None`: the payload is discarded, or the message waits for a buffer.
    pub(crate) message: Option<ArrivingMessage>,
    /// The number by which the message waits for a buffer.
    pub(crate) deferred: Option<u64>,
    /// Whether the core may send the message on before it is complete.
    pub(crate) may_cut_through: bool,
    header: Header,
    /// The name that the message has on its connection.
    name: u64,
    /// The time of the last part.
    since: Time,
    /// Whether the end of the connection is about to be reported.
    is_lost: bool,
}

/// The next thing that arrives on a connection.
pub(crate) enum NextPart {
    /// A message as a whole.
    Whole,
    /// Nothing, for the time being.
    Nothing,
    /// The head of a message that is not a duplicate.
    Head(Box<Arrival>, u64),
    /// A part of the payload of the message with this number.
    Part(u64),
}

/// A part of a payload that has been read.
pub(crate) struct Part {
    pub(crate) reception: Reception,
    /// The place of the part in the payload, and its bytes.
    pub(crate) at: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_last: bool,
}

impl Network {
    /// Returns what arrives next on a connection.
    pub(crate) fn next_part(&mut self, key: LinkKey) -> NextPart {
        let first = self.links.get(&key).and_then(|link| link.queue.front());
        let Some((number, got)) = first.and_then(|it| Some((it.number, it.progress.as_ref()?.got))) else {
            return NextPart::Whole;
        };
        if got > 0 && !self.connected.contains(&key.connection()) {
            self.end_by_peer(key);
            return NextPart::Nothing;
        }
        if !self.is_passable(key) {
            return NextPart::Nothing;
        }
        if self.faults.is_frozen(key.from.node) && !self.faults.is_shut_off(key.from.node) {
            // No more than the socket has leaves a node that stands still.
            if let Some(link) = self.links.get_mut(&key) {
                link.stalled = true;
                link.armed = 0;
            }
            return NextPart::Nothing;
        }
        if self.receptions.contains_key(&number) {
            return NextPart::Part(number);
        }
        match self.head(key) {
            Some(arrival) => NextPart::Head(Box::new(arrival), number),
            None => NextPart::Part(number),
        }
    }

    /// Reads the head of the first message of a connection; `None`: its payload is to be discarded.
    fn head(&mut self, key: LinkKey) -> Option<Arrival> {
        let first = self.links.get(&key)?.queue.front()?;
        let (header, carried, name, number) = (first.header, first.carried, first.name, first.number);
        if let Some(unfinished) = self.unfinished.get_mut(&number) {
            unfinished.left = true;
        }
        if name.again {
            self.supersede_first(key, number, name.number);
        }
        let (_, upcalls) = self.interface(key.to)?.plugged.as_ref()?;
        let upcalls = Arc::clone(upcalls);
        let since = self.now();
        let reception = Reception {
            key,
            upcalls,
            message: None,
            deferred: None,
            may_cut_through: true,
            header,
            name: name.number,
            since,
            is_lost: false,
        };
        self.receptions.insert(number, reception);
        if self.taken.get(&key.to.node).is_some_and(|taken| taken.contains(&name.number)) {
            return None;
        }
        let from = self.interface(key.from)?.nid;
        let (ni, upcalls) = self.interface(key.to)?.plugged.as_ref()?;
        let (ni, upcalls) = (Arc::clone(ni), Arc::clone(upcalls));
        if self.trace.is_kept() {
            let digest = Digest::of(&header, None);
            self.counts.arrived(key.from.node, key.to.node, digest.purpose);
            self.note(key.to.node, TraceEvent::Arrived(digest));
        }
        let hop = self.origin(key.from.node, name.number);
        let provenance = Provenance { hop, carried, ..Provenance::default() };
        let in_flight =
            InFlight { header, payload: None, carried, arrives: since, number, name, progress: None };
        Some(Arrival { key, ni, upcalls, from, provenance, in_flight })
    }

    /// Ends what has arrived of earlier attempts to send a message.
    fn supersede_first(&mut self, key: LinkKey, number: u64, name: u64) {
        self.supersede(key, number, name);
        let earlier = |other: &u64, it: &Reception| {
            it.key.to.node == key.to.node && it.name == name && *other != number
        };
        let numbers: Vec<u64> = self
            .receptions
            .iter()
            .filter(|(other, it)| earlier(other, it))
            .map(|(other, _)| *other)
            .collect();
        self.superseded.extend(numbers);
    }

    /// Reads the next part of a message.
    pub(crate) fn read_part(&mut self, number: u64) -> Option<Part> {
        let (now, parts) = (self.now(), self.config.parts?);
        let key = self.receptions.get(&number)?.key;
        let link = self.links.get_mut(&key)?;
        let first = link.queue.front_mut().filter(|first| first.number == number)?;
        let (Some(payload), Some(progress)) = (&first.payload, &mut first.progress) else { return None };
        let at = progress.got;
        let end = (at + parts.size).min(progress.sent).min(payload.len());
        let bytes = payload.get(at..end).unwrap_or_default().to_vec();
        progress.got = end;
        let is_last = end == payload.len();
        let pause =
            progress.pause.take_if(|(after, _)| end > *after).map_or(Duration::ZERO, |(_, pause)| pause);
        first.arrives = now + parts.every + pause;
        link.starved = !is_last && progress.sent == end;
        if !is_last && !link.starved {
            self.arm(key);
        }
        if bytes.is_empty() {
            return None;
        }
        let mut reception = self.receptions.remove(&number)?;
        reception.since = now;
        Some(Part { reception, at, bytes, is_last })
    }

    /// Takes a message of which more is to arrive.
    pub(crate) fn lift_reception(&mut self, number: u64) -> Option<Reception> {
        self.receptions.remove(&number)
    }

    /// Keeps a message of which more is to arrive.
    pub(crate) fn keep_reception(&mut self, number: u64, reception: Reception) {
        self.receptions.insert(number, reception);
    }

    /// Returns the part of a payload that has arrived.
    pub(crate) fn payload_so_far(&self, number: u64, key: LinkKey) -> Vec<u8> {
        let first = self.links.get(&key).and_then(|link| link.queue.front()).filter(|it| it.number == number);
        let so_far = first.and_then(|it| it.payload.as_ref()?.get(..it.progress.as_ref()?.got));
        so_far.unwrap_or_default().to_vec()
    }

    /// Takes a message of which all has arrived from its connection: it is confirmed. `Err`: its bytes are not those that its source
    /// has sent.
    pub(crate) fn take_whole(&mut self, key: LinkKey) -> Result<Option<InFlight>, String> {
        let Some(in_flight) = self.pop_first(key) else { return Ok(None) };
        let fresh = self.take(key, &in_flight);
        let digest = Digest::of(&in_flight.header, None);
        if !fresh {
            self.note_of(key.to.node, || TraceEvent::Deduplicated(digest));
        }
        self.compare(key, &in_flight)?;
        Ok(Some(in_flight))
    }

    /// Compares a payload that has arrived with what its source has sent.
    pub(super) fn compare(&mut self, key: LinkKey, in_flight: &InFlight) -> Result<(), String> {
        let number = in_flight.source_number();
        let Some(sources) = self.sources.get(&number) else { return Ok(()) };
        let payload = in_flight.payload.as_deref().unwrap_or_default();
        if !sources.iter().any(|source| **source == *payload) {
            let digest = Digest::of(&in_flight.header, None);
            return Err(format!("{} gets other bytes than were sent: {digest}", key.to.node));
        }
        if self.is_nid_of(in_flight.header.dest_nid, key.to.node) {
            self.sources.remove(&number);
            self.delivered.insert(number);
        }
        Ok(())
    }

    /// Makes a message that waits for a buffer one that waits as any other: it has arrived, or with `None` will not.
    pub(crate) fn wait_on(&mut self, deferred: u64, reception: Reception, whole: Option<InFlight>) {
        let Reception { key, upcalls, header, name, since: arrives, .. } = reception;
        let broken = whole.is_none();
        let in_flight = whole.unwrap_or(InFlight {
            header,
            payload: None,
            carried: None,
            arrives,
            number: name,
            name: MessageId { number: name, again: false },
            progress: None,
        });
        self.waiting.insert(deferred, Waiting { key, upcalls, in_flight, broken });
    }

    /// Plans reports of receptions whose connections have ended, and whose receivers can know it.
    pub(crate) fn plan_losses(&mut self) {
        if self.receptions.is_empty() {
            return;
        }
        let now = self.now();
        let lost = |(number, it): (&u64, &Reception)| {
            let is_first = self
                .links
                .get(&it.key)
                .and_then(|link| link.queue.front())
                .is_some_and(|first| first.number == *number);
            let goes_on = is_first && self.connected.contains(&it.key.connection());
            let is_known = self.is_open_from(it.key.from, it.key.to) || now.since(it.since) >= GIVEN_UP_AFTER;
            (!goes_on && !it.is_lost && is_known).then_some(*number)
        };
        let lost: Vec<u64> = self.receptions.iter().filter_map(lost).collect();
        for number in lost {
            if let Some(reception) = self.receptions.get_mut(&number) {
                reception.is_lost = true;
            }
            self.events.plan(now, |_| SimEvent::ReceptionLost(number));
        }
    }

    /// Takes a reception whose connection has ended; what is left of the message on that is dropped.
    pub(crate) fn take_reception(&mut self, number: u64) -> Option<Reception> {
        let reception = self.receptions.remove(&number)?;
        let first = self.links.get(&reception.key).and_then(|link| link.queue.front());
        if first.is_some_and(|first| first.number == number) {
            self.end_by_peer(reception.key);
        }
        Some(reception)
    }

    /// Takes the receptions of an interface that ends.
    pub(crate) fn take_receptions_of(&mut self, place: InterfaceId) -> Vec<Reception> {
        let at_place = self.receptions.extract_if(.., |_, it| it.key.to == place);
        at_place.map(|(_, reception)| reception).collect()
    }

    /// The node that a reception is of.
    pub(super) fn receiver_of(&self, number: u64) -> Option<NodeId> {
        self.receptions.get(&number).map(|it| it.key.to.node)
    }

    /// Ends the messages that a node was in the middle of sending when it died.
    pub(super) fn cut_short(&mut self, node: NodeId) {
        let is_midway = |link: &Link| {
            let progress =
                link.queue.front().and_then(|it| Some((it.payload.as_ref()?, it.progress.as_ref()?)));
            progress.is_some_and(|(payload, progress)| progress.got > 0 || progress.sent < payload.len())
        };
        let midway = self.links.iter().filter(|(key, link)| key.from.node == node && is_midway(link));
        let keys: Vec<LinkKey> = midway.map(|(key, _)| *key).collect();
        keys.into_iter().for_each(|key| self.break_link(key, "its sender is dead"));
    }
}
