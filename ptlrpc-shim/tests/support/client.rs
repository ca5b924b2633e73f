//! A client that consists of the codec and of descriptors alone.

use ptlrpc::Errno;
use ptlrpc::lnet::{
    Ack, Event, EventHandler, EventKind, MatchCriteria, Md, MdSpec, Nid, Node, ProcessId, Region,
};
use ptlrpc::message::body::ExportCookie;
use ptlrpc::message::portal::Portals;
use ptlrpc::message::{
    Body, ByteOrder, ConnectData, ConnectFlags, ConnectOps, ConnectReply, ConnectRequest, Message,
    MessageFlags, MessageKind, MessageMut, Opcode, Portal, Service as Protocol, Version, Xid, XidSource,
    checksum, size_of_message,
};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

pub const ECHO: Opcode = Opcode(0x7000);

pub struct Client {
    pub node: Arc<Node>,
    /// The server that the client sends to, and the NI that it sends from.
    pub server: ProcessId,
    pub from: Option<Nid>,
    pub uuid: String,
    pub target: &'static str,
    pub order: ByteOrder,
    pub flags: MessageFlags,
    pub requested: ConnectFlags,
    /// The client's handle of the connection.
    pub client_handle: ExportCookie,
    pub handle: ExportCookie,
    pub conn_cnt: u32,
    pub xids: XidSource,
}

/// A reply buffer that is attached.
pub struct ReplyBuffer {
    node: Arc<Node>,
    md: Md,
    region: Arc<Region>,
    events: Receiver<Event>,
}

#[derive(Debug)]
pub struct ReceivedReply {
    pub offset: u32,
    pub bytes: Vec<u8>,
    pub body: Body,
    pub buffers: Vec<Vec<u8>>,
    pub is_intact_early: bool,
    pub event: Event,
}

struct Forward(Mutex<Sender<Event>>);

impl EventHandler for Forward {
    fn on_event(&self, event: &Event) {
        let _ = self.0.lock().unwrap().send(*event);
    }
}

pub fn forward_events() -> (Arc<dyn EventHandler>, Receiver<Event>) {
    let (sender, receiver) = channel();
    (Arc::new(Forward(Mutex::new(sender))), receiver)
}

pub fn local_process() -> ProcessId {
    ProcessId::lustre(Nid::LOOPBACK)
}

impl Client {
    pub fn new(node: &Arc<Node>, uuid: &str) -> Self {
        Self {
            node: Arc::clone(node),
            server: local_process(),
            from: None,
            uuid: uuid.to_owned(),
            target: "OST0000",
            order: ByteOrder::NATIVE,
            flags: MessageFlags::AT_SUPPORT,
            requested: ConnectFlags::AT,
            client_handle: ExportCookie(0x1234),
            handle: ExportCookie::NONE,
            conn_cnt: 0,
            xids: XidSource::new(Xid(1 << 40)),
        }
    }

    /// The body of a request with default values.
    pub fn body(&self, opcode: Opcode) -> Body {
        let common = opcode.is_connect() || opcode.is_disconnect() || opcode == Opcode::PING;
        Body {
            handle: self.handle,
            conn_cnt: self.conn_cnt,
            timeout: 100,
            ..Body::request(if common { Protocol::OBD } else { Protocol::OST }, opcode)
        }
    }

    pub fn message(&self, body: &Body, buffers: &[&[u8]]) -> Vec<u8> {
        let lengths: Vec<u32> =
            std::iter::once(Body::LEN).chain(buffers.iter().map(|it| it.len())).map(|it| it as u32).collect();
        let mut bytes = vec![0; size_of_message(&lengths).unwrap()];
        let mut message = MessageMut::new_in(self.order, &mut bytes, &lengths).unwrap();
        message.set_body(body);
        message.set_flags(self.flags);
        for (index, buffer) in buffers.iter().enumerate() {
            message.buffer_mut(index + 1).unwrap().copy_from_slice(buffer);
        }
        bytes
    }

    /// Attaches a reply buffer with these match bits, for any sender.
    pub fn wait_for(&self, bits: u64) -> ReplyBuffer {
        let region = Arc::new(Region::zeroed(16 << 10));
        let (sink, events) = forward_events();
        let spec = MdSpec {
            threshold: None,
            puts: true,
            manage_remote: true,
            truncate: true,
            ..MdSpec::active(Arc::clone(&region), 1)
        };
        let criteria = MatchCriteria { from: None, bits, ignore: 0 };
        let md = self.node.attach(Portals::OST.reply.0, criteria, spec, sink).unwrap();
        ReplyBuffer { node: Arc::clone(&self.node), md, region, events }
    }

