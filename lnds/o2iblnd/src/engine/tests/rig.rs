//! Engines on a model of devices, with a core that is a few lines.

use super::super::{Engine, EngineTunables};
use super::messages::{Memory, TestArrival, TestMessage, pattern};
use crate::conn::{ConnTunables, Counters, Decision, Ended, Output, RxId};
use crate::decide::admit::LocalNi;
use crate::decide::stamp::stamp_at;
use crate::device::model::{ModelDevice, ModelNet};
use crate::device::{Device, Event};
use crate::memory::OnDemandPaging;
use crate::message::Arriving;
use lnet_core::{Errno, SendFailure, Time};
use lnet_wire::nid::Address;
use lnet_wire::{Body, Header, Nid, WireHandle};
use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;
use std::time::Duration;

pub(crate) const TIMEOUT: Duration = Duration::from_secs(16);
pub(crate) const KEEPALIVE: Duration = Duration::from_secs(100);

/// What the test's core does with requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    Deliver,
    Discard,
    /// Nothing is decided: [`End::decide_all`] follows.
    Defer,
    Reject,
}

/// One node.
pub(crate) struct End {
    pub(crate) nid: Nid,
    pub(crate) address: Ipv4Addr,
    pub(crate) engine: Engine<TestMessage, TestArrival>,
    pub(crate) device: ModelDevice,
    pub(crate) policy: Policy,
    /// The bytes that are wanted of a PUT, at most.
    pub(crate) takes: usize,
    /// The bytes that a REPLY has, at most.
    pub(crate) gives: usize,
    /// The pieces of the memory for PUTs and of REPLYs.
    pub(crate) pieces: usize,
    /// The payload of the next REPLY, if it is not of the pattern.
    pub(crate) next_reply: Option<Vec<u8>>,
    /// The payloads that have arrived, if they are not of the pattern.
    pub(crate) foreign: Option<Vec<Vec<u8>>>,
    /// The messages of this node that have ended, with the result.
    pub(crate) ended: BTreeMap<u64, Result<(), SendFailure>>,
    /// The lengths of payloads that have arrived intact, or the error.
    pub(crate) arrived: Vec<Result<usize, Errno>>,
    /// The match bits of PUTs that have arrived intact.
    pub(crate) arrived_puts: Vec<u64>,
    pub(crate) connected: u32,
    /// The reports that the other node is unresponsive, since it last was responsive.
    pub(crate) unresponsive: u32,
    pub(crate) lost: Vec<Ended>,
    pub(crate) refused: Vec<String>,
    pub(crate) waiting: Vec<(RxId, Header)>,
    replies: Vec<TestMessage>,
    /// The memory of GETs without a REPLY.
    gets: HashMap<WireHandle, Memory>,
    /// The messages, and the memory for messages of peers, that the engine has.
    pub(crate) held: [usize; 2],
}

/// Nodes with the addresses 10.0.0.1, 10.0.0.2, and so on.
pub(crate) struct Rig {
    pub(crate) net: ModelNet,
    pub(crate) ends: Vec<End>,
    pub(crate) now: Time,
    next: u64,
}

/// The LNet part of a PUT that wants no ACK.
pub(crate) const PUT: Body = Body::Put { ack: None, match_bits: 0, hdr_data: 0, portal: 0, offset: 0 };

/// The LNet part of the GET with this number.
pub(crate) fn get_of(number: u64, len: usize) -> Body {
    let reply = WireHandle { interface_cookie: 1, object_cookie: number };
    Body::Get { reply, match_bits: 0, portal: 0, offset: 0, sink_length: len as u32 }
}

pub(crate) fn nid_of(address: Ipv4Addr) -> Nid {
    Nid::new("o2ib".parse().unwrap(), address.into())
}

