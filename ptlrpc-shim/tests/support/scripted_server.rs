//! A server whose every message a test decides.

#![allow(unreachable_pub, dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lnet as _;
use ptlrpc::clock::ManualClock;
use ptlrpc::lnet::{
    Ack, Event, EventHandler, EventKind, MatchCriteria, Md, MdSpec, Node, ProcessId, Region, RegionSlice,
};
use ptlrpc::message::body::ExportCookie;
use ptlrpc::message::checksum::seal_early_reply;
use ptlrpc::message::header::BODY_ONLY_LEN;
use ptlrpc::message::portal::Portals;
use ptlrpc::message::{
    Body, BodyFlags, ConnectData, ConnectOps, ConnectReply, ConnectRequest, Message, MessageFlags,
    MessageMut, Opcode, Xid, size_of_message,
};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const BUFFER_LEN: usize = 1 << 20;

/// A scripted object server on this node.
pub struct Server {
    pub node: Arc<Node>,
    requests: Receiver<Received>,
    md: Md,
    /// The server's handle of the connection.
    pub handle: u64,
    connected: bool,
    /// The last reply, and the XID of its request.
    last: Mutex<(Xid, Vec<u8>)>,
}

/// A request that has arrived.
pub struct Received {
    part: RegionSlice,
    pub xid: Xid,
    pub source: ProcessId,
    pub target: ProcessId,
}

struct RequestEvents {
    region: Arc<Region>,
    sender: Mutex<Sender<Received>>,
}

impl EventHandler for RequestEvents {
    fn on_event(&self, event: &Event) {
        if event.kind == EventKind::Put && event.status.is_ok() {
            let start = event.offset as usize;
            // SAFETY: each request has its own bytes in this descriptor.
            let part =
                unsafe { RegionSlice::new(Arc::clone(&self.region), start..start + event.mlength as usize) };
            let received = Received {
                part,
                xid: Xid(event.match_bits),
                source: event.source().unwrap(),
                target: event.target().unwrap(),
            };
            let _ = self.sender.lock().unwrap().send(received);
        }
    }
}

/// Forwards the events of a descriptor.
struct Forward(Mutex<Sender<Event>>);

impl EventHandler for Forward {
    fn on_event(&self, event: &Event) {
        let _ = self.0.lock().unwrap().send(*event);
    }
}

impl Received {
    pub fn message(&self) -> Message<'_> {
        Message::parse(&self.part).unwrap()
    }

    pub fn body(&self) -> Body {
        self.message().body().unwrap()
    }

    pub fn opcode(&self) -> Opcode {
        self.body().opcode
    }

    pub fn is_resent(&self) -> bool {
        self.body().flags.contains(BodyFlags::RESENT)
    }

    pub fn buffer(&self, index: usize) -> Vec<u8> {
        self.message().buffer(index).unwrap().to_vec()
    }

    pub fn len(&self) -> usize {
        self.part.len()
    }

    /// The offset of the reply.
    pub fn reply_offset(&self) -> u32 {
        if self.message().flags().contains(MessageFlags::AT_SUPPORT) { BODY_ONLY_LEN as u32 } else { 0 }
    }
}

impl Server {
    pub fn start(node: &Arc<Node>) -> Self {
        let (sender, requests) = channel();
        let region = Arc::new(Region::zeroed(BUFFER_LEN));
        let spec = MdSpec {
            threshold: None,
            puts: true,
            max_size: Some(16 << 10),
            ..MdSpec::active(Arc::clone(&region), 1)
        };
        let criteria = MatchCriteria { from: None, bits: 0, ignore: u64::MAX };
        let handler = Arc::new(RequestEvents { region, sender: Mutex::new(sender) });
        let md = node.attach(Portals::OST.request.0, criteria, spec, handler).unwrap();
        Self { node: Arc::clone(node), requests, md, handle: 0x77, connected: false, last: Mutex::default() }
    }

    /// Returns the next request, of any kind.
    pub fn next(&self) -> Received {
        self.requests.recv().expect("the node has ended")
    }

    /// Returns a request, if there is one.
    pub fn try_next(&self) -> Option<Received> {
        self.requests.try_recv().ok()
    }

    /// Returns the next request that is not about the connection; replies to those as a server does.
    pub fn serve(&mut self) -> Received {
        loop {
            let received = self.next();
            if !self.connect_or_ping(&received) {
                return received;
            }
        }
    }

    /// Serves connect requests and pings, and repeats the last reply, until `is_over`.
    pub fn go_on_until(&mut self, is_over: impl Fn() -> bool) {
        while !is_over() {
            match self.requests.recv_timeout(Duration::from_millis(5)) {
                Ok(received) if self.connect_or_ping(&received) => {}
                Ok(received) => {
                    let (xid, bytes) = self.last.lock().unwrap().clone();
                    if xid == received.xid {
                        self.send(&received, &bytes, received.reply_offset());
                    }
                }
                Err(_) => {}
            }
        }
    }

    /// Replies to connect requests and pings; returns whether it was one.
    pub fn connect_or_ping(&mut self, received: &Received) -> bool {
        match received.opcode() {
            opcode if opcode.is_connect() => self.accept(received),
            opcode if opcode.is_disconnect() || opcode == Opcode::PING => self.reply(received, 0, &[]),
            _ => return false,
        }
        true
    }

