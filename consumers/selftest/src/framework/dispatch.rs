//! Dispatches requests: to the sessions, to the console, or to the services of tests.

use super::client::{ClientSpec, ClientTest, Load};
use super::join::{JoinHandler, NO_CONSOLE};
use super::part::{ClientPart, Part};
use super::sessions::{Effects, Sessions};
use crate::load::brw_client::BrwClient;
use crate::load::brw_server::BrwServer;
use crate::load::ping_client::PingSequence;
use crate::load::ping_server;
use crate::rpc::{BulkTransfer, RequestHandler, Response, RpcEngine, Sender};
use crate::wire::{
    BatchReply, ByteOrder, Features, IncomingInstance, IncomingRequest, IncomingTest, LnetCounters,
    ReceivedBody, Reply, Service, SessionReply, StatReply, Stats, Status, TestParameters, list_length,
    read_destinations,
};
use lnet_api::sync::lock;
use lnet_api::{Counters, ProcessId, Region};
use lnet_log::{LogClass, RateLimitedLog};
use std::sync::{Arc, Mutex, Weak};

/// The most RPC loops of one test: peers choose their number.
const MAX_LOOPS: u64 = 1 << 16;
/// The most memory that the loops of one test have for bulk data.
const MAX_LOOP_MEMORY: u64 = 4 << 30;

/// Answers all requests to a node.
pub(super) struct Dispatch {
    engine: Weak<RpcEngine>,
    /// The reference that callbacks keep.
    this: Weak<Self>,
    sessions: Mutex<Sessions>,
    brw: BrwServer,
    ping_sequence: PingSequence,
    console: Mutex<Option<Arc<dyn JoinHandler>>>,
    log: RateLimitedLog,
}

