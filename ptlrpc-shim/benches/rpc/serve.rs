//! The server's process: a service, memory for bare PUTs, and raw TCP.

use ptlrpc::Errno;
use ptlrpc::lnet::{Event, EventHandler, MatchCriteria, MdSpec, Node, Region};
use ptlrpc::message::portal::Portals;
use ptlrpc::message::{ConnectData, ConnectFlags, Opcode, Portal, Service as Protocol};
use ptlrpc::service::{Handler, Reply, Response, Service, ServiceConfig, ServiceRequest, Targets};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

pub(crate) const ECHO: Opcode = Opcode(0x7001);
pub(crate) const READ: Opcode = Opcode(0x7002);
pub(crate) const WRITE: Opcode = Opcode(0x7003);
pub(crate) const MIB: usize = 1 << 20;
pub(crate) const PUT_PORTAL: u32 = 50;
pub(crate) const GET_PORTAL: u32 = 51;

thread_local! {
    /// The memory that a service thread reads into. It is kept between requests, as in any fast server.
    static WRITTEN: Arc<Region> = Arc::new(Region::zeroed(MIB));
}

/// Serves reads of this memory, and writes.
struct Bench(Arc<Region>);

impl Handler for Bench {
    fn handle(&self, request: &mut ServiceRequest<'_>) -> Response {
        let done = match request.opcode() {
            ECHO => {
                return Response::Reply(match request.buffer(1) {
                    Some(bytes) => Reply::new().buffer(bytes),
                    None => Reply::new(),
                });
            }
            READ => request.bulk_put(&self.0),
            WRITE => WRITTEN.with(|memory| request.bulk_get_into(memory)),
            _ => Err(Errno::NotSupported),
        };
        Response::Reply(done.map_or_else(Reply::error, |()| Reply::new()))
    }
}

/// Ignores events.
struct Ignore;

impl EventHandler for Ignore {
    fn on_event(&self, _: &Event) {}
}

pub(crate) fn run() {
    let node = Node::start().unwrap();
    let targets = Targets::new(fastrand::u64(..));
    let flags = ConnectFlags::FULL20.union(ConnectFlags::AT).union(ConnectFlags::BULK_MBITS);
    targets
        .add("bench".parse().unwrap(), ConnectData { flags, maxmodrpcs: 8, ..ConnectData::default() })
        .unwrap();
    let config = ServiceConfig::new("bench", Portals::OST, Portal::OST_BULK, Protocol::OST);
    let handler = Arc::new(Bench(Arc::new(Region::zeroed(MIB))));
    let _service = Service::start(&node, &targets, config, handler).unwrap();
    let region = Arc::new(Region::zeroed(MIB));
    let spec = MdSpec { threshold: None, manage_remote: true, ..MdSpec::active(region, 1) };
    let puts = MdSpec { puts: true, ..spec.clone() };
    for (portal, spec) in [(PUT_PORTAL, puts), (GET_PORTAL, MdSpec { gets: true, ..spec })] {
        let anybody = MatchCriteria { from: None, bits: 0, ignore: u64::MAX };
        node.attach(portal, anybody, spec, Arc::new(Ignore)).unwrap();
    }
    let listener = TcpListener::bind((super::SERVER, 0)).unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    for stream in listener.incoming() {
        std::thread::spawn(move || echo(stream.unwrap()));
    }
}

/// Reads a length, a flag, and that number of bytes, and sends them back if the flag is set.
fn echo(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut bytes = Vec::new();
    let mut head = [0; 5];
    while stream.read_exact(&mut head).is_ok() {
        let [a, b, c, d, back] = head;
        bytes.resize(u32::from_ne_bytes([a, b, c, d]) as usize, 0);
        stream.read_exact(&mut bytes).unwrap();
        if back == 1 {
            stream.write_all(&bytes).unwrap();
        }
    }
}
