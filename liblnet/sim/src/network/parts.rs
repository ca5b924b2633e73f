//! Large payloads that arrive in parts: what their senders have written of them. What their receivers have read is in `receptions`.
//!
//! A router may send such a message on while it arrives ([`lnet_core::lnd::Arrival`]). Messages of this kind go by a connection of their
//! own between two interfaces, as with the TCP driver. Those that pass no router arrive as a whole.

use super::*;
use crate::driver::PartWaiter;
use lnet_core::lnd::{Arrived, MAX_CUT_THROUGH};

/// The connection that large payloads go by.
const BULK_LANE: u8 = 7;
/// Interval at which a driver checks a message that it sends while it arrives.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The way in which payloads arrive that are longer than a part.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// Number of bytes of a part.
    pub size: usize,
    /// Time between two parts.
    pub every: Duration,
    /// The number of messages of which one pauses in its middle; 0: none does.
    pub pauses_one_in: u32,
    /// Maximum length of such a pause.
    pub longest_pause: Duration,
}

/// The state of a payload that arrives in parts.
#[derive(Debug)]
pub(super) struct Progress {
    /// Number of bytes that the sender has written.
    pub(super) sent: usize,
    /// Number of bytes that the receiver has read.
    pub(super) got: usize,
    /// The number of bytes after which the message pauses, and for how long.
    pub(super) pause: Option<(usize, Duration)>,
}

/// A message that is sent while it arrives, as its driver knows it.
pub(super) struct Following {
    arrival: Arc<lnet_core::lnd::Arrival>,
    /// The arrival refers to the waiter weakly.
    waiter: Arc<PartWaiter>,
    /// The time of the first check.
    checked: Option<Time>,
}

impl Network {
    /// Returns the connection that a message with this payload goes by.
    pub(super) fn lane_for(&mut self, from: InterfaceId, to: InterfaceId, payload: Option<&[u8]>) -> u8 {
        match payload {
            Some(payload) if self.is_large(payload.len()) => BULK_LANE,
            _ => self.lane(from, to),
        }
    }

    fn is_large(&self, length: usize) -> bool {
        self.config.parts.is_some_and(|parts| length > parts.size)
    }

    /// Returns how the payload of a message arrives; `None`: as a whole.
    pub(super) fn progress(
        &mut self,
        key: LinkKey,
        message: &OutgoingMessage,
        carried: bool,
    ) -> Option<Progress> {
        let (parts, length) = (self.config.parts?, message.payload_len());
        let passes_router = carried || !self.is_nid_of(message.header().dest_nid, key.to.node);
        if !self.deduplicates() || !passes_router || length <= parts.size {
            return None;
        }
        let sent = match message.arrival().map(|arrival| arrival.arrived()) {
            Some(Arrived::Part(arrived)) => arrived,
            Some(Arrived::Failed) => 0,
            Some(Arrived::Whole) | None => length,
        };
        let pause = self.one_in(parts.pauses_one_in).then(|| {
            let longest = parts.longest_pause.as_nanos() as u64;
            (self.random.usize(0..length), Duration::from_nanos(self.random.u64(0..=longest)))
        });
        Some(Progress { sent, got: 0, pause })
    }

    /// Records the payload of a message at its source, with which it is compared wherever it arrives.
    pub(super) fn note_payload(&mut self, from: InterfaceId, in_flight: &InFlight) {
        let Some(payload) = in_flight.payload.as_ref().filter(|_| self.config.parts.is_some()) else {
            return;
        };
        let is_source = self.is_nid_of(in_flight.header.src_nid, from.node);
        if is_source && !self.delivered.contains(&in_flight.source_number()) {
            self.sources.entry(in_flight.source_number()).or_default().push(payload.clone());
        }
    }

    /// Whether a message with `length` bytes of payload would be begun at once, although it is still arriving.
    pub(crate) fn may_cut_through(&self, from: InterfaceId, peer: Nid, length: usize) -> bool {
        let Some(to) = self.by_nid.get(&peer).copied() else { return false };
        let key = LinkKey { from, to, lane: BULK_LANE };
        let is_late = self.path_checks.get(&(from, peer)).is_some_and(Option::is_some);
        self.deduplicates()
            && self.is_large(length)
            && !is_late
            && self.connected.contains(&key.connection())
            && !self.orphaned.contains(&key)
            && !self.links.contains_key(&key)
    }