impl Dispatch {
    pub(super) fn new(engine: &Arc<RpcEngine>, sessions: Sessions) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            engine: Arc::downgrade(engine),
            this: Weak::clone(this),
            sessions: Mutex::new(sessions),
            brw: BrwServer::default(),
            ping_sequence: PingSequence::default(),
            console: Mutex::new(None),
            log: RateLimitedLog::new(),
        })
    }

    pub(super) fn set_console(&self, console: Option<Arc<dyn JoinHandler>>) {
        // Dropped without the lock.
        drop(std::mem::replace(&mut *lock(&self.console), console));
    }

    /// Reads the state.
    pub(super) fn with_sessions<T>(&self, read: impl FnOnce(&Sessions) -> T) -> T {
        read(&lock(&self.sessions))
    }

    /// Ends the session.
    pub(super) fn end_session(&self) {
        let effects = lock(&self.sessions).end();
        self.perform(effects);
    }

    fn perform(&self, effects: Effects) {
        let Some(engine) = self.engine.upgrade() else { return };
        if effects.aborts_served_tests {
            engine.abort_served_tests();
        }
        for (client, force) in effects.stops {
            client.stop(force);
        }
        for client in effects.starts {
            client.start();
        }
        for (service, reserved) in effects.releases {
            engine.release(service, reserved);
        }
        if effects.aborts_served_tests {
            self.reap();
        }
    }

    /// Forgets sessions that have ended, as far as their RPCs have.
    fn reap(&self) {
        let mut sessions = lock(&self.sessions);
        if sessions.has_zombies() {
            let effects = sessions.reap();
            drop(sessions);
            self.perform(effects);
        }
    }

    fn framework(&self, request: &IncomingRequest, service: Service, engine: &Arc<RpcEngine>) -> Response {
        let now = engine.clock().now();
        let counters = matches!(request.body, ReceivedBody::QueryStat(_))
            .then(|| (engine.counters(), wire_counters(&engine.lnet_counters())));
        let mut sessions = lock(&self.sessions);
        sessions.prolong(now);
        let features = request.features;
        let negotiates = matches!(service, Service::MakeSession | Service::Debug);
        if negotiates && features.has_unknown() {
            let message = Reply::write_status_alone(service, sessions.features(), Status::PROTOCOL);
            return Response::Reply(message);
        }
        if !negotiates && !sessions.accepts(features) {
            let reply = refusal(service, &sessions, Status::PROTOCOL);
            return Response::reply(sessions.features(), &reply);
        }
        let (reply, effects) = match &request.body {
            ReceivedBody::MakeSession(make) => {
                let (reply, effects) = sessions.make(make, features, now);
                (Reply::MakeSession(reply), effects)
            }
            ReceivedBody::RemoveSession(id) => {
                let (reply, effects) = sessions.remove(*id);
                (Reply::RemoveSession(reply), effects)
            }
            ReceivedBody::Debug => (Reply::Debug(sessions.debug()), Effects::default()),
            ReceivedBody::Batch(batch) => match sessions.batch(batch) {
                Some((reply, effects)) => (Reply::Batch(reply), effects),
                None => return Response::Drop,
            },
            ReceivedBody::QueryStat(id) => {
                let (rpc, lnet) = counters.unwrap_or_default();
                let (status, stats) = match sessions.stat(*id, now) {
                    Ok(framework) => (Status::OK, Stats { framework, rpc, lnet }),
                    Err(status) => (status, Stats::default()),
                };
                let session = sessions.id();
                (Reply::QueryStat(StatReply { status, session, stats }), Effects::default())
            }
            ReceivedBody::AddTest(test) => {
                drop(sessions);
                return match test {
                    Ok(test) => self.add_test(test, request.order, engine),
                    Err(_) => self.test_reply(Status::INVALID),
                };
            }
            _ => return Response::Drop,
        };
        let features = sessions.features();
        drop(sessions);
        self.perform(effects);
        Response::reply(features, &reply)
    }

    fn add_test(&self, test: &IncomingTest, order: ByteOrder, engine: &Arc<RpcEngine>) -> Response {
        let admission = lock(&self.sessions).admit(test.session, test.batch);
        if let Err(status) = admission {
            return self.test_reply(status);
        }
        match test.instance {
            IncomingInstance::Server { service, load } => {
                let reserved = engine.reserve(service, load.rpcs());
                let part = Part::Server { service, reserved };
                // The session may have ended meanwhile.
                let status = lock(&self.sessions).add(test.session, test.batch, part);
                if !status.is_ok() {
                    engine.release(service, reserved);
                }
                self.test_reply(status)
            }
            IncomingInstance::Client { destinations, .. } => {
                let Some(length) = list_length(destinations) else { return self.test_reply(Status::INVALID) };
                let (this, test) = (Weak::clone(&self.this), *test);
                Response::Bulk {
                    transfer: BulkTransfer::Get {
                        bits: test.bulk_bits,
                        region: Arc::new(Region::zeroed(length)),
                    },
                    then: Box::new(move |mut list| match (this.upgrade(), Arc::get_mut(&mut list)) {
                        (Some(this), Some(list)) => {
                            let status = this.add_client(&test, list.bytes_mut(), order);
                            this.test_reply(status.err().unwrap_or(Status::OK))
                        }
                        _ => Response::Drop,
                    }),
                }
            }
        }
    }

    /// Adds a client, whose list of destinations was fetched: does the rest of the checks, and all of the earlier ones again.
    fn add_client(&self, test: &IncomingTest, list: &[u8], order: ByteOrder) -> Result<(), Status> {
        let IncomingInstance::Client { times, concurrency, stop_on_error, destinations, parameters } =
            test.instance
        else {
            return Err(Status::INVALID);
        };
        let admission = lock(&self.sessions).admit(test.session, test.batch)?;
        let parameters = parameters.map_err(|_| Status::INVALID)?;
        let nodes = read_destinations(list, order, destinations).ok_or(Status::INVALID)?;
        let loops = u64::from(destinations) * u64::from(concurrency.number());
        let memory_per_loop = match &parameters {
            TestParameters::Brw(brw) => BrwClient::memory_per_loop(brw),
            TestParameters::Ping => 0,
        };
        if loops > MAX_LOOPS || loops * memory_per_loop > MAX_LOOP_MEMORY {
            return Err(Status::NO_MEMORY);
        }
        let load = match parameters {
            TestParameters::Brw(brw) => Load::Brw(BrwClient::new(brw)),
            TestParameters::Ping => {
                self.ping_sequence.reset();
                Load::Ping(self.ping_sequence.clone())
            }
        };
        let each = concurrency.number() as usize;
        let destinations = nodes
            .into_iter()
            .flat_map(|(nid, pid)| std::iter::repeat_n(ProcessId { nid, pid }, each))
            .collect();
        let spec = ClientSpec { load, features: admission.features, destinations, times, stop_on_error };
        let engine = self.engine.upgrade().ok_or(Status::INVALID)?;
        let this = Weak::clone(&self.this);
        let client = ClientTest::new(spec, &engine, admission.errors, move || {
            if let Some(this) = this.upgrade() {
                this.reap();
            }
        });
        let part = Part::Client(client as Arc<dyn ClientPart>);
        let status = lock(&self.sessions).add(test.session, test.batch, part);
        if status.is_ok() { Ok(()) } else { Err(status) }
    }

    fn test_reply(&self, status: Status) -> Response {
        let mut sessions = lock(&self.sessions);
        if let Some(engine) = self.engine.upgrade() {
            sessions.prolong(engine.clock().now());
        }
        let reply = SessionReply { status, session: sessions.id() };
        Response::reply(sessions.features(), &Reply::AddTest(reply))
    }
}

