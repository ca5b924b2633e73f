//! Targets, and the clients that are connected to them.
//!
//! A target may be served at several portals: then several services have the same [`Targets`].

use super::connect::{Caller, Connection, agree, judge};
use super::difficult::Ledger;
use super::duplicates::{Asked, Duplicates, Verdict};
use super::request::Admitted;
use crate::errno::Errno;
use crate::lnet::{ProcessId, Region};
use crate::message::body::ExportCookie;
use crate::message::{Body, ConnectData, ConnectOps, ConnectRequest, Name};
use crate::sync::lock;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// The targets of a server, and who is connected to them.
pub struct Targets(Mutex<Tables>);

struct Tables {
    targets: HashMap<Name, Arc<Target>>,
    exports: HashMap<ExportCookie, Arc<Export>>,
    /// By target and client.
    clients: HashMap<(Name, Name), Arc<Export>>,
    random: fastrand::Rng,
}

/// What clients connect to.
pub struct Target {
    name: Name,
    data: ConnectData,
    last_committed: AtomicU64,
    ledger: Ledger,
}

/// A client's connection to a target.
pub struct Export {
    cookie: ExportCookie,
    client: Name,
    target: Arc<Target>,
    state: Mutex<State>,
}

struct State {
    caller: Caller,
    peer: ProcessId,
    agreed: ConnectData,
    heard: Instant,
    is_connected: bool,
    requests: Duplicates<Weak<Admitted>, Arc<Region>>,
}

/// The most connections. Each may make the server keep answers, and UUIDs cost a client nothing.
const MAX_EXPORTS: usize = 1 << 16;

/// A client that was given a connection.
pub(super) struct Connected {
    pub(super) export: Arc<Export>,
    pub(super) data: ConnectData,
    pub(super) ops: ConnectOps,
}

/// Why a client was given none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotConnected {
    Refused(Errno),
    /// The request is of the past.
    Past,
}

impl Targets {
    /// None yet. `seed`: for the names of connections. It has to be another one each time the server starts, so that
    /// what clients have from before names nothing, and none that strangers can guess.
    pub fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Tables {
            targets: HashMap::new(),
            exports: HashMap::new(),
            clients: HashMap::new(),
            random: fastrand::Rng::with_seed(seed),
        })))
    }

    /// One more target, of which clients get what they ask for and `data` has. `EEXIST`: there is one of that name.
    pub fn add(&self, name: Name, data: ConnectData) -> Result<Arc<Target>, Errno> {
        let target =
            Arc::new(Target { name, data, last_committed: AtomicU64::new(0), ledger: Ledger::default() });
        let mut tables = lock(&self.0);
        if tables.targets.contains_key(&name) {
            return Err(Errno::EXISTS);
        }
        tables.targets.insert(name, Arc::clone(&target));
        Ok(target)
    }

    /// Who is connected by that name.
    pub fn export(&self, cookie: ExportCookie) -> Option<Arc<Export>> {
        lock(&self.0).exports.get(&cookie).cloned()
    }

    /// All that are connected, in no order.
    pub fn exports(&self) -> Vec<Arc<Export>> {
        lock(&self.0).exports.values().cloned().collect()
    }

    /// Ends all connections of a client; how many there were. It is told by the answer to its next request, and what
    /// was held for it is let go.
    pub fn evict(&self, client: &Name) -> usize {
        self.end(|export| export.client == *client)
    }

    /// Ends the connections of which nothing was heard for `after` (PR-12); how many there were.
    pub fn evict_silent(&self, now: Instant, after: Duration) -> usize {
        self.end(|export| now.saturating_duration_since(lock(&export.state).heard) >= after)
    }

    /// Connects a client, or connects it again.
    pub(super) fn connect(
        &self,
        asked: &ConnectRequest,
        body: &Body,
        peer: ProcessId,
        now: Instant,
    ) -> Result<Connected, NotConnected> {
        let caller = Caller { handle: asked.handle, conn_cnt: body.conn_cnt };
        let is_first = body.op_flags.contains(ConnectOps::INITIAL);
        let mut tables = lock(&self.0);
        let target = tables.targets.get(&asked.target).cloned();
        let target = target.ok_or(NotConnected::Refused(Errno::NO_DEVICE))?;
        let known = tables.clients.get(&(asked.target, asked.client)).cloned();
        let data = agree(&asked.data, &target.data);
        let verdict = judge(known.as_ref().map(|known| lock(&known.state).caller), caller, is_first);
        let (export, ended) = match (verdict, known) {
            (Connection::Past, _) => return Err(NotConnected::Past),
            (Connection::Again, Some(export)) => {
                let mut state = lock(&export.state);
                (state.caller, state.peer, state.agreed, state.heard) = (caller, peer, data, now);
                state.requests.set_slots(data.maxmodrpcs);
                drop(state);
                return Ok(Connected { export, data, ops: ConnectOps::RECONNECT });
            }
            (Connection::New | Connection::Anew | Connection::Again, known) => {
                if tables.exports.len() >= MAX_EXPORTS {
                    return Err(NotConnected::Refused(Errno::BUSY));
                }
                let export = Arc::new(Export {
                    cookie: tables.new_cookie(),
                    client: asked.client,
                    target,
                    state: Mutex::new(State {
                        caller,
                        peer,
                        agreed: data,
                        heard: now,
                        is_connected: true,
                        requests: Duplicates::new(data.maxmodrpcs),
                    }),
                });
                if let Some(known) = &known {
                    tables.remove(known);
                }
                tables.exports.insert(export.cookie, Arc::clone(&export));
                tables.clients.insert((asked.target, asked.client), Arc::clone(&export));
                (export, known)
            }
        };
        drop(tables);
        if let Some(ended) = ended {
            ended.let_go();
        }
        Ok(Connected { export, data, ops: ConnectOps::NONE })
    }

    /// The client leaves.
    pub(super) fn disconnect(&self, export: &Arc<Export>) {
        lock(&self.0).remove(export);
        export.let_go();
    }

    /// What is held by answers of that service is let go.
    pub(super) fn lose_service(&self, house: &Arc<super::housekeeper::House>) {
        let targets: Vec<_> = lock(&self.0).targets.values().cloned().collect();
        targets.iter().for_each(|target| target.ledger.lost_service(house));
    }

    fn end(&self, which: impl Fn(&Export) -> bool) -> usize {
        let mut tables = lock(&self.0);
        let ended: Vec<_> = tables.exports.values().filter(|export| which(export)).cloned().collect();
        ended.iter().for_each(|export| tables.remove(export));
        drop(tables);
        ended.iter().for_each(|export| export.let_go());
        ended.len()
    }
}