pub(crate) fn tunables() -> EngineTunables {
    EngineTunables {
        conn: ConnTunables { high_water: 0, concurrent_sends: 0, pieces: 2, checksum: false },
        conns_per_peer: 1,
        unresponsive: Duration::ZERO,
        keepalive: KEEPALIVE,
        bounce_below: 8192,
        cached_registrations: 64,
        on_demand_paging: OnDemandPaging::Fallback,
    }
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with([8, 8], tunables())
    }

    /// Nodes with these queue depths.
    pub(crate) fn with<const N: usize>(depths: [u16; N], tunables: EngineTunables) -> Self {
        let net = ModelNet::default();
        let mut rig = Self { net, ends: vec![], now: Time(Duration::from_secs(1000)), next: 0 };
        for (index, depth) in depths.into_iter().enumerate() {
            rig.start(index, depth, tunables);
        }
        rig
    }

    /// Starts a node, or starts it again with another incarnation.
    pub(crate) fn start(&mut self, index: usize, depth: u16, tunables: EngineTunables) {
        self.next += 1;
        let nid = nid_of(Ipv4Addr::new(10, 0, 0, index as u8 + 1));
        self.start_at(index, LocalNi { nid, stamp: stamp_at(self.next), depth }, tunables);
    }

    /// Starts a node with this address and incarnation.
    pub(crate) fn start_at(&mut self, index: usize, local: LocalNi, tunables: EngineTunables) {
        let nid = local.nid;
        let Address::Short(address) = nid.address() else { panic!("{nid}") };
        let address = Ipv4Addr::from(address);
        // A device that is left behind would take the new one's port with it.
        if index < self.ends.len() {
            self.ends.remove(index);
        }
        let mut device = self.net.device(address).unwrap();
        device.listen().unwrap();
        let end = End {
            nid,
            address,
            engine: Engine::new(local, tunables, TIMEOUT),
            device,
            policy: Policy::Deliver,
            takes: usize::MAX,
            gives: usize::MAX,
            pieces: 1,
            next_reply: None,
            foreign: None,
            ended: BTreeMap::new(),
            arrived: vec![],
            arrived_puts: vec![],
            connected: 0,
            unresponsive: 0,
            lost: vec![],
            refused: vec![],
            waiting: vec![],
            replies: vec![],
            gets: HashMap::new(),
            held: [0, 0],
        };
        self.ends.insert(index, end);
    }

    pub(crate) fn put(&mut self, from: usize, to: usize, len: usize) -> u64 {
        self.send(from, self.ends[to].nid, PUT, Memory::new(pattern(len)))
    }

    /// A GET of as many bytes as are there.
    pub(crate) fn get(&mut self, from: usize, to: usize, len: usize) -> u64 {
        self.send(from, self.ends[to].nid, get_of(self.next, len), Memory::new(vec![0; len]))
    }

    /// Sends a message, whatever it is; returns its number.
    pub(crate) fn send(&mut self, from: usize, to: Nid, body: Body, memory: Memory) -> u64 {
        self.next += 1;
        let end = &mut self.ends[from];
        if let Body::Get { reply, .. } = body {
            end.gets.insert(reply, memory.clone());
        }
        end.send(TestMessage::new(self.next, end.nid, to, body, memory), self.now);
        self.next
    }

    /// Lets everything happen that happens without time.
    pub(crate) fn settle(&mut self) {
        while self.step() {}
    }

    /// One turn of each node; whether anything happened.
    pub(crate) fn step(&mut self) -> bool {
        let now = self.now;
        self.ends.iter_mut().fold(false, |worked, end| end.step(now) | worked)
    }

    pub(crate) fn tick(&mut self, by: Duration) {
        self.now = Time(self.now.0 + by);
        for end in &mut self.ends {
            end.engine.tick(&mut end.device, self.now);
        }
        self.settle();
    }

    pub(crate) fn abort(&mut self, index: usize) {
        let end = &mut self.ends[index];
        end.engine.abort(None, lnet_core::Cause::NetworkTimeout, &|_| true, &mut end.device, self.now);
    }

    /// One turn of a node; whether anything happened.
    pub(crate) fn step_one(&mut self, index: usize) -> bool {
        self.ends[index].step(self.now)
    }

    pub(crate) fn decide_all(&mut self, index: usize) {
        let now = self.now;
        let end = &mut self.ends[index];
        for (rx, header) in std::mem::take(&mut end.waiting) {
            end.decide(rx, header, Policy::Deliver, now);
        }
        self.settle();
    }

    /// Ends all nodes; nothing may be left.
    pub(crate) fn end(mut self) {
        (0..self.ends.len()).for_each(|index| self.shut_down(index));
    }

    /// Ends a node; nothing of it may be left.
    pub(crate) fn shut_down(&mut self, index: usize) {
        let end = &mut self.ends[index];
        end.policy = Policy::Discard;
        end.carry_out(self.now);
        end.engine.shut_down(&mut end.device, self.now);
        end.carry_out(self.now);
        // Requests that the engine has not heard of end with the device.
        let mut unheard = vec![];
        end.device.poll(&mut unheard);
        for event in unheard {
            if let Event::Request { conn, .. } = event {
                end.device.destroy(conn);
            }
        }
        assert_eq!((self.net.registered(end.address), self.net.conns(end.address)), (0, 0));
        assert_eq!(end.held, [0, 0], "messages and memory that the engine still has");
    }

    pub(crate) fn counters(&self, index: usize) -> Counters {
        self.ends[index].engine.counters().0
    }
}