    /// Follows the arrival of a message that has been begun.
    pub(super) fn follow(&mut self, number: u64, waiter: Arc<PartWaiter>) {
        let Some(unfinished) = self.unfinished.get_mut(&number) else { return };
        let Some(arrival) = unfinished.message.arrival().cloned().filter(|_| unfinished.key.is_some()) else {
            return;
        };
        self.counts.begun_early += 1;
        waiter.follows(number);
        unfinished.following = Some(Following { arrival, waiter, checked: None });
        self.plan_check(number);
        self.take_arrived(number);
    }

    fn plan_check(&mut self, number: u64) {
        let at = self.now() + CHECK_INTERVAL;
        self.events.plan(at, |_| SimEvent::StarvedCheck(number));
    }

    /// Writes what has arrived of a message, and waits for more.
    pub(crate) fn take_arrived(&mut self, number: u64) {
        let Some((message, key, following)) = self.unfinished.get(&number).and_then(|it| {
            it.result.ok()?;
            Some((&it.message, it.key?, it.following.as_ref()?))
        }) else {
            return;
        };
        let sent = loop {
            let sent = match following.arrival.arrived() {
                Arrived::Part(arrived) => arrived,
                Arrived::Whole => break message.payload_len(),
                Arrived::Failed => return self.plan_end_of(number),
            };
            if following.arrival.wait(sent, PartWaiter::weak(&following.waiter)) {
                break sent;
            }
        };
        let bytes = payload_of(message);
        let Some(link) = self.links.get_mut(&key) else { return };
        let is_first = link.queue.front().is_some_and(|first| first.number == number);
        let Some(in_flight) = link.queue.iter_mut().find(|it| it.number == number) else { return };
        let (Some(payload), Some(progress)) = (&mut in_flight.payload, &mut in_flight.progress) else {
            return;
        };
        if let (Some(to), Some(from)) = (payload.get_mut(progress.sent..sent), bytes.get(progress.sent..sent))
        {
            to.copy_from_slice(from);
        }
        progress.sent = progress.sent.max(sent);
        if is_first && std::mem::take(&mut link.starved) {
            self.arm(key);
        }
    }

    /// Makes the driver end the connection of a message that will not arrive.
    pub(crate) fn plan_end_of(&mut self, number: u64) {
        let now = self.now();
        self.events.plan(now, |_| SimEvent::ArrivalFailed(number));
    }

    /// Ends the connections of a message that cannot be completed.
    pub(crate) fn abandon(&mut self, number: u64) {
        let Some(unfinished) = self.unfinished.get(&number).filter(|it| it.result.is_ok()) else { return };
        let (from, peer) = (unfinished.from, unfinished.peer);
        self.counts.abandoned += 1;
        self.end_pair(from, peer, ConnError::Abandoned);
    }

    /// Checks a message that is sent while it arrives: a driver does not wait for it any longer than it may.
    pub(crate) fn check_starved(&mut self, number: u64) {
        let now = self.now();
        let Some(unfinished) = self.unfinished.get_mut(&number).filter(|it| it.result.is_ok()) else {
            return;
        };
        let Some(following) = unfinished.following.as_mut() else { return };
        if following.arrival.arrived() == Arrived::Whole {
            return;
        }
        let since = *following.checked.get_or_insert(now);
        // What has arrived has been written at once.
        match now.since(since) >= MAX_CUT_THROUGH {
            true => self.abandon(number),
            false => self.plan_check(number),
        }
    }
}

impl InFlight {
    /// The number that the message has at its source.
    pub(super) fn source_number(&self) -> u64 {
        self.carried.map_or(self.name.number, |carried| carried.origin.id.get())
    }

    /// Whether all of the message is in the network, and nothing of it has been read.
    pub(super) fn is_whole(&self) -> bool {
        let length = self.payload.as_ref().map_or(0, |payload| payload.len());
        self.progress.as_ref().is_none_or(|progress| progress.got == 0 && progress.sent == length)
    }
}

impl Link {
    /// Whether the receiver could read something.
    pub(super) fn is_readable(&self) -> bool {
        !self.queue.is_empty() && self.stopped_by.is_none() && !self.stalled && !self.starved
    }
}
