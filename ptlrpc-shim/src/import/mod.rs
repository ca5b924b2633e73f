//! Imports: targets that this process uses, each with the ways to it and how far connecting has got.

pub(crate) mod books;
pub mod machine;

pub(crate) use books::Tag;
pub use machine::State;

use crate::client::{Client, Connection, Longest};
use crate::errno::Errno;
use crate::lnet::Node;
use crate::message::body::ExportCookie;
use crate::message::portal::Portals;
use crate::message::{
    Body, ConnectData, ConnectFlags, ConnectOps, ConnectReply, Name, Opcode, Portal, Service, Xid,
};
use crate::request::{Driven, Purpose, Reply, Request, Set, Waker};
use crate::sync::{lock, wait_until};
use books::{Slots, Unanswered};
use machine::{Accepted, Admission, Attempt, Link, Machine};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Which target, and how it is spoken to.
#[derive(Clone, Debug)]
pub struct ImportConfig {
    /// The target.
    pub target: Name,
    /// The UUID of this client, the same as long as it lives and no other's.
    pub client: Name,
    /// UUIDs of the servers that may have the target, the likeliest first ([`Client::add_uuid`]).
    pub servers: Vec<String>,
    /// Where requests and replies go.
    pub portals: Portals,
    /// Where bulk data goes.
    pub bulk_portal: Portal,
    /// The protocol of its requests.
    pub service: Service,
    /// How to connect.
    pub connect: Opcode,
    /// How to disconnect.
    pub disconnect: Opcode,
    /// What is asked of the server.
    pub ask: ConnectData,
}

/// A target, used from any thread.
pub struct Import {
    client: Arc<Client>,
    config: ImportConfig,
    cookie: ExportCookie,
    inner: Mutex<Inner>,
    changed: Condvar,
}

struct Inner {
    machine: Machine,
    /// For each server, once it has been called.
    connections: Vec<Option<Arc<Connection>>>,
    agreed: ConnectData,
    waiters: Vec<Waker>,
    slots: Slots,
    unanswered: Unanswered,
    service: Longest,
    network: Longest,
    /// When a ping is due, unless it is heard before.
    ping: Instant,
    last_error: Option<Errno>,
}

/// Requests that change something, at once, where the server says nothing of it.
const SLOTS: u16 = 8;

impl ImportConfig {
    /// An object target: OST requests and their bulk data.
    pub fn ost(target: Name, client: Name, server: &str) -> Self {
        Self {
            target,
            client,
            servers: vec![server.to_owned()],
            portals: Portals::OST,
            bulk_portal: Portal::OST_BULK,
            service: Service::OST,
            connect: Opcode::OST_CONNECT,
            disconnect: Opcode::OST_DISCONNECT,
            ask: Self::what_is_asked(),
        }
    }

    /// What our clients ask for, of any target.
    pub fn what_is_asked() -> ConnectData {
        ConnectData {
            flags: ConnectFlags::FULL20
                .union(ConnectFlags::AT)
                .union(ConnectFlags::BULK_MBITS)
                .union(ConnectFlags::VERSION),
            version: 0x020f_0800,
            maxmodrpcs: SLOTS,
            ..ConnectData::default()
        }
    }
}

impl Import {
    pub(crate) fn new(client: &Arc<Client>, config: ImportConfig) -> Arc<Self> {
        let history = client.timeouts().adaptive.history;
        let inner = Inner {
            machine: Machine::new(config.servers.len()),
            connections: vec![None; config.servers.len()],
            agreed: ConnectData::default(),
            waiters: Vec::new(),
            slots: Slots::new(SLOTS),
            unanswered: Unanswered::default(),
            service: Longest::of(history),
            network: Longest::of(history),
            ping: Instant::now(),
            last_error: None,
        };
        let cookie = ExportCookie(client.cookie());
        Arc::new(Self {
            client: Arc::clone(client),
            config,
            cookie,
            inner: Mutex::new(inner),
            changed: Condvar::new(),
        })
    }