impl Tables {
    /// 0 names nobody.
    fn new_cookie(&mut self) -> ExportCookie {
        loop {
            let cookie = ExportCookie(self.random.u64(1..));
            if !self.exports.contains_key(&cookie) {
                return cookie;
            }
        }
    }

    /// Takes a connection out, if it is there.
    fn remove(&mut self, export: &Arc<Export>) {
        self.exports.remove(&export.cookie);
        let of_client = (export.target.name, export.client);
        if self.clients.get(&of_client).is_some_and(|it| Arc::ptr_eq(it, export)) {
            self.clients.remove(&of_client);
        }
    }
}

impl Target {
    /// Its name.
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// All transactions up to this one are on disk: replies say so from now on, and what is held for their answers is
    /// let go.
    pub fn commit(&self, transno: u64) {
        self.last_committed.fetch_max(transno, Ordering::AcqRel);
        self.ledger.committed(transno);
    }

    /// The highest transaction that is on disk.
    pub fn last_committed(&self) -> u64 {
        self.last_committed.load(Ordering::Acquire)
    }

    pub(super) const fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

impl Export {
    /// The server's name for the connection.
    pub const fn cookie(&self) -> ExportCookie {
        self.cookie
    }

    /// The client's UUID.
    pub const fn client(&self) -> &Name {
        &self.client
    }

    /// What it is connected to.
    pub const fn target(&self) -> &Arc<Target> {
        &self.target
    }

    /// The client's name for the connection, by which it is called back.
    pub fn client_handle(&self) -> ExportCookie {
        lock(&self.state).caller.handle
    }

    /// The client's process, by its primary NID when it last connected.
    pub fn peer(&self) -> ProcessId {
        lock(&self.state).peer
    }

    /// How often the client has connected.
    pub fn conn_cnt(&self) -> u32 {
        lock(&self.state).caller.conn_cnt
    }

    /// What both sides have agreed on.
    pub fn agreed(&self) -> ConnectData {
        lock(&self.state).agreed
    }

    /// When the client was last heard.
    pub fn heard(&self) -> Instant {
        lock(&self.state).heard
    }

    /// Whether the client has neither disconnected nor been evicted.
    pub fn is_connected(&self) -> bool {
        lock(&self.state).is_connected
    }

    /// A request of this client has come.
    pub(super) fn begin(
        &self,
        asked: Asked,
        request: &Arc<Admitted>,
    ) -> Verdict<Weak<Admitted>, Arc<Region>> {
        lock(&self.state).requests.begin(asked, Arc::downgrade(request))
    }

    /// The request is over.
    pub(super) fn end(&self, asked: Asked, answer: Option<Arc<Region>>) {
        lock(&self.state).requests.end(asked, answer);
    }

    /// The client was heard.
    pub(super) fn hear(&self, now: Instant) {
        lock(&self.state).heard = now;
    }

    fn let_go(&self) {
        lock(&self.state).is_connected = false;
        self.target.ledger.lost_client(self.cookie);
    }
}

impl std::fmt::Debug for Targets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tables = lock(&self.0);
        write!(f, "{:?}, {} connections", tables.targets.keys(), tables.exports.len())
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Target({})", self.name)
    }
}

impl std::fmt::Debug for Export {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Export({:#x}, {} at {})", self.cookie.0, self.client, self.target.name)
    }
}

#[cfg(test)]
#[path = "export_tests.rs"]
mod tests;