impl End {
    fn send(&mut self, message: TestMessage, now: Time) {
        self.held[0] += 1;
        self.engine.send(message, &mut self.device, now);
    }

    fn step(&mut self, now: Time) -> bool {
        let mut events: Vec<Event> = vec![];
        self.device.poll(&mut events);
        let has_events = !events.is_empty();
        for event in events {
            self.engine.event(event, &mut self.device, now);
        }
        self.carry_out(now) || has_events
    }

    /// Carries out what the engine says; whether it said anything.
    fn carry_out(&mut self, now: Time) -> bool {
        let mut worked = false;
        loop {
            let outputs = self.engine.take_outputs();
            if outputs.is_empty() && self.replies.is_empty() {
                return worked;
            }
            worked = true;
            outputs.into_iter().for_each(|output| self.pass(output, now));
            for reply in std::mem::take(&mut self.replies) {
                self.send(reply, now);
            }
        }
    }

    fn pass(&mut self, output: Output<TestMessage, TestArrival>, now: Time) {
        match output {
            Output::Finalize(message, result) => {
                self.held[0] -= 1;
                let earlier = self.ended.insert(message.id, result);
                assert!(earlier.is_none() || message.id == 0, "{} ended twice", message.id);
            }
            Output::Receive { rx, header, .. } => match self.policy {
                Policy::Defer => self.waiting.push((rx, header)),
                policy => self.decide(rx, header, policy, now),
            },
            Output::Received(arrival, result) => self.received(arrival, result),
            Output::Connected { conn, peer, .. } => {
                self.connected += 1;
                self.engine.reported(conn, peer, |_| false, &mut self.device, now);
            }
            Output::Port(_) => {}
            Output::Unresponsive { .. } => self.unresponsive += 1,
            Output::Responsive { .. } => self.unresponsive = 0,
            Output::Ended { reason, .. } => self.lost.push(reason),
            Output::NotConnected { reason, .. } => self.refused.push(reason),
        }
    }

    pub(crate) fn decide(&mut self, rx: RxId, header: Header, policy: Policy, now: Time) {
        let is_response = matches!(header.body, Body::Reply { .. } | Body::Ack { .. });
        let decision = match policy {
            Policy::Discard => Decision::Discard,
            Policy::Reject if !is_response => Decision::Reject("a test's violation".to_owned()),
            _ => self.memory_for(&header).map_or(Decision::Discard, |memory| {
                self.held[1] += 1;
                Decision::Deliver(TestArrival::new(header, memory))
            }),
        };
        self.engine.decided(rx, decision, &mut self.device, now);
    }

    /// The memory for a message, unless it is the REPLY to a GET that is not there.
    fn memory_for(&mut self, header: &Header) -> Option<Memory> {
        let len = self.takes.min(header.payload_length as usize);
        match header.body {
            Body::Reply { handle } => self.gets.remove(&handle),
            _ => Some(Memory::scattered(&vec![0; len], self.pieces, None)),
        }
    }

    fn received(&mut self, arrival: TestArrival, result: Result<(), Errno>) {
        self.held[1] -= 1;
        let header = arrival.header;
        if let (Body::Get { reply: handle, sink_length, .. }, Ok(())) = (header.body, result) {
            let usual = || pattern(self.gives.min(sink_length as usize));
            let payload = self.next_reply.take().unwrap_or_else(usual);
            let memory = Memory::scattered(&payload, self.pieces, None);
            let reply = TestMessage::new(0, header.dest_nid, header.src_nid, Body::Reply { handle }, memory);
            return self.replies.push(reply);
        }
        let len = arrival.payload_len();
        if let (Body::Put { match_bits, .. }, Ok(())) = (header.body, result) {
            self.arrived_puts.push(match_bits);
        }
        match &mut self.foreign {
            Some(foreign) => foreign.extend(result.is_ok().then(|| arrival.bytes())),
            None => assert!(result.is_err() || arrival.is_intact(), "{len} bytes are wrong"),
        }
        self.arrived.push(result.map(|()| len));
    }
}
