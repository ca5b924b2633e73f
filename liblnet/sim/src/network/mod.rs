//! The network between the nodes: interfaces, connections, what is under way.
//!
//! Messages of one connection arrive in their order; messages of different connections in any. A node's driver
//! is told that a message has left when the socket would have taken it, whether it arrives or not.

mod arriving;
mod breaking;
mod sending;

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
}
