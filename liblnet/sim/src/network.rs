//! The network between the nodes: interfaces, connections, what is under way.
//!
//! Messages of one connection arrive in their order; messages of different connections in any. A node's driver
//! is told that a message has left when the socket would have taken it, whether it arrives or not.

use crate::agenda::{Agenda, Due};
use crate::clock::SimClock;
use crate::counts::Counts;
use crate::digest::{Digest, Purpose};
use crate::down_rev;
use crate::faults::{Faults, Way};
use crate::trace::{NodeId, Trace, What};
use lnet_core::lnd::{SendOutcome, Upcalls, Verdict};
use lnet_core::{Clock, Errno, Message, Ni, Time};
use lnet_wire::{Header, Nid};
use lolnd::copy::payload_of;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Messages that the sockets of one connection take before the receiver has read any.
const WINDOW: usize = 16;

/// Who decides what happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Time does: every message arrives after a latency of its own.
    Timed,
    /// The caller does, message by message. Time stands still while anything is under way.
    Chosen,
}

/// When a sender is told that its message has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// From inside the call that sends it, as when there is room in the socket.
    AtOnce,
    /// Some time later, perhaps after it has been answered.
    Later,
}

/// What a network is like.
#[derive(Clone, Copy, Debug)]
pub struct NetworkConfig {
    /// Who decides what arrives next.
    pub order: Order,
    /// The least latency.
    pub latency: Duration,
    /// What may come on top of it.
    pub jitter: Duration,
    /// One message in so many takes a thousand times as long; 0: none.
    pub slow_one_in: u32,
    /// When senders are told.
    pub completion: Completion,
    /// Connections between two interfaces; messages take turns on them.
    pub connections: u8,
    /// One message in so many breaks its connection; 0: none.
    pub breaks_one_in: u32,
}

impl Default for NetworkConfig {
    fn default() -> Self {
        Self {
            order: Order::Timed,
            latency: Duration::from_micros(20),
            jitter: Duration::from_micros(80),
            slow_one_in: 0,
            completion: Completion::Later,
            connections: 1,
            breaks_one_in: 0,
        }
    }
}

/// An interface in one of its lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) node: NodeId,
    index: u32,
}

/// One direction of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkKey {
    from: Place,
    to: Place,
    lane: u8,
}

impl LinkKey {
    /// The node that messages of it arrive at.
    pub const fn receiver(&self) -> NodeId {
        self.to.node
    }

    /// The node that they come from.
    pub const fn sender(&self) -> NodeId {
        self.from.node
    }
}

struct Interface {
    nid: Nid,
    /// `None` once it is gone.
    plugged: Option<(Arc<Ni>, Arc<dyn Upcalls>)>,
}

#[derive(Default)]
struct Link {
    queue: VecDeque<Parcel>,
    /// The message that its receiver does not read yet.
    stopped_by: Option<u64>,
    /// The plan for the arrival of its first message.
    armed: u64,
}

/// A message under way.
pub(crate) struct Parcel {
    pub(crate) header: Header,
    pub(crate) payload: Option<Box<[u8]>>,
    arrives: Time,
    number: u64,
}

/// A message that its driver has not handed back.
struct Unfinished {
    from: Place,
    message: Box<Message>,
    result: Result<(), Errno>,
}

/// A message whose sender is to be told.
pub(crate) struct Finished {
    pub(crate) upcalls: Arc<dyn Upcalls>,
    pub(crate) node: NodeId,
    pub(crate) message: Box<Message>,
    pub(crate) result: Result<(), Errno>,
}

/// A message for a node.
pub(crate) struct Arrival {
    pub(crate) key: LinkKey,
    pub(crate) ni: Arc<Ni>,
    pub(crate) upcalls: Arc<dyn Upcalls>,
    pub(crate) from: Nid,
    pub(crate) parcel: Parcel,
}

/// A message that waits for a buffer.
pub(crate) struct Waiting {
    pub(crate) key: LinkKey,
    pub(crate) upcalls: Arc<dyn Upcalls>,
    pub(crate) parcel: Parcel,
    /// Its connection has ended meanwhile.
    pub(crate) broken: bool,
}