impl RequestHandler for Dispatch {
    fn handle(&self, request: &IncomingRequest, from: &Sender) -> Response {
        let service = match &request.body {
            ReceivedBody::Brw(brw) => return self.brw.handle(request, brw),
            ReceivedBody::Ping(ping) => return ping_server::handle(request, ping),
            ReceivedBody::Join(join) => {
                let console = lock(&self.console).clone();
                let (reply, features) = console.map_or((NO_CONSOLE, Features::KNOWN), |console| {
                    console.join(join, request.features, from.process)
                });
                return Response::reply(features, &Reply::Join(reply));
            }
            ReceivedBody::MakeSession(_) => Service::MakeSession,
            ReceivedBody::RemoveSession(_) => Service::RemoveSession,
            ReceivedBody::Debug => Service::Debug,
            ReceivedBody::Batch(_) => Service::Batch,
            ReceivedBody::AddTest(_) => Service::AddTest,
            ReceivedBody::QueryStat(_) => Service::QueryStat,
            ReceivedBody::OtherVersion => return Response::Drop,
        };
        match self.engine.upgrade() {
            Some(engine) => self.framework(request, service, &engine),
            None => Response::Drop,
        }
    }

    fn tick(&self) {
        let Some(engine) = self.engine.upgrade() else { return };
        let now = engine.clock().now();
        let expired = lock(&self.sessions).expire(now);
        if let Some((id, effects)) = expired {
            self.log.write(
                now,
                LogClass::SelftestSession,
                "session",
                format_args!("session {id}: ended (no message of its console); its tests are stopped"),
            );
            self.perform(effects);
        }
        self.log.poll(now);
        self.reap();
    }
}

/// A reply with a status and the session of the node.
fn refusal(service: Service, sessions: &Sessions, status: Status) -> Reply {
    let session = sessions.id();
    match service {
        Service::RemoveSession => Reply::RemoveSession(SessionReply { status, session }),
        Service::Batch => Reply::Batch(BatchReply { status, session, active: 0 }),
        Service::QueryStat => Reply::QueryStat(StatReply { status, session, stats: Stats::default() }),
        _ => Reply::AddTest(SessionReply { status, session }),
    }
}

const fn wire_counters(counters: &Counters) -> LnetCounters {
    LnetCounters {
        msgs_alloc: counters.msgs_alloc,
        msgs_max: counters.msgs_max,
        errors: counters.errors,
        send_count: counters.send_count,
        recv_count: counters.recv_count,
        route_count: counters.route_count,
        drop_count: counters.drop_count,
        send_length: counters.send_length,
        recv_length: counters.recv_length,
        route_length: counters.route_length,
        drop_length: counters.drop_length,
    }
}
