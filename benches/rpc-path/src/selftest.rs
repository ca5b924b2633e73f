//! RPCs of LNet selftest: a test node that is client and server, and its own console.

use lnet_selftest::framework::{NodeConfig, TestNode};
use lnet_selftest::rpc::{Bulk, Call};
use lnet_selftest::wire::{
    AddTest, BatchCommand, BatchId, BatchRequest, BrwParameters, Check, Concurrency, Destinations, Features,
    Instance, LST_PID, Loop, MakeSession, Reply, Request, Rw, ServerLoad, SessionId, TestParameters,
};
use lnet_wire::{Nid, Pid};
use ptlrpc::lnet::{ProcessId, Region};
use std::error::Error;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The bytes of bulk data of each RPC, and the RPCs in flight.
const LEN: u32 = 4096;
const IN_FLIGHT: u32 = 8;
const BATCH: BatchId = BatchId(1);

/// Runs this number of brw, whose data the server fetches or sends, as `rw` says.
pub(crate) fn brw(rw: Rw, operations: u64) -> Result<(), Box<dyn Error>> {
    let node = TestNode::start(&NodeConfig::default())?;
    let session = SessionId::new("10.0.0.1@tcp".parse()?, 1).ok_or("no session ID")?;
    let parameters =
        TestParameters::Brw(BrwParameters::new(rw, Check::None, LEN, 0).map_err(|_| "wrong parameters")?);
    let of_client = Concurrency::new(IN_FLIGHT).ok_or("too many in flight")?;
    let (pid, times) = (Pid(LST_PID), i32::try_from(operations / u64::from(IN_FLIGHT))?);
    let list = Destinations::new(&[(Nid::LOOPBACK, pid)]).ok_or("too many destinations")?;
    let client = Instance::Client { times: Loop::new(times).ok_or("no RPCs")?, destinations: list.count() };
    let test = |concurrency, instance| {
        Request::AddTest(AddTest {
            session,
            batch: BATCH,
            parameters,
            concurrency,
            stop_on_error: true,
            instance,
        })
    };
    let batch = |command| Request::Batch(BatchRequest { session, batch: BATCH, command });
    let to = ProcessId { nid: Nid::LOOPBACK, pid };
    let ask = |request, bulk| {
        let (sender, receiver) = channel();
        let call = Call { to, request, features: Features::KNOWN, bulk };
        node.engine().call(call, move |outcome| {
            let _ = sender.send(outcome);
        });
        let reply = receiver.recv()??.reply;
        if reply.status().is_ok() { Ok(reply) } else { Err(Box::<dyn Error>::from(format!("{reply:?}"))) }
    };
    let name = "rpc-path".parse()?;
    ask(Request::MakeSession(MakeSession { session: Some(session), force: false, name }), None)?;
    let one = Concurrency::new(1).ok_or("none in flight")?;
    ask(test(one, Instance::Server { load: ServerLoad::new(IN_FLIGHT) }), None)?;
    let bytes = Arc::new(Region::copy_of(&list.bytes(Features::KNOWN)));
    let length = bytes.len();
    ask(test(of_client, client), Some(Bulk::Source(bytes, 0..length)))?;
    ask(batch(BatchCommand::Run { timeout: 0 }), None)?;
    loop {
        match ask(batch(BatchCommand::Query { test: 0 }), None)? {
            Reply::Batch(reply) if reply.active > 0 => std::thread::sleep(Duration::from_millis(200)),
            _ => break,
        }
    }
    Ok(())
}
