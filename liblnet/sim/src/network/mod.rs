//! The network between the nodes: interfaces, connections, messages under way.
//!
//! Messages of one connection arrive in their order; messages of different connections in any. [`Delivery`] says when a
//! node's driver completes a message.

mod ack;
mod arrival;
mod confirmations;
mod conn_error;
mod connection_loss;
mod freeze;
mod meetings;
mod parts;
mod receptions;
mod sending;
mod traffic;
mod unresponsive;

pub(crate) use confirmations::Confirmed;
pub use confirmations::Notice;
pub(crate) use conn_error::ConnError;
pub(crate) use meetings::Meeting;
pub use parts::Parts;
pub(crate) use receptions::{NextPart, Part, Reception};
pub(crate) use unresponsive::{Finding, PathCheck};

use crate::counts::Counts;
use crate::digest::{Digest, Purpose};
use crate::down_rev;
use crate::events::{EventQueue, SimEvent};
use crate::families::Families;
use crate::faults::{FaultPoint, Faults, PathEnd};
use crate::link::{InterfaceId, LinkKey};
use crate::match_bits::{OpId, operation_of};
use crate::trace::{NodeId, Trace, TraceEvent};
use crate::traffic::{Busy, Traffic};
use lnet_core::lnd::{RxAction, SendOutcome, Upcalls};
use lnet_core::{
    CarriedOrigin, Clock, Errno, ManualClock, Ni, OutgoingMessage, Pooled, Provenance, SendFailure, Time,
};
use lnet_wire::{Body, Header, Nid};
use lolnd::copy::payload_of;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

/// Number of messages that the sockets of one connection take before the receiver has read any.
const WINDOW: usize = 16;

/// The order of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By time: every message arrives after its own latency.
    Timed,
    /// By choice of the caller, message by message. The clock stands still while anything is in flight.
    Chosen,
}

/// The time when the driver reports that a message was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// During the call that sends it, as when the socket accepts it at once.
    AtOnce,
    /// Some time later, perhaps after the response.
    Later,
}

/// The moment when a message counts as sent, and its treatment if its connection ends before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// When the socket has accepted it: a message that is lost in flight is lost without a report to its sender, as between
    /// kernels.
    Socket,
    /// When its receiver has it. If the connection ends before, the message is returned, and the receiver would take a second
    /// copy for another message, as a kernel does.
    Kernel,
    /// When its receiver has it. If the connection ends before, the message is returned, and the receiver recognises a second
    /// copy.
    Acked,
}

/// The properties of a network.
#[derive(Clone, Copy, Debug)]
pub struct NetworkConfig {
    /// The order in which messages arrive.
    pub order: Order,
    /// Minimum latency.
    pub latency: Duration,
    /// Maximum random addition to the latency.
    pub jitter: Duration,
    /// The number of messages of which one takes a thousand times the latency; 0: none does.
    pub slow_one_in: u32,
    /// The time when senders get the result.
    pub completion: Completion,
    /// Number of connections between two interfaces; messages take turns on them.
    pub connections: u8,
    /// The number of messages of which one breaks its connection; 0: none does.
    pub breaks_one_in: u32,
    /// The moment when messages count as sent.
    pub delivery: Delivery,
    /// The way in which large payloads arrive that pass routers, with [`Delivery::Acked`]; `None`: as a whole.
    pub parts: Option<Parts>,
    /// The bytes of payload that each interface sends, and receives, in a second; `None`: messages take no time but their
    /// latency. Headers, delivery ACKs and payloads in parts take none.
    pub rate: Option<NonZeroU64>,
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
            delivery: Delivery::Socket,
            parts: None,
            rate: None,
        }
    }
}

struct Interface {
    nid: Nid,
    /// The core's NI and upcalls; `None` once the interface is removed.
    plugged: Option<(Arc<Ni>, Arc<dyn Upcalls>)>,
}

#[derive(Default)]
struct Link {
    queue: VecDeque<InFlight>,
    /// The number of the message that the receiver does not read yet.
    stopped_by: Option<u64>,
    /// The token of the plan for the arrival of its first message.
    armed: u64,
    /// Whether the connection's messages wait until there is a path again.
    stalled: bool,
    /// Whether all has been read of what the sender has of a message that is arriving there.
    starved: bool,
}

/// A message under way.
pub(crate) struct InFlight {
    pub(crate) header: Header,
    pub(crate) payload: Option<Box<[u8]>>,
    /// The origin of a message that a gateway forwards, or of a copy.
    pub(crate) carried: Option<CarriedOrigin>,
    arrives: Time,
    number: u64,
    name: MessageId,
    /// The state of a payload that arrives in parts.
    progress: Option<parts::Progress>,
}

/// The ID by which a receiver recognises a message that comes again ([`OutgoingMessage::message_id`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageId {
    number: u64,
    /// Whether the message has been sent before.
    again: bool,
}

/// Returns the operation that a message requests.
const fn asked_by(header: &Header) -> Option<OpId> {
    match header.body {
        Body::Put { match_bits, .. } | Body::Get { match_bits, .. } => operation_of(match_bits),
        Body::Ack { .. } | Body::Reply { .. } => None,
    }
}