    /// Connects, and stays connected from then on; waits for it until then at most.
    ///
    /// Errors: what kept it, or [`Errno::TIMED_OUT`]. It goes on trying.
    pub fn connect(self: &Arc<Self>, until: Option<Instant>) -> Result<(), Errno> {
        let mut inner = self.lock();
        inner.machine.want();
        self.client.attend(self);
        loop {
            match inner.machine.state() {
                State::Full => return Ok(()),
                State::Closed => return Err(Errno::SHUTDOWN),
                _ if until.is_some_and(|until| until <= Instant::now()) => {
                    return Err(inner.last_error.unwrap_or(Errno::TIMED_OUT));
                }
                _ => inner = wait_until(&self.changed, inner, until),
            }
        }
    }

    /// Says good-bye to the server, if there is a connection, and ends: what waits ends with [`Errno::SHUTDOWN`]. The server is
    /// given `timeout` to answer.
    pub fn disconnect(self: &Arc<Self>, timeout: Duration) -> Result<(), Errno> {
        let is_full = self.lock().machine.state() == State::Full;
        let result = match is_full {
            true => {
                let request = Request {
                    no_resend: true,
                    no_delay: true,
                    timeout: Some(timeout),
                    limit: Some(timeout),
                    ..Request::new(self.config.disconnect)
                };
                self.call(request).and_then(|reply| reply.result())
            }
            false => Ok(()),
        };
        self.abandon();
        result
    }

    /// Ends without a word to the server: what waits ends with [`Errno::SHUTDOWN`].
    pub fn abandon(&self) {
        self.lock().machine.close();
        self.tell();
    }

    /// One RPC: sends a request and waits for its end.
    pub fn call(self: &Arc<Self>, request: Request) -> Result<Reply, Errno> {
        let mut set = Set::new();
        let ticket = set.add(self, request);
        set.wait();
        set.take(ticket).unwrap_or(Err(Errno::IO))
    }

    /// Asks the server whether it is there.
    pub fn ping(self: &Arc<Self>) -> Result<(), Errno> {
        self.call(self.ping_request()).and_then(|reply| reply.result())
    }

    /// How far it is.
    pub fn state(&self) -> State {
        self.lock().machine.state()
    }

    /// The server's name for the connection, and the connection's generation; a handle of 0: there has been none.
    pub fn handle(&self) -> (ExportCookie, u32) {
        let inner = self.lock();
        let handle = match inner.machine.admit() {
            Admission::Go(link) => link.handle,
            _ => ExportCookie::NONE,
        };
        (handle, inner.machine.conn_cnt())
    }

    /// What was agreed on when it was connected.
    pub fn agreed_data(&self) -> ConnectData {
        self.lock().agreed
    }

    /// The peer that it is connected to, or was last.
    pub fn peer(&self) -> Option<Connection> {
        let inner = self.lock();
        inner.connections.iter().flatten().next().map(|connection| **connection)
    }

    /// Has LNet ask the peer anew which NIDs it has.
    pub fn rediscover(&self) -> Result<(), Errno> {
        let peer = self.peer().ok_or(Errno::NOT_CONNECTED)?.peer;
        self.node().rediscover(peer).map(drop)
    }

    /// For people.
    pub fn name(&self) -> String {
        String::from_utf8_lossy(self.config.target.as_bytes()).into_owned()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// The state has changed: whoever waits looks again.
    fn tell(&self) {
        let waiters = std::mem::take(&mut self.lock().waiters);
        waiters.iter().for_each(Waker::wake);
        self.changed.notify_all();
    }

    fn ping_request(&self) -> Request {
        Request { no_resend: true, no_delay: true, ..Request::new(Opcode::PING) }
    }
}

/// For requests.
impl Import {
    pub(crate) fn node(&self) -> &Node {
        self.client.node()
    }

    pub(crate) fn shared_node(&self) -> &Arc<Node> {
        self.client.node()
    }

    /// Whether a request may be sent; `waker` is told when that changes.
    pub(crate) fn admit(&self, waker: &Waker) -> Admission {
        let mut inner = self.lock();
        let admission = inner.machine.admit();
        if admission == Admission::Wait {
            inner.waiters.push(waker.clone());
        }
        admission
    }

