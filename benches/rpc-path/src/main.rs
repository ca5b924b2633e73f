//! Runs a number of RPCs, or of PUTs there and back, over the loopback of a node, for programs that count instructions or system calls.
//! Prints nothing.
//!
//! ```text
//! rpc-path rpc OPERATIONS     RPCs of `libptlrpc` with 8 bytes there and back, one after the other
//! rpc-path puts OPERATIONS    a PUT there and a PUT back of messages as long as those of the RPCs, each with memory descriptors of its own
//! rpc-path reuse OPERATIONS   the same, with descriptors that all operations use
//! rpc-path write OPERATIONS   brw of LNet selftest with 4 KiB of which 8 are in flight, whose data the server fetches
//! rpc-path read OPERATIONS    the same, whose data the server sends
//! ```
//!
//! PUTs are sent and handled by one thread. Threads that wait for RPCs call `LNetEQPoll`, in vain as often as time has it: a program that
//! counts leaves that function out.
#![forbid(unsafe_code)]

mod selftest;

use lnet_node::{DriverConfigs, Node as LnetNode, StartConfig};
use lnet_selftest::wire::Rw;
use lnet_wire::{Nid, Pid};
use ptlrpc::client::{Client, ImportConfig, Timeouts};
use ptlrpc::lnet::{Ack, Event, EventHandler, EventKind, MatchCriteria, Md, MdSpec, Node, ProcessId, Region};
use ptlrpc::message::portal::Portals;
use ptlrpc::message::{ConnectData, ConnectFlags, Opcode, Portal, Service as Protocol};
use ptlrpc::request::Request;
use ptlrpc::service::{Handler, Reply, Response, Service, ServiceConfig, ServiceRequest, Targets};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const USAGE: &str = "usage: rpc|puts|reuse|write|read OPERATIONS";
const ECHO: Opcode = Opcode(0x7001);
/// The bytes that an RPC has there and back.
const LEN: u32 = 8;
/// The bytes of its request and of its reply: a header with two buffers, the body, and those bytes.
const MESSAGE: usize = 40 + 184 + LEN as usize;
const THERE: u32 = 50;
const BACK: u32 = 51;
const MATCH_BITS: u64 = 7;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [way, operations] = arguments.as_slice() else { return Err(USAGE.into()) };
    let operations = operations.parse()?;
    let config = StartConfig { name: "n".parse()?, drivers: DriverConfigs::none(), ..StartConfig::default() };
    let node = LnetNode::start(Pid::LUSTRE, config)?;
    let c_api = lnet::adopt(&node)?;
    match way.as_str() {
        "rpc" => rpcs(operations)?,
        "puts" => puts(operations, Descriptors::OfEachOperation)?,
        "write" => selftest::brw(Rw::Write, operations)?,
        "read" => selftest::brw(Rw::Read, operations)?,
        "reuse" => puts(operations, Descriptors::OfAllOperations)?,
        _ => return Err(USAGE.into()),
    }
    drop(c_api);
    node.shutdown();
    Ok(())
}

/// Replies with the bytes of the request.
struct Echo;

impl Handler for Echo {
    fn handle(&self, request: &mut ServiceRequest<'_>) -> Response {
        Response::Reply(match request.buffer(1) {
            Some(bytes) => Reply::new().buffer(bytes),
            None => Reply::new(),
        })
    }
}

fn rpcs(operations: u64) -> Result<(), Box<dyn Error>> {
    let node = Node::start()?;
    let targets = Targets::new(1);
    let flags = ConnectFlags::FULL20.union(ConnectFlags::AT).union(ConnectFlags::BULK_MBITS);
    targets.add("path".parse()?, ConnectData { flags, maxmodrpcs: 8, ..ConnectData::default() })?;
    let config = ServiceConfig::new("path", Portals::OST, Portal::OST_BULK, Protocol::OST);
    let service = Service::start(&node, &targets, config, Arc::new(Echo))?;
    let client = Client::start(Arc::clone(&node), Timeouts::default())?;
    let nid = Nid::LOOPBACK.to_string();
    let import = client.import(ImportConfig::ost("path".parse()?, "client".parse()?, &nid))?;
    import.connect(None)?;
    let request =
        Request { buffers: vec![vec![7; LEN as usize]], reply_lengths: vec![LEN], ..Request::new(ECHO) };
    let request = Arc::new(request);
    for _ in 0..operations {
        import.call(Arc::clone(&request))?.result()?;
    }
    import.close();
    service.stop()?;
    Ok(())
}

/// The memory descriptors of PUTs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Descriptors {
    OfEachOperation,
    OfAllOperations,
}

/// Counts the messages that have arrived.
#[derive(Default)]
struct Arrived(AtomicU64);

impl EventHandler for Arrived {
    fn on_event(&self, event: &Event) {
        self.0.fetch_add(u64::from(event.kind == EventKind::Put), Ordering::Relaxed);
    }
}

fn puts(operations: u64, descriptors: Descriptors) -> Result<(), Box<dyn Error>> {
    let node = Node::start()?;
    let here = ProcessId::lustre(Nid::LOOPBACK);
    let arrived = Arc::new(Arrived::default());
    let of_each = descriptors == Descriptors::OfEachOperation;
    let bind = |threshold| {
        let region = Arc::new(Region::zeroed(MESSAGE));
        node.bind(MdSpec { threshold, ..MdSpec::active(region, 1) }, Arc::clone(&arrived) as _)
    };
    let attach = |portal, criteria, threshold| {
        let region = Arc::new(Region::zeroed(MESSAGE));
        let spec = MdSpec { puts: true, manage_remote: true, threshold, ..MdSpec::active(region, 1) };
        node.attach(portal, criteria, spec, Arc::clone(&arrived) as _)
    };
    let anything = MatchCriteria { from: None, bits: 0, ignore: u64::MAX };
    let answer = MatchCriteria { from: Some(here), bits: MATCH_BITS, ignore: 0 };
    let mut all: Vec<Md> = vec![attach(THERE, anything, None)?];
    let forever = match of_each {
        true => None,
        false => {
            let both = (bind(None)?, bind(None)?);
            all.extend([attach(BACK, answer, None)?, both.0, both.1]);
            Some(both)
        }
    };
    for done in 0..operations {
        let (request, reply) = match forever {
            Some(both) => both,
            None => {
                attach(BACK, answer, Some(1))?;
                (bind(Some(1))?, bind(Some(1))?)
            }
        };
        for (md, portal, messages) in [(request, THERE, 1), (reply, BACK, 2)] {
            node.put(None, md, Ack::No, here, portal, MATCH_BITS, 0, 0)?;
            if arrived.0.load(Ordering::Relaxed) != 2 * done + messages {
                return Err("a message has not arrived".into());
            }
        }
    }
    all.into_iter().for_each(|md| node.unlink(md));
    Ok(())
}
