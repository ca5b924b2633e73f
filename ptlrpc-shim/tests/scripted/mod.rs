//! A server of which a test says every word.

#![allow(unreachable_pub)]

use lnet as _;
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
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const ROOM: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(20);

/// It listens as an object server, on this node.
pub struct Server {
    pub node: Arc<Node>,
    requests: Receiver<Heard>,
    md: Md,
    /// What it calls the connection.
    pub handle: u64,
    connected: bool,
    /// The last answer, and to what.
    last: Mutex<(Xid, Vec<u8>)>,
}

/// A request that came.
pub struct Heard {
    part: RegionSlice,
    pub xid: Xid,
    pub source: ProcessId,
    pub target: ProcessId,
}

struct Ear {
    region: Arc<Region>,
    sender: Mutex<Sender<Heard>>,
}

impl EventHandler for Ear {
    fn on_event(&self, event: &Event) {
        if event.kind == EventKind::Put && event.status.is_ok() {
            let start = event.offset as usize;
            // SAFETY: each request has its own bytes in this descriptor.
            let part =
                unsafe { RegionSlice::new(Arc::clone(&self.region), start..start + event.mlength as usize) };
            let heard = Heard {
                part,
                xid: Xid(event.match_bits),
                source: event.source.unwrap(),
                target: event.target.unwrap(),
            };
            let _ = self.sender.lock().unwrap().send(heard);
        }
    }
}

/// What became of a descriptor.
struct Told(Mutex<Sender<Event>>);

impl EventHandler for Told {
    fn on_event(&self, event: &Event) {
        let _ = self.0.lock().unwrap().send(*event);
    }
}

impl Heard {
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

    /// Where the real reply belongs.
    pub fn reply_offset(&self) -> u32 {
        if self.message().flags().contains(MessageFlags::AT_SUPPORT) { BODY_ONLY_LEN as u32 } else { 0 }
    }
}

impl Server {
    pub fn start(node: &Arc<Node>) -> Self {
        let (sender, requests) = channel();
        let region = Arc::new(Region::zeroed(ROOM));
        let spec = MdSpec {
            threshold: None,
            puts: true,
            max_size: Some(16 << 10),
            ..MdSpec::active(Arc::clone(&region), 1)
        };
        let criteria = MatchCriteria { from: None, bits: 0, ignore: u64::MAX };
        let ear = Arc::new(Ear { region, sender: Mutex::new(sender) });
        let md = node.attach(Portals::OST.request.0, criteria, spec, ear).unwrap();
        Self { node: Arc::clone(node), requests, md, handle: 0x77, connected: false, last: Mutex::default() }
    }

    /// The next request, whatever it is.
    pub fn next(&self) -> Heard {
        self.requests.recv_timeout(PATIENCE).expect("no request came")
    }

    /// A request, if there is one.
    pub fn try_next(&self) -> Option<Heard> {
        self.requests.try_recv().ok()
    }

    /// The next request that is not about the connection; those are answered as they should be.
    pub fn serve(&mut self) -> Heard {
        loop {
            let heard = self.next();
            if !self.connect_or_ping(&heard) {
                return heard;
            }
        }
    }

    /// Goes on while the test's words are said: what was answered too late for a slow machine is answered again.
    pub fn go_on_until(&mut self, is_over: impl Fn() -> bool) {
        while !is_over() {
            match self.requests.recv_timeout(Duration::from_millis(5)) {
                Ok(heard) if self.connect_or_ping(&heard) => {}
                Ok(heard) => {
                    let (xid, bytes) = self.last.lock().unwrap().clone();
                    if xid == heard.xid {
                        self.send(&heard, &bytes, heard.reply_offset());
                    }
                }
                Err(_) => {}
            }
        }
    }

    /// Answers what is about the connection, and says whether it was.
    pub fn connect_or_ping(&mut self, heard: &Heard) -> bool {
        match heard.opcode() {
            opcode if opcode.is_connect() => self.accept(heard),
            opcode if opcode.is_disconnect() || opcode == Opcode::PING => self.answer(heard, 0, &[]),
            _ => return false,
        }
        true
    }

