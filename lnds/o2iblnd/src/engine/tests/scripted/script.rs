//! A peer that the test plays: a device without an engine, next to a node that has one.
//!
//! The peer posts every buffer again at once. It counts the credits of both sides, and panics when the engine sends without one or
//! returns too many.

use super::heard::Heard;
use super::peer_memory::PeerMemory;
use crate::conn::Counters;
use crate::decide::admit::LocalNi;
use crate::decide::stamp::stamp_at;
use crate::device::model::ModelDevice;
use crate::device::{ConnId, Device, Event, Setup, WorkId, Write};
use crate::engine::EngineTunables;
use crate::engine::tests::messages::{Memory, pattern};
use crate::engine::tests::rig::{PUT, Rig, get_of, nid_of, tunables};
use crate::proto::test_messages::swapped;
use crate::proto::{Body, ConnParams, MAX_FRAGMENTS, MESSAGE_SIZE, Message, MessageKind, Reject, Version};
use lnet_core::SendFailure;
use lnet_wire::{Body as LnetBody, Header, Nid, Pid};
use std::collections::{HashMap, VecDeque};
use std::net::Ipv4Addr;

pub(crate) const ENGINE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 5);
pub(crate) const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 6);
/// The incarnation of the engine's interface.
pub(crate) const ENGINE_STAMP: u64 = stamp_at(1000);
/// The incarnation of a kernel node's interface.
pub(crate) const KERNEL_STAMP: u64 = 0x0006_60bf_52cc_7a30;
pub(crate) const PARAMS: ConnParams =
    ConnParams { queue_depth: 8, max_fragments: MAX_FRAGMENTS as u16, max_message_size: 4096 };

/// What the peer's device has for a connection: more than enough.
const ROOM: Setup = Setup::new(64, MAX_FRAGMENTS as u16);

/// The engine's answer to a connection request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Accepted(Version, ConnParams),
    Rejected(Reject),
}

/// One node, and the peer.
pub(crate) struct Script {
    pub(crate) rig: Rig,
    pub(crate) device: ModelDevice,
    /// The engine's interface.
    pub(crate) engine: LocalNi,
    /// The interface that the peer plays.
    pub(crate) nid: Nid,
    pub(crate) stamp: u64,
    pub(crate) version: Version,
    /// Whether the peer is a big-endian machine.
    pub(crate) is_big_endian: bool,
    /// The connection that is used.
    pub(crate) conn: Option<ConnId>,
    /// The engine's connection requests that are not answered.
    pub(crate) requests: VecDeque<(ConnId, Vec<u8>)>,
    /// The private data of what the engine has accepted.
    pub(crate) acceptances: VecDeque<(ConnId, Vec<u8>)>,
    /// The private data of what the engine has refused.
    pub(crate) refusals: VecDeque<Vec<u8>>,
    heard: Vec<Heard>,
    /// The connections that the engine, or the device, has ended.
    pub(crate) closed: usize,
    /// Of each connection its depth, the credits that the engine has, and those of the peer.
    credits: HashMap<ConnId, [i32; 3]>,
    /// What the device knows, which lasts as long as it may use it.
    memories: Vec<PeerMemory>,
    last_work: u32,
}

impl Script {
    /// A node of depth 8, and a peer of this library.
    pub(crate) fn new() -> Self {
        Self::with(PEER, 8, tunables())
    }

    /// A node with its depth and tunables, and the address of the peer.
    pub(crate) fn with(peer: Ipv4Addr, depth: u16, tunables: EngineTunables) -> Self {
        let engine = LocalNi { nid: nid_of(ENGINE), stamp: ENGINE_STAMP, depth };
        Self::between(engine, tunables, nid_of(peer), peer)
    }

    /// A node, and a peer with its address.
    pub(crate) fn between(engine: LocalNi, tunables: EngineTunables, nid: Nid, peer: Ipv4Addr) -> Self {
        let mut rig = Rig::with([], tunables);
        rig.start_at(0, engine, tunables);
        let mut device = rig.net.device(peer).unwrap();
        device.listen().unwrap();
        Self {
            rig,
            device,
            engine,
            nid,
            stamp: stamp_at(2000),
            version: Version::V2,
            is_big_endian: false,
            conn: None,
            requests: VecDeque::new(),
            acceptances: VecDeque::new(),
            refusals: VecDeque::new(),
            heard: vec![],
            closed: 0,
            credits: HashMap::new(),
            memories: vec![],
            last_work: 0,
        }
    }