/// A message that its driver has not returned.
struct Unfinished {
    from: InterfaceId,
    /// The receiver, and the connection of the message; `None` if it has none.
    peer: Nid,
    key: Option<LinkKey>,
    message: Pooled<OutgoingMessage>,
    sent: Time,
    /// Whether any part of the message may have left this node.
    left: bool,
    /// Whether the receiver has the message, and its delivery ACK is pending.
    owed: bool,
    result: Result<(), SendFailure>,
    /// Set if the message is sent while it arrives.
    following: Option<parts::Following>,
}

impl Unfinished {
    /// Whether the message waits for a connection: its peer was down, and nothing got through to it.
    const fn waits_for_connection(&self) -> bool {
        self.key.is_none() && self.result.is_ok()
    }
}

/// A message that was not sent, and its failure.
pub(crate) type Failed = (Pooled<OutgoingMessage>, SendFailure);

/// A message whose result is to be reported to its sender.
pub(crate) struct Finished {
    pub(crate) upcalls: Arc<dyn Upcalls>,
    pub(crate) node: NodeId,
    pub(crate) message: Pooled<OutgoingMessage>,
    pub(crate) result: Result<(), SendFailure>,
}

/// A message that arrives at a node.
pub(crate) struct Arrival {
    pub(crate) key: LinkKey,
    pub(crate) ni: Arc<Ni>,
    pub(crate) upcalls: Arc<dyn Upcalls>,
    pub(crate) from: Nid,
    pub(crate) provenance: Provenance,
    pub(crate) in_flight: InFlight,
}

/// A message that waits for a buffer.
pub(crate) struct Waiting {
    pub(crate) key: LinkKey,
    pub(crate) upcalls: Arc<dyn Upcalls>,
    pub(crate) in_flight: InFlight,
    /// Whether the connection has ended meanwhile.
    pub(crate) broken: bool,
}

pub(crate) struct Network {
    pub(crate) config: NetworkConfig,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) trace: Trace,
    pub(crate) counts: Counts,
    pub(crate) faults: Faults,
    pub(crate) families: Families,
    pub(crate) events: EventQueue,
    /// The core's decisions about messages that waited.
    pub(crate) resumed: VecDeque<(u64, RxAction)>,
    random: fastrand::Rng,
    interfaces: Vec<Vec<Interface>>,
    by_nid: HashMap<Nid, InterfaceId>,
    links: BTreeMap<LinkKey, Link>,
    turns: HashMap<(InterfaceId, InterfaceId), u8>,
    unfinished: BTreeMap<u64, Unfinished>,
    waiting: BTreeMap<u64, Waiting>,
    numbers: u64,
    /// Time of the last event that was not a ping: nodes ping unhealthy interfaces for ever.
    pub(crate) last_business: Time,
    /// Connections that are up, by [`LinkKey::connection`].
    connected: BTreeSet<LinkKey>,
    /// Connections that the receiver has ended; their senders cannot be notified.
    orphaned: BTreeSet<LinkKey>,
    /// Connections that have ended, each as the direction whose sender does not know it.
    untold_ends: Vec<LinkKey>,
    /// Paths with messages under way, and the time since which nothing has been heard on them.
    path_checks: BTreeMap<(InterfaceId, Nid), Option<Time>>,
    /// Events of frozen nodes, postponed.
    postponed: Vec<SimEvent>,
    /// Operations whose request was sent, even if it was lost.
    pub(crate) attempted: HashSet<OpId>,
    /// Numbers by which others know the present incarnation of each node.
    identities: HashMap<NodeId, NonZeroU64>,
    confirmations: BTreeMap<u64, confirmations::InFlightConfirmation>,
    /// Names of the messages that each node has received in its present incarnation.
    taken: HashMap<NodeId, HashSet<u64>>,
    /// The interface that each interface has met last under each NID.
    met: HashMap<(InterfaceId, Nid), InterfaceId>,
    /// Messages that are being read in parts.
    receptions: BTreeMap<u64, Reception>,
    /// Receptions of messages that arrive again.
    pub(crate) superseded: Vec<u64>,
    /// Payloads as their sources have sent them, by the number of the message there.
    sources: HashMap<u64, Vec<Box<[u8]>>>,
    /// The numbers of those that have reached their destinations: copies of them are not compared.
    delivered: HashSet<u64>,
    pub(crate) busy: Busy,
    /// The traffic of interfaces, if it is counted.
    pub(crate) traffic: Option<BTreeMap<Nid, Traffic>>,
}

