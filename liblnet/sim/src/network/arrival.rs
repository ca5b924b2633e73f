//! Arrival of messages at a node, at once or when it has a buffer.

use super::*;

impl Network {
    /// Returns the connections whose next message may arrive now, in a reproducible order.
    pub(crate) fn ready(&self) -> Vec<LinkKey> {
        self.links.iter().filter(|(_, link)| link.is_readable()).map(|(key, _)| *key).collect()
    }

    /// Whether this plan for an arrival is still valid.
    pub(crate) fn is_armed(&self, key: LinkKey, token: u64) -> bool {
        self.links.get(&key).is_some_and(|link| link.armed == token && link.stopped_by.is_none())
    }

    /// Takes the next message of a connection, if it gets through.
    pub(crate) fn take_arrival(&mut self, key: LinkKey) -> Option<Arrival> {
        if self.confirms() && !self.is_passable(key) {
            return None;
        }
        let in_flight = self.pop_first(key)?;
        let digest = || Digest::of(&in_flight.header, in_flight.payload.as_deref());
        if self.confirms() && !self.take(key, &in_flight) {
            self.note_of(key.to.node, || TraceEvent::Deduplicated(digest()));
            return None;
        }
        if !self.confirms() && !self.is_open_from(key.from, key.to) {
            self.lose(key.to.node, digest(), "nobody hears it");
            return None;
        }
        let header = &in_flight.header;
        let is_for_it = self.is_nid_of(header.dest_nid, key.to.node);
        if is_for_it && !down_rev::understands(header, self.faults.hidden_by(key.to.node)) {
            self.lose(key.to.node, digest(), "the node is of an older version");
            return None;
        }
        let from = self.interface(key.from)?.nid;
        let (ni, upcalls) = self.interface(key.to)?.plugged.as_ref()?;
        let (ni, upcalls) = (Arc::clone(ni), Arc::clone(upcalls));
        self.count_received(ni.nid(), in_flight.payload.as_deref());
        if self.trace.is_kept() {
            let digest = digest();
            self.counts.arrived(key.from.node, key.to.node, digest.purpose);
            self.note(key.to.node, TraceEvent::Arrived(digest));
        }
        let hop = self.origin(key.from.node, in_flight.name.number);
        let provenance = Provenance { hop, carried: in_flight.carried, ..Provenance::default() };
        Some(Arrival { key, ni, upcalls, from, provenance, in_flight })
    }

    /// Takes the first message of a connection; its sender's socket has room for another one.
    pub(super) fn pop_first(&mut self, key: LinkKey) -> Option<InFlight> {
        let link = self.links.get_mut(&key)?;
        let in_flight = link.queue.pop_front()?;
        let room_for = link.queue.get(WINDOW - 1).map(|in_flight| in_flight.number);
        if link.queue.is_empty() {
            self.links.remove(&key);
        } else {
            self.arm(key);
        }
        match room_for {
            Some(number) if self.confirms() => {
                self.unfinished.entry(number).and_modify(|it| it.left = true);
            }
            Some(number) => self.plan_finish(number, Duration::ZERO),
            None => {}
        }
        Some(in_flight)
    }

    pub(super) fn arm(&mut self, key: LinkKey) {
        if self.config.order == Order::Chosen {
            return;
        }
        let Some(link) = self.links.get_mut(&key) else { return };
        let Some(first) = link.queue.front() else { return };
        let at = first.arrives.max(self.clock.now());
        link.armed = self.events.plan(at, |token| SimEvent::Arrival(key, token));
    }

    /// Returns the number for a message that has to wait.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Stops a connection at a message that has to wait.
    pub(crate) fn hold(&mut self, number: u64, arrival: Arrival) {
        let Arrival { key, upcalls, in_flight, .. } = arrival;
        let digest = Digest::of(&in_flight.header, in_flight.payload.as_deref());
        self.note_of(key.to.node, || TraceEvent::Held(digest));
        self.counts.holds += 1;
        // A message that is confirmed has been read.
        if !self.confirms() {
            self.links.entry(key).or_default().stopped_by = Some(number);
        }
        self.waiting.insert(number, Waiting { key, upcalls, in_flight, broken: false });
    }

    /// Takes the core's decision about a message that waited while its payload arrives in parts.
    pub(crate) fn take_resumed_part(&mut self) -> Option<(u64, RxAction)> {
        let number_of = |deferred: u64| {
            let waits = |(number, it): (&u64, &Reception)| (it.deferred == Some(deferred)).then_some(*number);
            self.receptions.iter().find_map(waits)
        };
        let (at, number) = self
            .resumed
            .iter()
            .enumerate()
            .find_map(|(at, (deferred, _))| Some((at, number_of(*deferred)?)))?;
        let (_, action) = self.resumed.remove(at)?;
        Some((number, action))
    }

    /// Takes a message that waited, with the core's decision; its connection continues now.
    pub(crate) fn take_resumed(&mut self) -> Option<(Waiting, RxAction)> {
        let at = self.resumed.iter().position(|(number, _)| self.waiting.contains_key(number))?;
        let (number, action) = self.resumed.remove(at)?;
        let waiting = self.waiting.remove(&number)?;
        if let Some(link) = self.links.get_mut(&waiting.key)
            && link.stopped_by == Some(number)
        {
            link.stopped_by = None;
            if link.queue.is_empty() {
                self.links.remove(&waiting.key);
            } else {
                self.arm(waiting.key);
            }
        }
        Some((waiting, action))
    }

    /// Returns the number of messages that wait for a buffer.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }
}