    /// A node that the peer has connected to.
    pub(crate) fn connected() -> Self {
        let mut script = Self::new();
        script.connect();
        script
    }

    /// Connects to the engine.
    pub(crate) fn connect(&mut self) {
        let version = self.version;
        assert_eq!(self.ask(|_| ()), Answer::Accepted(version, PARAMS));
    }

    /// Asks the engine for a connection, with a CONNREQ in which something is changed.
    pub(crate) fn ask(&mut self, change: impl FnOnce(&mut Message<'_>)) -> Answer {
        self.request(change);
        self.settle();
        self.answer()
    }

    /// Sends a CONNREQ in which something is changed, and lets nothing happen.
    pub(crate) fn request(&mut self, change: impl FnOnce(&mut Message<'_>)) -> ConnId {
        let mut request = Message { dst_stamp: 0, ..self.message(0, Body::ConnReq(PARAMS)) };
        change(&mut request);
        self.request_bytes(&self.encoded(&request))
    }

    /// Asks for a connection with any private data, and lets nothing happen.
    pub(crate) fn request_bytes(&mut self, private_data: &[u8]) -> ConnId {
        self.device.connect(self.rig.ends[0].address, ROOM, private_data).unwrap()
    }

    /// The engine's answer to the oldest request.
    pub(crate) fn answer(&mut self) -> Answer {
        if let Some(data) = self.refusals.pop_front() {
            return Answer::Rejected(Reject::decode(&data).unwrap());
        }
        let (conn, data) = self.acceptances.pop_front().unwrap();
        let message = Message::decode(&data).unwrap();
        let Body::ConnAck(params) = message.body else { panic!("{message:?}") };
        assert_eq!((message.dst_nid, message.dst_stamp), (self.nid, self.stamp));
        assert!(self.credits.contains_key(&conn));
        Answer::Accepted(message.version, params)
    }

    /// Accepts the engine's request for what it asks for.
    pub(crate) fn accept(&mut self) {
        self.accept_with(|_| ());
    }

    /// Accepts the engine's request with a CONNACK in which something is changed.
    pub(crate) fn accept_with(&mut self, change: impl FnOnce(&mut Message<'_>)) {
        let (conn, data) = self.requests.pop_front().expect("a request");
        let request = Message::decode(&data).unwrap();
        let Body::ConnReq(params) = request.body else { panic!("{request:?}") };
        let mut ack = Message { version: request.version, ..self.message(0, Body::ConnAck(params)) };
        change(&mut ack);
        let bytes = self.encoded(&ack);
        self.accept_bytes(conn, &bytes);
    }

    /// Accepts a connection with any private data.
    pub(crate) fn accept_bytes(&mut self, conn: ConnId, private_data: &[u8]) {
        self.agree(conn, private_data);
        self.device.accept(conn, ROOM, private_data).unwrap();
        self.settle();
    }

    /// Refuses the engine's request with any reason and private data.
    pub(crate) fn refuse(&mut self, reason: u16, private_data: &[u8]) {
        let (conn, _) = self.requests.pop_front().expect("a request");
        self.device.refuse(conn, reason, private_data.to_vec());
        self.settle();
    }

    /// A message to the engine.
    pub(crate) fn message<'b>(&self, credits: u8, body: Body<'b>) -> Message<'b> {
        Message {
            version: self.version,
            credits,
            src_nid: self.nid,
            src_stamp: self.stamp,
            dst_nid: self.engine.nid,
            dst_stamp: self.engine.stamp,
            body,
        }
    }

    /// The bytes of a message, as the peer's machine writes them.
    pub(crate) fn encoded(&self, message: &Message<'_>) -> Vec<u8> {
        let mut bytes = vec![0; MESSAGE_SIZE];
        let len = message.encode(&mut bytes).unwrap();
        bytes.truncate(len);
        if self.is_big_endian { swapped(&bytes) } else { bytes }
    }

    /// Sends a message.
    pub(crate) fn say(&mut self, body: Body<'_>) {
        self.say_with(0, &[], body);
    }

    /// Sends a message that returns credits, behind RDMA WRITEs.
    pub(crate) fn say_with(&mut self, credits: u8, writes: &[Write], body: Body<'_>) {
        let bytes = self.encoded(&self.message(credits, body));
        self.say_bytes(writes, &bytes);
    }

    /// Sends any bytes.
    pub(crate) fn say_bytes(&mut self, writes: &[Write], bytes: &[u8]) {
        self.post(writes, bytes);
        self.settle();
    }

    /// Sends any bytes, and lets nothing happen.
    pub(crate) fn post(&mut self, writes: &[Write], bytes: &[u8]) {
        let conn = self.conn.expect("a connection");
        if let Ok(message) = Message::decode(bytes)
            && let Some([_, engine, peer]) = self.credits.get_mut(&conn)
        {
            *engine += i32::from(message.credits);
            *peer -= i32::from(message.body.kind().costs_credit(self.version));
        }
        self.last_work += 1;
        self.device.post_send(conn, WorkId(self.last_work), writes, bytes).unwrap();
    }

    /// An IMMEDIATE with a PUT of the usual pattern.
    pub(crate) fn say_put(&mut self, credits: u8, len: usize) {
        let (header, payload) = (self.put_header(len), pattern(len));
        self.say_with(credits, &[], Body::Immediate { header, payload: &payload });
    }

    pub(crate) fn put_header(&self, len: usize) -> Header {
        self.header(len, PUT)
    }

    /// The header of the GET with this number.
    pub(crate) fn get_header(&self, number: u64, len: usize) -> Header {
        self.header(0, get_of(number, len))
    }

    pub(crate) fn header(&self, payload_length: usize, body: LnetBody) -> Header {
        Header {
            dest_nid: self.engine.nid,
            src_nid: self.nid,
            dest_pid: Pid::LUSTRE,
            src_pid: Pid::LUSTRE,
            payload_length: payload_length as u32,
            body,
        }
    }

    /// Memory that the device knows.
    pub(crate) fn memory(&mut self, bytes: Vec<u8>) -> PeerMemory {
        let memory = PeerMemory::new(bytes, &mut self.device);
        self.memories.push(memory.clone());
        memory
    }

    /// The engine's core sends a PUT.
    pub(crate) fn put(&mut self, len: usize) -> u64 {
        self.put_from(len, 1)
    }

    /// The engine's core sends a PUT from memory in several pieces.
    pub(crate) fn put_from(&mut self, len: usize, pieces: usize) -> u64 {
        let id = self.rig.send(0, self.nid, PUT, Memory::scattered(&pattern(len), pieces, None));
        self.settle();
        id
    }

    /// The engine's core sends the GET with this number.
    pub(crate) fn get(&mut self, number: u64, len: usize) -> u64 {
        let id = self.rig.send(0, self.nid, get_of(number, len), Memory::new(vec![0; len]));
        self.settle();
        id
    }

    /// The messages that the peer has received since the last call.
    pub(crate) fn hear(&mut self) -> Vec<Heard> {
        std::mem::take(&mut self.heard)
    }

    /// The same messages, which stay.
    pub(crate) fn heard_so_far(&self) -> impl Iterator<Item = &Heard> {
        self.heard.iter()
    }

    /// The types of messages, and the credits in them.
    pub(crate) fn hear_kinds(&mut self) -> Vec<(MessageKind, u8)> {
        self.hear().iter().map(|heard| (heard.kind(), heard.message().credits)).collect()
    }

    /// The only message since the last call.
    pub(crate) fn hear_one(&mut self, kind: MessageKind) -> Heard {
        let heard = self.hear();
        assert_eq!(heard.iter().map(Heard::kind).collect::<Vec<_>>(), [kind]);
        heard.into_iter().next().unwrap()
    }

    /// The result of a message of the engine's core, if it has ended.
    pub(crate) fn result(&self, id: u64) -> Option<Result<(), SendFailure>> {
        self.rig.ends[0].ended.get(&id).copied()
    }

    pub(crate) fn counters(&self) -> Counters {
        self.rig.counters(0)
    }

    /// What has happened at the engine's device, which the engine does not hear of but by [`Self::feed`].
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        let mut events = vec![];
        self.rig.ends[0].device.poll(&mut events);
        events
    }