    /// A slot; `waker` is told when there may be one.
    pub(crate) fn take_tag(&self, waker: &Waker) -> Option<Tag> {
        let mut inner = self.lock();
        let tag = inner.slots.take();
        if tag.is_none() {
            inner.waiters.push(waker.clone());
        }
        tag
    }

    pub(crate) fn give_tag(&self, tag: Tag) {
        self.lock().slots.give(tag);
        self.tell();
    }

    pub(crate) fn begin_xid(&self, waker: &Waker) -> Xid {
        let mut inner = self.lock();
        // Under the lock: whoever says what has been answered must know of it.
        let xid = self.client.take_xid();
        inner.unanswered.begin(xid, waker.clone());
        xid
    }

    pub(crate) fn fresh_bits(&self) -> Xid {
        self.client.take_xid()
    }

    pub(crate) fn replace_xid(&self, old: Xid, new: Xid, waker: &Waker) {
        let mut inner = self.lock();
        inner.unanswered.end(old);
        inner.unanswered.begin(new, waker.clone());
    }

    pub(crate) fn end_xid(&self, xid: Xid) {
        self.lock().unanswered.end(xid);
    }

    pub(crate) fn answered_below(&self, own: Xid) -> Xid {
        self.lock().unanswered.answered_below(own)
    }

    pub(crate) fn agreed(&self) -> ConnectFlags {
        self.lock().agreed.flags
    }

    pub(crate) fn connection(&self, way: usize) -> Result<Arc<Connection>, Errno> {
        self.lock().connections.get(way).cloned().flatten().ok_or(Errno::NOT_CONNECTED)
    }

    pub(crate) const fn portals(&self) -> Portals {
        self.config.portals
    }

    pub(crate) const fn bulk_portal(&self) -> u32 {
        self.config.bulk_portal.0
    }

    /// Connecting and pinging are the same everywhere.
    pub(crate) fn service_of(&self, opcode: Opcode) -> Service {
        let common =
            opcode == Opcode::PING || opcode == self.config.connect || opcode == self.config.disconnect;
        if common { Service::OBD } else { self.config.service }
    }

    pub(crate) fn is_adaptive(&self) -> bool {
        !self.client.timeouts().adaptive.max.is_zero()
    }

    /// How long the service is given now.
    pub(crate) fn reckoned(&self, now: Instant) -> Duration {
        self.client.timeouts().of_request(self.lock().service.get(now))
    }

    /// What the network is reckoned to need.
    pub(crate) fn network(&self, now: Instant) -> Duration {
        self.lock().network.get(now).unwrap_or_default()
    }

    /// A reply to what was sent then.
    pub(crate) fn heard(&self, sent: Instant, body: &Body, now: Instant) {
        let took = now.saturating_duration_since(sent);
        let service = Duration::from_secs(body.service_time.into());
        let mut inner = self.lock();
        inner.service.measured(Duration::from_secs(body.timeout.into()), now);
        inner.network.measured(took.saturating_sub(service + Duration::from_secs(1)), now);
        inner.ping = now + self.client.timeouts().ping_interval();
    }

    /// Whether there has been another connection since this generation's: what was sent then is sent again. All requests that
    /// are under way are looked at when that happens.
    pub(crate) fn is_superseded(&self, conn_cnt: u32) -> bool {
        let inner = self.lock();
        inner.machine.state() == State::Full && inner.machine.conn_cnt() != conn_cnt
    }