impl Network {
    pub(crate) fn new(config: NetworkConfig, seed: u64, clock: Arc<ManualClock>, trace: Trace) -> Self {
        let counts = Counts::new(trace.is_kept());
        Self {
            config,
            clock,
            trace,
            counts,
            faults: Faults::default(),
            families: Families::default(),
            events: EventQueue::default(),
            resumed: VecDeque::new(),
            random: fastrand::Rng::with_seed(seed),
            interfaces: Vec::new(),
            by_nid: HashMap::new(),
            links: BTreeMap::new(),
            turns: HashMap::new(),
            unfinished: BTreeMap::new(),
            waiting: BTreeMap::new(),
            numbers: 0,
            last_business: Time::START,
            connected: BTreeSet::new(),
            orphaned: BTreeSet::new(),
            untold_ends: Vec::new(),
            path_checks: BTreeMap::new(),
            postponed: Vec::new(),
            attempted: HashSet::new(),
            identities: HashMap::new(),
            confirmations: BTreeMap::new(),
            taken: HashMap::new(),
            met: HashMap::new(),
            receptions: BTreeMap::new(),
            superseded: Vec::new(),
            sources: HashMap::new(),
            delivered: HashSet::new(),
            busy: Busy::default(),
            traffic: None,
        }
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(crate) fn note(&mut self, node: NodeId, what: TraceEvent) {
        let now = self.now();
        if matches!(what, TraceEvent::Changed(_)) {
            self.last_business = now;
        }
        self.trace.add(now, node, what);
    }

    // ---- interfaces ----

    pub(crate) fn plug_in(&mut self, node: NodeId, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> InterfaceId {
        let at = node.0 as usize;
        if self.interfaces.len() <= at {
            self.interfaces.resize_with(at + 1, Vec::new);
        }
        let place = InterfaceId { node, index: self.interfaces[at].len() as u32 };
        self.interfaces[at].push(Interface { nid: ni.nid(), plugged: Some((Arc::clone(ni), upcalls)) });
        self.by_nid.insert(ni.nid(), place);
        place
    }

    /// Removes an interface. Returns its unfinished messages; messages in flight to the interface are lost, those that it has
    /// sent arrive.
    pub(crate) fn unplug(&mut self, place: InterfaceId) -> (Option<Arc<dyn Upcalls>>, Vec<Failed>) {
        let Some(interface) = self.interface_mut(place) else { return (None, Vec::new()) };
        let (nid, plugged) = (interface.nid, interface.plugged.take());
        if self.by_nid.get(&nid) == Some(&place) {
            self.by_nid.remove(&nid);
        }
        self.hang_up(|key| key.to == place, "the interface is gone");
        let mine = |unfinished: &Unfinished| unfinished.from == place;
        let numbers: Vec<u64> =
            self.unfinished.iter().filter(|(_, it)| mine(it)).map(|(number, _)| *number).collect();
        let deduplicated = self.deduplicates();
        let back = numbers.iter().filter_map(|number| self.unfinished.remove(number));
        let back = back.map(|it| (it.message, ConnError::Shutdown.failure(it.left, deduplicated)));
        (plugged.map(|(_, upcalls)| upcalls), back.collect())
    }

    /// Shuts a node off: nothing reaches it any more, and nothing from it reaches any other.
    pub(crate) fn shut_off(&mut self, node: NodeId) {
        let Some(interfaces) = self.interfaces.get_mut(node.0 as usize) else { return };
        for (index, interface) in (0..).zip(interfaces) {
            let place = InterfaceId { node, index };
            if self.by_nid.get(&interface.nid) == Some(&place) {
                self.by_nid.remove(&interface.nid);
            }
        }
        self.hang_up(|key| key.to.node == node, "the node is down");
        self.cut_short(node);
        let now = self.now();
        self.faults.shut_off(node, now);
        self.taken.remove(&node);
    }

    /// Drops the messages of an earlier incarnation of a node: peers that know the new one do not read them.
    pub(crate) fn forget_earlier_incarnation(&mut self, node: NodeId) {
        let keys: Vec<LinkKey> = self.links.keys().filter(|key| key.from.node == node).copied().collect();
        keys.into_iter().for_each(|key| self.break_link(key, "it is of an earlier incarnation"));
    }

    /// Puts a message into the network that no node has sent, from one interface to another.
    pub(crate) fn inject(&mut self, header: Header, payload: Option<Box<[u8]>>) {
        let place = |nid| self.by_nid.get(&nid).copied();
        let (Some(from), Some(to)) = (place(header.src_nid), place(header.dest_nid)) else { return };
        self.numbers += 1;
        let arrives = self.now() + self.config.latency;
        // The push uses a separate connection, so it does not wait behind messages of a node.
        let key = LinkKey { from, to, lane: u8::MAX };
        let link = self.links.entry(key).or_default();
        let name = MessageId { number: self.numbers, again: false };
        link.queue.push_back(InFlight {
            header,
            payload,
            carried: None,
            arrives,
            number: self.numbers,
            name,
            progress: None,
        });
        if link.queue.len() == 1 && link.stopped_by.is_none() {
            self.arm(key);
        }
    }

    /// The node that has this NID now.
    pub(crate) fn owner(&self, nid: Nid) -> Option<NodeId> {
        self.by_nid.get(&nid).map(|place| place.node)
    }

    fn interface(&self, place: InterfaceId) -> Option<&Interface> {
        self.interfaces.get(place.node.0 as usize)?.get(place.index as usize)
    }

    fn interface_mut(&mut self, place: InterfaceId) -> Option<&mut Interface> {
        self.interfaces.get_mut(place.node.0 as usize)?.get_mut(place.index as usize)
    }
}