    /// Something happens at the engine's device.
    pub(crate) fn feed(&mut self, event: Event) {
        self.hold(event);
        self.settle();
    }

    /// Something happens at the engine's device, and nothing else.
    pub(crate) fn hold(&mut self, event: Event) {
        let (now, end) = (self.rig.now, &mut self.rig.ends[0]);
        end.engine.event(event, &mut end.device, now);
    }

    /// Lets everything happen that happens without time.
    pub(crate) fn settle(&mut self) {
        while self.rig.step() | self.poll() {}
    }

    /// Lets time pass.
    pub(crate) fn tick(&mut self, by: std::time::Duration) {
        self.rig.tick(by);
        self.settle();
    }

    /// The peer ends its connection.
    pub(crate) fn hang_up(&mut self) {
        let conn = self.conn.take().expect("a connection");
        self.device.disconnect(conn);
        self.device.destroy(conn);
        self.settle();
    }

    /// The peer ends all its connections.
    pub(crate) fn hang_up_all(&mut self) {
        self.conn = None;
        for (conn, _) in self.credits.drain() {
            self.device.disconnect(conn);
            self.device.destroy(conn);
        }
        self.settle();
    }

    /// The credits that the engine has on each connection, in order.
    pub(crate) fn credits_of_engine(&self) -> Vec<i32> {
        let mut conns: Vec<_> = self.credits.iter().collect();
        conns.sort_unstable();
        conns.into_iter().map(|(_, [_, engine, _])| *engine).collect()
    }