    /// What was sent in this generation got no answer.
    pub(crate) fn failed(self: &Arc<Self>, conn_cnt: u32) {
        let counts = self.lock().machine.failed(conn_cnt);
        if counts {
            log::warn!("the connection to {} is lost: it is made anew", self.name());
            self.client.attend(self);
        }
    }
}

/// For the thread that connects and pings.
impl Import {
    /// What is to be sent now, and when to look again.
    pub(crate) fn attend(self: &Arc<Self>, now: Instant) -> (Option<Driven>, Option<Instant>) {
        let interval = self.client.timeouts().ping_interval();
        let max_network =
            self.client.timeouts().fixed.max(Duration::from_secs(5)).min(Duration::from_secs(50));
        let mut inner = self.lock();
        if let Some(due) = inner.machine.due(now) {
            return match inner.machine.begin(now, max_network) {
                Some(attempt) => {
                    drop(inner);
                    self.begin_connect(attempt, now)
                }
                None => (None, Some(due)),
            };
        }
        if inner.machine.state() != State::Full || interval.is_zero() {
            return (None, None);
        }
        if inner.ping > now {
            return (None, Some(inner.ping));
        }
        inner.ping = now + interval;
        let next = inner.ping;
        drop(inner);
        (Some(Driven::new(self, self.ping_request(), Purpose::Use, now)), Some(next))
    }

    fn begin_connect(self: &Arc<Self>, attempt: Attempt, now: Instant) -> (Option<Driven>, Option<Instant>) {
        let Attempt { way, conn_cnt, initial, network } = attempt;
        let found = match self.config.servers.get(way) {
            Some(server) => self.client.connections().get(self.node(), server),
            None => Err(Errno::INVALID),
        };
        let connection = match found {
            Ok(connection) => connection,
            Err(errno) => {
                self.connect_ended(conn_cnt, Err(errno), now);
                return (None, Some(now));
            }
        };
        log::debug!("connecting to {} at {}", self.name(), connection.peer);
        let handle = {
            let mut inner = self.lock();
            inner.connections[way] = Some(connection);
            inner.machine.handle()
        };
        let timeout = self.client.timeouts().of_connect(network);
        let purpose = Purpose::Connect { link: Link { way, handle, conn_cnt, life: 0 }, timeout, initial };
        let name = |name: &Name| {
            let mut bytes = name.as_bytes().to_vec();
            bytes.resize(Name::LEN, 0);
            bytes
        };
        let request = Request {
            buffers: vec![
                name(&self.config.target),
                name(&self.config.client),
                self.cookie.0.to_ne_bytes().to_vec(),
                self.config.ask.encode().to_vec(),
                Vec::new(),
            ],
            reply_room: vec![ConnectData::ROOM as u32],
            ..Request::new(self.config.connect)
        };
        (Some(Driven::new(self, request, purpose, now)), None)
    }

    /// Whether this is the try that is under way.
    pub(crate) fn conn_cnt(&self) -> u32 {
        self.lock().machine.conn_cnt()
    }

    /// A try to connect has ended.
    pub(crate) fn connect_ended(&self, conn_cnt: u32, result: Result<Reply, Errno>, now: Instant) {
        let accepted = result.and_then(|reply| self.read_connect_reply(&reply));
        {
            let mut inner = self.lock();
            match accepted {
                Ok((accepted, data)) => {
                    if inner.machine.accepted(conn_cnt, accepted) {
                        inner.agreed = data;
                        inner.slots.set_most(match data.maxmodrpcs {
                            0 => SLOTS,
                            most => most,
                        });
                        inner.ping = now + self.client.timeouts().ping_interval();
                        inner.last_error = None;
                        inner.unanswered.wake();
                    }
                }
                Err(errno) => {
                    log::debug!("{} cannot be connected: {errno}", self.name());
                    if inner.machine.refused(conn_cnt, now) {
                        inner.last_error = Some(errno);
                    }
                }
            }
        }
        self.tell();
    }

    /// PR-10, PR-11.
    fn read_connect_reply(&self, reply: &Reply) -> Result<(Accepted, ConnectData), Errno> {
        reply.result()?;
        let message = reply.message()?;
        let data = ConnectReply::read(&message).map_err(|bad| Errno::from(bad.errno()))?.data;
        if !data.flags.is_subset_of(self.config.ask.flags) || reply.body().handle == ExportCookie::NONE {
            return Err(Errno::PROTOCOL);
        }
        let reconnect = reply.body().op_flags.contains(ConnectOps::RECONNECT);
        Ok((Accepted { handle: reply.body().handle, reconnect }, data))
    }
}

impl std::fmt::Debug for Import {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Import").field("target", &self.name()).field("state", &self.state()).finish()
    }
}