    /// Sends bytes to the service, and waits for nothing.
    pub fn put(&self, xid: u64, bytes: &[u8]) {
        let spec = MdSpec::active(Arc::new(Region::copy_of(bytes)), 1);
        let md = self.node.bind(spec, forward_events().0).unwrap();
        self.node.put(self.from, md, Ack::No, self.server, Portals::OST.request.0, xid, 0, 0).unwrap();
    }

    /// Sends a request; the reply is matched by XID.
    pub fn send(&self, xid: Xid, body: &Body, buffers: &[&[u8]]) -> ReplyBuffer {
        let waiting = self.wait_for(xid.0);
        self.put(xid.0, &self.message(body, buffers));
        waiting
    }

    /// Sends a request, and returns the reply.
    pub fn ask(&self, body: &Body, buffers: &[&[u8]]) -> ReceivedReply {
        self.send(self.xids.take(), body, buffers).reply()
    }

    pub fn ping(&self) -> ReceivedReply {
        self.ask(&self.body(Opcode::PING), &[])
    }

    pub fn connect_request(&self, body: &Body) -> Vec<u8> {
        let request = ConnectRequest {
            target: self.target.parse().unwrap(),
            client: self.uuid.parse().unwrap(),
            handle: self.client_handle,
            data: ConnectData { flags: self.requested, ..ConnectData::default() },
        };
        let mut bytes = vec![0; ConnectRequest::LEN];
        request.build_in(self.order, &mut bytes, body).unwrap().set_flags(self.flags);
        bytes
    }

    /// Sends a connect request, with any reply.
    pub fn try_connect(&mut self) -> ReceivedReply {
        self.conn_cnt += 1;
        let body = Body {
            handle: ExportCookie::NONE,
            op_flags: ConnectOps::INITIAL,
            version: Version::of(Protocol::OBD),
            ..self.body(Opcode::OST_CONNECT)
        };
        let xid = self.xids.take();
        let waiting = self.wait_for(xid.0);
        self.put(xid.0, &self.connect_request(&body));
        waiting.reply()
    }

    /// Connects; returns the reply and the negotiated connect data.
    pub fn connect(&mut self) -> (ReceivedReply, ConnectData) {
        let got = self.try_connect();
        assert_eq!((got.body.kind, got.body.status), (MessageKind::Reply, 0));
        self.handle = got.body.handle;
        let data = ConnectReply::read(&Message::parse(&got.bytes).unwrap()).unwrap().data;
        (got, data)
    }

    /// Attaches memory for a bulk transfer, for the server to put into, or to get from. Data that is too long is truncated.
    pub fn bulk(
        &self,
        bits: u64,
        region: &Arc<Region>,
        range: std::ops::Range<usize>,
        puts: bool,
    ) -> ReplyBuffer {
        let (sink, events) = forward_events();
        let spec =
            MdSpec { puts, gets: !puts, truncate: true, range, ..MdSpec::active(Arc::clone(region), 1) };
        let criteria = MatchCriteria { from: Some(local_process()), bits, ignore: 0 };
        let md = self.node.attach(Portal::OST_BULK.0, criteria, spec, sink).unwrap();
        ReplyBuffer { node: Arc::clone(&self.node), md, region: Arc::clone(region), events }
    }
}

impl ReplyBuffer {
    /// The next event.
    pub fn event(&self) -> Event {
        self.events.recv().unwrap()
    }

    /// The next message, early or not.
    pub fn any(&self) -> ReceivedReply {
        let event = self.event();
        assert_eq!((event.kind, event.status), (EventKind::Put, Ok(())));
        let start = event.offset as usize;
        let bytes = self.region.copy_while_written(start..start + event.mlength as usize);
        let message = Message::parse(&bytes).unwrap();
        ReceivedReply {
            offset: event.offset,
            body: message.body().unwrap(),
            buffers: (1..message.buffer_count())
                .map(|index| message.buffer(index).unwrap().to_vec())
                .collect(),
            is_intact_early: message.cksum() != 0 && checksum::early_reply_is_intact(&message),
            event,
            bytes: bytes.clone(),
        }
    }

    /// The reply, after any number of early replies.
    pub fn reply(&self) -> ReceivedReply {
        loop {
            let got = self.any();
            if !got.is_intact_early {
                return got;
            }
        }
    }

    /// Whether there has been no event so far.
    pub fn is_quiet(&self) -> bool {
        self.events.try_recv().is_err()
    }

    pub fn region(&self) -> &Arc<Region> {
        &self.region
    }
}

impl Drop for ReplyBuffer {
    fn drop(&mut self) {
        self.node.unlink(self.md);
    }
}

impl ReceivedReply {
    pub fn status(&self) -> Result<(), Errno> {
        Errno::from_status(self.body.status).map_or(Ok(()), Err)
    }
}
