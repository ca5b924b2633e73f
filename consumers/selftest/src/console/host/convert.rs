//! Conversion between the types of a console and the messages on the wire.

use crate::console;
use crate::console::call::{Counters, ReplyContent, SessionNumber};
use crate::console::rpc::{BatchNumber, RpcBody, RpcReply, RpcRequest};
use crate::console::test_spec::TestSpec;
use crate::rpc::{Bulk, Call};
use crate::wire::{
    AddTest, BatchCommand, BatchId, BatchRequest, Concurrency, Destinations, Features, IncomingReply,
    Instance, JoinReply, Loop, MakeSession, Name, Reply, Request, ServerLoad, SessionId, Stats, Status,
    TestParameters,
};
use lnet_api::Region;
use lnet_wire::Nid;
use std::sync::Arc;

/// Converts a request into an RPC. `None` if no message can express it; the console does not make such requests.
pub(super) fn call(request: &RpcRequest) -> Option<Call> {
    let session = SessionId::new(request.session.nid?, request.session.stamp)?;
    let features = Features(request.features);
    let batch = |number: BatchNumber, command| {
        Request::Batch(BatchRequest { session, batch: BatchId(number.0), command })
    };
    let test = |number: BatchNumber, test, concurrency, instance| {
        Some(Request::AddTest(AddTest {
            session,
            batch: BatchId(number.0),
            parameters: parameters(test)?,
            concurrency: Concurrency::new(concurrency)?,
            stop_on_error: true,
            instance,
        }))
    };
    let mut bulk = None;
    let wire = match &request.body {
        RpcBody::MakeSession { force, name } => {
            let name: Name = name.as_str().parse().ok()?;
            Request::MakeSession(MakeSession { session: Some(session), force: *force, name })
        }
        RpcBody::RemoveSession => Request::RemoveSession(session),
        RpcBody::Debug => Request::Debug(session),
        RpcBody::Stat => Request::QueryStat(session),
        RpcBody::RunBatch { batch: number, timeout } => {
            batch(*number, BatchCommand::Run { timeout: *timeout })
        }
        RpcBody::StopBatch { batch: number, force } => batch(*number, BatchCommand::Stop { force: *force }),
        RpcBody::QueryBatch { batch: number, test } => {
            batch(*number, BatchCommand::Query { test: i32::try_from(*test).ok()? })
        }
        RpcBody::AddServer { batch, load, concurrency, test: spec } => {
            let load = ServerLoad::new(load.unsigned_abs());
            test(*batch, *spec, *concurrency, Instance::Server { load })?
        }
        RpcBody::AddClient { batch, repeat, concurrency, test: spec, destinations } => {
            let nodes: Vec<_> = destinations.iter().map(|id| (id.nid, id.pid)).collect();
            let list = Destinations::new(&nodes)?;
            let bytes = list.bytes(features);
            bulk = Some(Bulk::Source(Arc::new(Region::copy_of(&bytes)), 0..bytes.len()));
            let instance = Instance::Client { times: Loop::new(*repeat)?, destinations: list.count() };
            test(*batch, *spec, *concurrency, instance)?
        }
    };
    let to = lnet_api::ProcessId { nid: request.to.nid, pid: request.to.pid };
    Some(Call { to, request: wire, features, bulk })
}

fn parameters(test: TestSpec) -> Option<TestParameters> {
    match test {
        TestSpec::Ping => Some(TestParameters::Ping),
        TestSpec::Brw(brw) => brw.parameters().ok().map(TestParameters::Brw),
    }
}

/// Converts a reply from its wire form. Fields that have no meaning with its status are ignored (lnet-selftest 17).
pub(super) fn reply(incoming: IncomingReply) -> RpcReply {
    let (status, session, said) = match incoming.reply {
        Reply::MakeSession(it) => {
            // A reply with an error has the name of another session.
            let name = if it.status.is_ok() { String::new() } else { it.name.text().into_owned() };
            (it.status, it.session, ReplyContent::Session { timeout: it.timeout, name })
        }
        Reply::Debug(it) => {
            let name = it.name.text().into_owned();
            (it.status, it.session, ReplyContent::Session { timeout: it.timeout, name })
        }
        Reply::Batch(it) => (it.status, it.session, ReplyContent::Running(it.active)),
        Reply::QueryStat(it) => (it.status, it.session, ReplyContent::Counters(counters(&it.stats))),
        Reply::RemoveSession(it) | Reply::AddTest(it) => (it.status, it.session, ReplyContent::Nothing),
        Reply::Join(it) => (it.status, it.session, ReplyContent::Nothing),
        Reply::Brw(status) => (status, None, ReplyContent::Nothing),
        Reply::Ping(it) => (it.status, None, ReplyContent::Nothing),
    };
    let said = if status.is_ok() || matches!(said, ReplyContent::Session { .. }) {
        said
    } else {
        ReplyContent::Nothing
    };
    let Status(status) = status;
    RpcReply { features: incoming.features.0, status, session: number(session), said }
}

/// Converts the reply to a node that wants to join a group into its wire form.
pub(super) fn join_reply(joined: &console::JoinReply) -> JoinReply {
    let session = joined.session.nid.and_then(|nid| SessionId::new(nid, joined.session.stamp));
    let name = joined.name.as_ref().and_then(|name| name.as_str().parse().ok()).unwrap_or(Name::EMPTY);
    JoinReply { status: Status(joined.status.unsigned_abs()), session, timeout: joined.timeout, name }
}

pub(super) fn number(session: Option<SessionId>) -> SessionNumber {
    match session {
        None => SessionNumber::NONE,
        // An invalid NID, such as 0, belongs to no node, and so not to this session.
        Some(id) => SessionNumber { nid: Some(id.nid().unwrap_or(Nid::LOOPBACK)), stamp: id.stamp() },
    }
}

fn counters(stats: &Stats) -> Counters {
    let Stats { framework, rpc, lnet } = stats;
    Counters {
        running_ms: framework.running_ms,
        active_batches: framework.active_batches,
        zombie_sessions: framework.zombie_sessions,
        brw_errors: framework.brw_errors,
        ping_errors: framework.ping_errors,
        rpc_errors: rpc.errors,
        rpcs_sent: rpc.rpcs_sent,
        rpcs_received: rpc.rpcs_rcvd,
        rpcs_dropped: rpc.rpcs_dropped,
        rpcs_expired: rpc.rpcs_expired,
        bulk_get: rpc.bulk_get,
        bulk_put: rpc.bulk_put,
        sent: lnet.send_count,
        received: lnet.recv_count,
        dropped: lnet.drop_count,
        sent_bytes: lnet.send_length,
        received_bytes: lnet.recv_length,
        dropped_bytes: lnet.drop_length,
    }
}