    pub fn accept(&mut self, heard: &Heard) {
        let asked = ConnectRequest::read(&heard.message()).unwrap();
        let op_flags = if self.connected { ConnectOps::RECONNECT } else { ConnectOps::NONE };
        self.connected = true;
        let body = Body { handle: ExportCookie(self.handle), op_flags, ..Body::reply_to(&heard.body()) };
        let mut bytes = vec![0; ConnectReply::LEN];
        let data = ConnectData { maxmodrpcs: 2, ..asked.data };
        ConnectReply { data }.build(&mut bytes, &body).unwrap();
        self.send(heard, &bytes, heard.reply_offset());
    }

    /// It is another, which knows nothing of this one's.
    pub fn restart(&mut self) {
        self.connected = false;
        self.handle += 1;
    }

    pub fn answer(&self, heard: &Heard, status: i32, buffers: &[&[u8]]) {
        self.answer_with(heard, Body { status, ..Body::reply_to(&heard.body()) }, buffers);
    }

    pub fn answer_with(&self, heard: &Heard, body: Body, buffers: &[&[u8]]) {
        let lengths: Vec<u32> =
            [Body::LEN as u32].into_iter().chain(buffers.iter().map(|buffer| buffer.len() as u32)).collect();
        let mut bytes = vec![0; size_of_message(&lengths).unwrap()];
        let mut message = MessageMut::new(&mut bytes, &lengths).unwrap();
        message.set_body(&body);
        for (index, buffer) in buffers.iter().enumerate() {
            message.buffer_mut(index + 1).unwrap().copy_from_slice(buffer);
        }
        *self.last.lock().unwrap() = (heard.xid, bytes.clone());
        self.send(heard, &bytes, heard.reply_offset());
    }

    /// Says that it will take so many seconds from the sending on.
    pub fn early(&self, heard: &Heard, seconds: u32) {
        let mut bytes = vec![0; BODY_ONLY_LEN];
        let mut message = MessageMut::new(&mut bytes, &[Body::LEN as u32]).unwrap();
        message.set_body(&Body { timeout: seconds, ..Body::reply_to(&heard.body()) });
        seal_early_reply(&mut message);
        self.send(heard, &bytes, 0);
    }

    /// Puts any bytes where the client waits for its reply; they have arrived when this returns, if it wanted them.
    pub fn send(&self, heard: &Heard, bytes: &[u8], offset: u32) {
        let (sender, told) = channel();
        let spec = MdSpec::active(Arc::new(Region::copy_of(bytes)), 1);
        let md = self.node.bind(&spec, Arc::new(Told(Mutex::new(sender)))).unwrap();
        let portal = Portals::OST.reply.0;
        self.node
            .put(Some(heard.target.nid), md, Ack::No, heard.source, portal, heard.xid.0, offset, 0)
            .unwrap();
        while !told.recv_timeout(PATIENCE).expect("no event").unlinked {}
    }

    /// Puts bulk data into the client's memory, or gets what is there; what was moved, `None` where the client has offered nothing.
    pub fn move_bulk(
        &self,
        heard: &Heard,
        portal: u32,
        bits: u64,
        put: Option<&[u8]>,
        len: usize,
    ) -> Option<Vec<u8>> {
        let (sender, told) = channel();
        let mut region = Arc::new(put.map_or_else(|| Region::zeroed(len), Region::copy_of));
        let md = self
            .node
            .bind(&MdSpec::active(Arc::clone(&region), 2), Arc::new(Told(Mutex::new(sender))))
            .unwrap();
        let (from, to) = (Some(heard.target.nid), heard.source);
        match put {
            Some(_) => self.node.put(from, md, Ack::Wanted, to, portal, bits, 0, 0).unwrap(),
            None => self.node.get(from, md, to, portal, bits, 0).unwrap(),
        }
        let mut moved = false;
        loop {
            match told.recv_timeout(Duration::from_secs(2)) {
                Ok(event) => {
                    moved |= matches!(event.kind, EventKind::Ack | EventKind::Reply) && event.status.is_ok();
                    if event.unlinked {
                        break;
                    }
                }
                Err(_) => self.node.unlink(md),
            }
        }
        while Arc::get_mut(&mut region).is_none() {
            std::thread::yield_now();
        }
        moved.then(|| Arc::get_mut(&mut region).unwrap().bytes_mut().to_vec())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.node.unlink(self.md);
    }
}