    pub fn accept(&mut self, received: &Received) {
        let asked = ConnectRequest::read(&received.message()).unwrap();
        let op_flags = if self.connected { ConnectOps::RECONNECT } else { ConnectOps::NONE };
        self.connected = true;
        let body = Body { handle: ExportCookie(self.handle), op_flags, ..Body::reply_to(&received.body()) };
        let mut bytes = vec![0; ConnectReply::LEN];
        let data = ConnectData { maxmodrpcs: 2, ..asked.data };
        ConnectReply { data }.build(&mut bytes, &body).unwrap();
        self.send(received, &bytes, received.reply_offset());
    }

    /// Becomes another server, which does not know the connection.
    pub fn restart(&mut self) {
        self.connected = false;
        self.handle += 1;
    }

    pub fn reply(&self, received: &Received, status: i32, buffers: &[&[u8]]) {
        self.reply_with(received, Body { status, ..Body::reply_to(&received.body()) }, buffers);
    }

    pub fn reply_with(&self, received: &Received, body: Body, buffers: &[&[u8]]) {
        let lengths: Vec<u32> =
            [Body::LEN as u32].into_iter().chain(buffers.iter().map(|buffer| buffer.len() as u32)).collect();
        let mut bytes = vec![0; size_of_message(&lengths).unwrap()];
        let mut message = MessageMut::new(&mut bytes, &lengths).unwrap();
        message.set_body(&body);
        for (index, buffer) in buffers.iter().enumerate() {
            message.buffer_mut(index + 1).unwrap().copy_from_slice(buffer);
        }
        *self.last.lock().unwrap() = (received.xid, bytes.clone());
        self.send(received, &bytes, received.reply_offset());
    }

    /// Sends an early reply: the request will take `seconds` seconds from its transmission on.
    pub fn early(&self, received: &Received, seconds: u32) {
        let mut bytes = vec![0; BODY_ONLY_LEN];
        let mut message = MessageMut::new(&mut bytes, &[Body::LEN as u32]).unwrap();
        message.set_body(&Body { timeout: seconds, ..Body::reply_to(&received.body()) });
        seal_early_reply(&mut message);
        self.send(received, &bytes, 0);
    }

    /// Puts any bytes into the client's reply buffer. If there is one, the bytes have arrived when this function returns.
    pub fn send(&self, received: &Received, bytes: &[u8], offset: u32) {
        let (sender, events) = channel();
        let spec = MdSpec::active(Arc::new(Region::copy_of(bytes)), 1);
        let md = self.node.bind(spec, Arc::new(Forward(Mutex::new(sender)))).unwrap();
        let portal = Portals::OST.reply.0;
        self.node
            .put(Some(received.target.nid), md, Ack::No, received.source, portal, received.xid.0, offset, 0)
            .unwrap();
        while !events.recv().expect("no event").unlinked {}
    }

    /// Waits for the next request, and lets time pass until it arrives.
    pub fn next_later(&self, clock: &ManualClock, step: Duration) -> Received {
        loop {
            clock.advance(step);
            match self.requests.recv_timeout(Duration::from_millis(5)) {
                Ok(received) => return received,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("the node has ended"),
            }
        }
    }

    /// Puts bulk data into the client's memory, or gets its contents; returns the transferred data.
    pub fn transfer_bulk(
        &self,
        to: &Received,
        portal: u32,
        bits: u64,
        put: Option<&[u8]>,
        len: usize,
    ) -> Vec<u8> {
        let (mut region, _, events) = self.start_bulk(to, portal, bits, put, len);
        loop {
            let event = events.recv().expect("no event");
            event.status.unwrap();
            if event.unlinked {
                break;
            }
        }
        while Arc::get_mut(&mut region).is_none() {
            std::thread::yield_now();
        }
        Arc::get_mut(&mut region).unwrap().bytes_mut().to_vec()
    }

    /// Puts bulk data for which the client has no memory attached; returns when it was dropped.
    pub fn put_bulk_in_vain(&self, to: &Received, portal: u32, bits: u64, data: &[u8]) {
        let (_, md, events) = self.start_bulk(to, portal, bits, Some(data), data.len());
        // A message that is sent later arrives later, so the bulk data was dropped.
        let marker = MdSpec::active(Arc::new(Region::copy_of(b"marker")), 1);
        let marker = self.node.bind(marker, Arc::new(Forward(Mutex::new(channel().0)))).unwrap();
        let from = Some(to.target.nid);
        self.node.put(from, marker, Ack::No, to.target, Portals::OST.request.0, 0, 0, 0).unwrap();
        while self.next().xid != Xid(0) {}
        self.node.unlink(md);
        let mut kinds = Vec::new();
        loop {
            let event = events.recv().expect("no event");
            kinds.push(event.kind);
            if event.unlinked {
                break;
            }
        }
        assert!(!kinds.contains(&EventKind::Ack), "{kinds:?}");
    }

    fn start_bulk(
        &self,
        to: &Received,
        portal: u32,
        bits: u64,
        put: Option<&[u8]>,
        len: usize,
    ) -> (Arc<Region>, Md, Receiver<Event>) {
        let (sender, events) = channel();
        let region = Arc::new(put.map_or_else(|| Region::zeroed(len), Region::copy_of));
        let spec = MdSpec::active(Arc::clone(&region), 2);
        let md = self.node.bind(spec, Arc::new(Forward(Mutex::new(sender)))).unwrap();
        let (from, peer) = (Some(to.target.nid), to.source);
        match put {
            Some(_) => self.node.put(from, md, Ack::Wanted, peer, portal, bits, 0, 0).unwrap(),
            None => self.node.get(from, md, peer, portal, bits, 0).unwrap(),
        }
        (region, md, events)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.node.unlink(self.md);
    }
}