    /// Ends the node; nothing of it may be left.
    pub(crate) fn end(self) {
        let Self { rig, mut device, memories, .. } = self;
        rig.end();
        memories.iter().for_each(|memory| device.deregister(memory.registration));
    }

    /// Uses a connection from now on whose CONNACK this is.
    fn agree(&mut self, conn: ConnId, private_data: &[u8]) {
        if let Ok(Message { version, body: Body::ConnAck(params), .. }) = Message::decode(private_data) {
            (self.version, self.conn) = (version, Some(conn));
            self.credits.insert(conn, [params.queue_depth.into(); 3]);
        }
    }

    fn poll(&mut self) -> bool {
        let mut events = vec![];
        self.device.poll(&mut events);
        let worked = !events.is_empty();
        for event in events {
            match event {
                Event::Request { conn, private_data } => self.requests.push_back((conn, private_data)),
                Event::Established { conn, private_data } if !private_data.is_empty() => {
                    self.agree(conn, &private_data);
                    self.acceptances.push_back((conn, private_data));
                }
                Event::Rejected { conn, private_data, .. } => {
                    self.device.destroy(conn);
                    self.refusals.push_back(private_data);
                }
                Event::Failed { conn, .. }
                | Event::Disconnected { conn }
                | Event::WorkFailed { conn, .. } => {
                    self.device.destroy(conn);
                    self.requests.retain(|(its, _)| *its != conn);
                    self.conn.take_if(|its| *its == conn);
                    self.closed += 1;
                }
                Event::Received { conn, slot, len } => {
                    let heard = Heard { conn, bytes: self.device.received(conn, slot, len).to_vec() };
                    self.device.post_receive(conn, slot).unwrap();
                    self.count(&heard);
                    self.heard.push(heard);
                }
                Event::Established { .. } | Event::Sent { .. } | Event::Port(_) => {}
            }
        }
        worked
    }

    fn count(&mut self, heard: &Heard) {
        let (message, version) = (heard.message(), self.version);
        assert_eq!((message.src_nid, message.dst_nid), (self.engine.nid, self.nid));
        let stamps = (message.src_stamp, message.dst_stamp, message.version);
        assert_eq!(stamps, (self.engine.stamp, self.stamp, version));
        let Some([depth, engine, peer]) = self.credits.get_mut(&heard.conn) else { return };
        *engine -= i32::from(message.body.kind().costs_credit(version));
        assert!(*engine >= 0, "{:?} without a credit", message.body);
        *peer += i32::from(message.credits);
        assert!(peer <= depth, "{peer} credits of {depth}");
    }
}