pub(crate) struct Network {
    pub(crate) config: NetworkConfig,
    pub(crate) clock: Arc<SimClock>,
    pub(crate) trace: Trace,
    pub(crate) counts: Counts,
    pub(crate) faults: Faults,
    pub(crate) agenda: Agenda,
    /// Verdicts on messages that waited.
    pub(crate) resumed: VecDeque<(u64, Verdict)>,
    random: fastrand::Rng,
    interfaces: Vec<Vec<Interface>>,
    by_nid: HashMap<Nid, Place>,
    links: BTreeMap<LinkKey, Link>,
    turns: HashMap<(Place, Place), u8>,
    unfinished: BTreeMap<u64, Unfinished>,
    waiting: BTreeMap<u64, Waiting>,
    numbers: u64,
}

impl Network {
    pub(crate) fn new(config: NetworkConfig, seed: u64, clock: Arc<SimClock>, trace: Trace) -> Self {
        let counts = Counts::new(trace.is_kept());
        Self {
            config,
            clock,
            trace,
            counts,
            faults: Faults::default(),
            agenda: Agenda::default(),
            resumed: VecDeque::new(),
            random: fastrand::Rng::with_seed(seed),
            interfaces: Vec::new(),
            by_nid: HashMap::new(),
            links: BTreeMap::new(),
            turns: HashMap::new(),
            unfinished: BTreeMap::new(),
            waiting: BTreeMap::new(),
            numbers: 0,
        }
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(crate) fn note(&mut self, node: NodeId, what: What) {
        let now = self.now();
        self.trace.add(now, node, what);
    }

    // ---- interfaces ----

    pub(crate) fn plug_in(&mut self, node: NodeId, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Place {
        let at = node.0 as usize;
        if self.interfaces.len() <= at {
            self.interfaces.resize_with(at + 1, Vec::new);
        }
        let place = Place { node, index: self.interfaces[at].len() as u32 };
        self.interfaces[at].push(Interface { nid: ni.nid(), plugged: Some((Arc::clone(ni), upcalls)) });
        self.by_nid.insert(ni.nid(), place);
        place
    }

    /// What it has not handed back; what is on its way to it is lost, what it has sent arrives.
    #[allow(clippy::vec_box, reason = "boxes are what the core gives and takes")]
    pub(crate) fn unplug(&mut self, place: Place) -> (Option<Arc<dyn Upcalls>>, Vec<Box<Message>>) {
        let Some(interface) = self.interface_mut(place) else { return (None, Vec::new()) };
        let (nid, plugged) = (interface.nid, interface.plugged.take());
        if self.by_nid.get(&nid) == Some(&place) {
            self.by_nid.remove(&nid);
        }
        let inbound: Vec<LinkKey> = self.links.keys().filter(|key| key.to == place).copied().collect();
        inbound.into_iter().for_each(|key| self.break_link(key, "the interface is gone"));
        let mine = |unfinished: &Unfinished| unfinished.from == place;
        let numbers: Vec<u64> =
            self.unfinished.iter().filter(|(_, it)| mine(it)).map(|(number, _)| *number).collect();
        let back = numbers.iter().filter_map(|number| self.unfinished.remove(number)).map(|it| it.message);
        (plugged.map(|(_, upcalls)| upcalls), back.collect())
    }

    /// Nothing that the node does reaches anybody any more, nor anything it.
    pub(crate) fn silence(&mut self, node: NodeId) {
        let Some(interfaces) = self.interfaces.get_mut(node.0 as usize) else { return };
        for (index, interface) in (0..).zip(interfaces) {
            let place = Place { node, index };
            if self.by_nid.get(&interface.nid) == Some(&place) {
                self.by_nid.remove(&interface.nid);
            }
        }
        let keys: Vec<LinkKey> = self.links.keys().filter(|key| key.to.node == node).copied().collect();
        keys.into_iter().for_each(|key| self.break_link(key, "the node is down"));
        self.faults.silence(node);
    }

    /// What an earlier life of a node sent is not read by anybody who has heard of its new one.
    pub(crate) fn forget_earlier_life(&mut self, node: NodeId) {
        let keys: Vec<LinkKey> = self.links.keys().filter(|key| key.from.node == node).copied().collect();
        keys.into_iter().for_each(|key| self.break_link(key, "it is of an earlier life"));
    }

    /// Puts a message into the network that no node has sent, from one interface to another.
    pub(crate) fn inject(&mut self, header: Header, payload: Option<Box<[u8]>>) {
        let place = |nid| self.by_nid.get(&nid).copied();
        let (Some(from), Some(to)) = (place(header.src_nid), place(header.dest_nid)) else { return };
        self.numbers += 1;
        let arrives = self.now() + self.config.latency;
        // Behind nothing that a node sent: in a connection of its own.
        let key = LinkKey { from, to, lane: u8::MAX };
        let link = self.links.entry(key).or_default();
        link.queue.push_back(Parcel { header, payload, arrives, number: self.numbers });
        if link.queue.len() == 1 && link.stopped_by.is_none() {
            self.arm(key);
        }
    }

    /// The node that has this NID now.
    pub(crate) fn owner(&self, nid: Nid) -> Option<NodeId> {
        self.by_nid.get(&nid).map(|place| place.node)
    }

    fn interface(&self, place: Place) -> Option<&Interface> {
        self.interfaces.get(place.node.0 as usize)?.get(place.index as usize)
    }

    fn interface_mut(&mut self, place: Place) -> Option<&mut Interface> {
        self.interfaces.get_mut(place.node.0 as usize)?.get_mut(place.index as usize)
    }

    // ---- sending ----

    pub(crate) fn send(&mut self, from: Place, message: Box<Message>) -> SendOutcome {
        if self.faults.is_silent(from.node) {
            return SendOutcome::Done(message, Err(Errno::Shutdown));
        }
        let header = *message.header();
        let mut payload = (message.payload_len() > 0).then(|| payload_of(&message));
        if let Some(payload) = &mut payload {
            down_rev::send(&header, payload, self.faults.hidden_by(from.node));
        }
        let to = self.by_nid.get(&message.next_hop().nid).copied();
        let digest = Digest::of(&header, payload.as_deref().filter(|_| self.trace.is_kept()));
        self.counts.sent(from.node, to.map(|to| to.node), digest.purpose);
        self.note_of(from.node, || What::Sent(digest));
        match to.map(|to| (to, self.faults.way(from.node, to.node))) {
            None => self.fail(from, message, digest, Errno::HostUnreachable),
            Some((to, Way::Open)) => {
                let lane = self.lane(from, to);
                self.enqueue(LinkKey { from, to, lane }, message, payload, digest)
            }
            Some((_, Way::Blocked)) => self.send_into_the_dark(from, message, digest),
        }
    }

    fn lane(&mut self, from: Place, to: Place) -> u8 {
        let connections = self.config.connections.max(self.faults.connections(from.node, to.node));
        if connections <= 1 {
            return 0;
        }
        let turn = self.turns.entry((from, to)).or_default();
        *turn = (*turn + 1) % connections;
        *turn
    }

    fn enqueue(
        &mut self,
        key: LinkKey,
        message: Box<Message>,
        payload: Option<Box<[u8]>>,
        digest: Digest,
    ) -> SendOutcome {
        if self.one_in(self.config.breaks_one_in) {
            let back = LinkKey { from: key.to, to: key.from, lane: key.lane };
            self.break_link(key, "its connection broke");
            self.break_link(back, "its connection broke");
            self.counts.breaks += 1;
            return self.send_into_the_dark(key.from, message, digest);
        }
        let header = *message.header();
        self.numbers += 1;
        let number = self.numbers;
        let (now, latency) = (self.now(), self.latency());
        let link = self.links.entry(key).or_default();
        let arrives = link.queue.back().map_or(Time::START, |last| last.arrives).max(now + latency);
        let taken = link.queue.len() < WINDOW;
        link.queue.push_back(Parcel { header, payload, arrives, number });
        if link.queue.len() == 1 && link.stopped_by.is_none() {
            self.arm(key);
        }
        if taken && self.config.completion == Completion::AtOnce {
            return SendOutcome::Done(message, Ok(()));
        }
        self.unfinished.insert(number, Unfinished { from: key.from, message, result: Ok(()) });
        if taken {
            self.plan_finish(number, latency);
        }
        SendOutcome::Pending
    }

    /// Nobody will hear of the message; its sender is told late, or that all is well, as TCP does.
    fn send_into_the_dark(&mut self, from: Place, message: Box<Message>, digest: Digest) -> SendOutcome {
        if self.config.order == Order::Timed && self.random.bool() {
            return self.fail(from, message, digest, Errno::TimedOut);
        }
        self.lose(from.node, digest, "nobody hears it");
        SendOutcome::Done(message, Ok(()))
    }

    fn fail(&mut self, from: Place, message: Box<Message>, digest: Digest, errno: Errno) -> SendOutcome {
        self.counts.failed += 1;
        self.note_of(from.node, || What::Failed(digest, errno));
        self.numbers += 1;
        self.unfinished.insert(self.numbers, Unfinished { from, message, result: Err(errno) });
        let after = if errno == Errno::TimedOut { Duration::from_secs(16) } else { self.latency() };
        self.plan_finish(self.numbers, after);
        SendOutcome::Pending
    }

    fn plan_finish(&mut self, number: u64, after: Duration) {
        let after = if self.config.order == Order::Chosen { Duration::ZERO } else { after };
        let at = self.now() + after;
        self.agenda.plan(at, |_| Due::Finish(number));
    }

    fn latency(&mut self) -> Duration {
        let jitter = self.config.jitter.as_nanos() as u64;
        if self.config.order == Order::Chosen || jitter == 0 {
            return self.config.latency;
        }
        let latency = self.config.latency + Duration::from_nanos(self.random.u64(0..=jitter));
        if self.one_in(self.config.slow_one_in) { latency * 1000 } else { latency }
    }

    fn one_in(&mut self, many: u32) -> bool {
        many > 0 && self.random.u32(0..many) == 0
    }

    /// The sender of a message is to be told now, if it has not been.
    pub(crate) fn take_finished(&mut self, number: u64) -> Option<Finished> {
        let Unfinished { from, message, result } = self.unfinished.remove(&number)?;
        let (_, upcalls) = self.interface(from)?.plugged.as_ref()?;
        Some(Finished { upcalls: Arc::clone(upcalls), node: from.node, message, result })
    }

    // ---- arriving ----

    /// The connections whose next message may arrive now, in an order that does not depend on how it came to be.
    pub(crate) fn ready(&self) -> Vec<LinkKey> {
        let ready = |link: &Link| !link.queue.is_empty() && link.stopped_by.is_none();
        self.links.iter().filter(|(_, link)| ready(link)).map(|(key, _)| *key).collect()
    }

    /// Whether this plan for an arrival still holds.
    pub(crate) fn is_armed(&self, key: LinkKey, token: u64) -> bool {
        self.links.get(&key).is_some_and(|link| link.armed == token && link.stopped_by.is_none())
    }

    /// The next message of a connection, if it gets through.
    pub(crate) fn take_arrival(&mut self, key: LinkKey) -> Option<Arrival> {
        let link = self.links.get_mut(&key)?;
        let parcel = link.queue.pop_front()?;
        let room_for = link.queue.get(WINDOW - 1).map(|parcel| parcel.number);
        if link.queue.is_empty() {
            self.links.remove(&key);
        } else {
            self.arm(key);
        }
        if let Some(number) = room_for {
            self.plan_finish(number, Duration::ZERO);
        }
        let digest = || Digest::of(&parcel.header, parcel.payload.as_deref());
        if self.faults.way(key.from.node, key.to.node) == Way::Blocked {
            self.lose(key.to.node, digest(), "nobody hears it");
            return None;
        }
        if !down_rev::understands(&parcel.header, self.faults.hidden_by(key.to.node)) {
            self.lose(key.to.node, digest(), "the node is of an older version");
            return None;
        }
        let from = self.interface(key.from)?.nid;
        let (ni, upcalls) = self.interface(key.to)?.plugged.as_ref()?;
        let (ni, upcalls) = (Arc::clone(ni), Arc::clone(upcalls));
        if self.trace.is_kept() {
            let digest = digest();
            self.counts.arrived(key.from.node, key.to.node, digest.purpose);
            self.note(key.to.node, What::Arrived(digest));
        }
        Some(Arrival { key, ni, upcalls, from, parcel })
    }

    fn arm(&mut self, key: LinkKey) {
        if self.config.order == Order::Chosen {
            return;
        }
        let Some(link) = self.links.get_mut(&key) else { return };
        let Some(first) = link.queue.front() else { return };
        let at = first.arrives.max(self.clock.now());
        link.armed = self.agenda.plan(at, |token| Due::Arrival(key, token));
    }

    /// A number for a message that has to wait.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Stops a connection at a message that has to wait.
    pub(crate) fn hold(&mut self, number: u64, arrival: Arrival) {
        let Arrival { key, upcalls, parcel, .. } = arrival;
        let digest = Digest::of(&parcel.header, parcel.payload.as_deref());
        self.note_of(key.to.node, || What::Held(digest));
        self.counts.holds += 1;
        self.links.entry(key).or_default().stopped_by = Some(number);
        self.waiting.insert(number, Waiting { key, upcalls, parcel, broken: false });
    }

    /// The message that waited, whose connection goes on now.
    pub(crate) fn take_resumed(&mut self) -> Option<(Waiting, Verdict)> {
        let at = self.resumed.iter().position(|(number, _)| self.waiting.contains_key(number))?;
        let (number, verdict) = self.resumed.remove(at)?;
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
        Some((waiting, verdict))
    }

    /// Messages that wait for a buffer.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    // ---- breaking ----

    /// Ends the connections between two nodes; what is under way on them is lost.
    pub(crate) fn break_between(&mut self, a: NodeId, b: NodeId) {
        let between =
            |key: &&LinkKey| (key.from.node, key.to.node) == (a, b) || (key.from.node, key.to.node) == (b, a);
        let keys: Vec<LinkKey> = self.links.keys().filter(between).copied().collect();
        keys.into_iter().for_each(|key| self.break_link(key, "its connection broke"));
        self.counts.breaks += 1;
    }

    /// Ends one direction of a connection.
    pub(crate) fn break_link(&mut self, key: LinkKey, why: &'static str) {
        let Some(link) = self.links.remove(&key) else { return };
        if let Some(waiting) = link.stopped_by.and_then(|number| self.waiting.get_mut(&number)) {
            waiting.broken = true;
        }
        for parcel in link.queue {
            if let Some(unfinished) = self.unfinished.get_mut(&parcel.number) {
                unfinished.result = Err(Errno::ConnectionReset);
                self.plan_finish(parcel.number, Duration::ZERO);
            }
            let digest = Digest::of(&parcel.header, parcel.payload.as_deref());
            self.lose(key.to.node, digest, why);
        }
    }

    fn lose(&mut self, node: NodeId, digest: Digest, why: &'static str) {
        self.counts.lost += 1;
        if matches!(digest.purpose, Purpose::Push) {
            self.counts.lost_pushes += 1;
        }
        self.note_of(node, || What::Lost(digest, why));
    }

    fn note_of(&mut self, node: NodeId, what: impl FnOnce() -> What) {
        if self.trace.is_kept() {
            self.note(node, what());
        }
    }

    /// Whether nothing is under way but what stands still.
    pub(crate) fn is_idle(&self) -> bool {
        self.unfinished.is_empty() && self.resumed.is_empty() && self.ready().is_empty()
    }
}
