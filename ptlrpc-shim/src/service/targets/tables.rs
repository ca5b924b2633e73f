//! The tables of targets and connections.

use super::export::Export;
use super::target::Target;
use crate::Errno;
use crate::clock::Time;
use crate::lnet::ProcessId;
use crate::message::body::ExportCookie;
use crate::message::{Body, ConnectData, ConnectOps, ConnectRequest, Name};
use crate::service::engines::difficult_reply::EndedQueue;
use crate::service::rules::connect::{ClientSide, ConnectKind, agree, classify};
use foldhash::{HashMap, HashMapExt};
use lnet_api::sync::lock;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The targets of a server, and the clients that are connected to them.
pub struct Targets(Mutex<Tables>);

struct Tables {
    targets: HashMap<Name, Arc<Target>>,
    exports: HashMap<ExportCookie, Arc<Export>>,
    /// The connected clients, by target and client UUID.
    clients: HashMap<(Name, Name), Arc<Export>>,
    random: fastrand::Rng,
}

/// The most connections. The server may have to keep replies for each, and clients can choose any UUIDs.
const MAX_EXPORTS: usize = 1 << 16;

/// A client that was connected.
pub(crate) struct Connected {
    pub(crate) export: Arc<Export>,
    pub(crate) data: ConnectData,
    pub(crate) ops: ConnectOps,
}

/// The reason why a client was not connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotConnected {
    Refused(Errno),
    /// The request is stale: there is no reply.
    Stale,
}

impl Targets {
    /// Tables without targets. `seed` is for the handles of connections. It must differ each time that the server
    /// starts, so that handles from before are unknown, and must not be predictable.
    pub fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Tables {
            targets: HashMap::new(),
            exports: HashMap::new(),
            clients: HashMap::new(),
            random: fastrand::Rng::with_seed(seed),
        })))
    }

    /// Adds a target. Clients get those parts of `data` that they request. `EEXIST`: there is a target of that name.
    pub fn add(&self, name: Name, data: ConnectData) -> Result<Arc<Target>, Errno> {
        let mut tables = lock(&self.0);
        if tables.targets.contains_key(&name) {
            return Err(Errno::Exists);
        }
        let target = Arc::new(Target::new(name, data));
        tables.targets.insert(name, Arc::clone(&target));
        Ok(target)
    }

    /// The connection with this handle.
    pub fn export(&self, cookie: ExportCookie) -> Option<Arc<Export>> {
        lock(&self.0).exports.get(&cookie).cloned()
    }

    /// All connections, in no order.
    pub fn exports(&self) -> Vec<Arc<Export>> {
        lock(&self.0).exports.values().cloned().collect()
    }

    /// Ends all connections of a client; returns how many there were. The client learns it from the reply to its next request,
    /// and its difficult replies end.
    pub fn evict(&self, client: &Name) -> usize {
        self.remove(|export| export.client() == client)
    }

    /// Ends the connections without a request for `after` (PR-12); returns how many there were.
    pub fn evict_unresponsive(&self, now: Time, after: Duration) -> usize {
        self.remove(|export| now.since(export.last_heard()) >= after)
    }

    /// Connects a client, or connects it again.
    pub(crate) fn connect(
        &self,
        request: &ConnectRequest,
        body: &Body,
        peer: ProcessId,
        now: Time,
    ) -> Result<Connected, NotConnected> {
        let client_side = ClientSide { handle: request.handle, conn_cnt: body.conn_cnt };
        let initial = body.op_flags.contains(ConnectOps::INITIAL);
        let mut tables = lock(&self.0);
        let target = tables.targets.get(&request.target).cloned();
        let target = target.ok_or(NotConnected::Refused(Errno::NoDevice))?;
        let known = tables.clients.get(&(request.target, request.client)).cloned();
        let data = agree(&request.data, target.data());
        let kind = classify(known.as_ref().map(|known| known.client_side()), client_side, initial);
        match (kind, known) {
            (ConnectKind::Stale, _) => Err(NotConnected::Stale),
            (ConnectKind::Reconnect, Some(export)) => {
                export.on_reconnect(client_side, peer, data, now);
                Ok(Connected { export, data, ops: ConnectOps::RECONNECT })
            }
            (ConnectKind::New | ConnectKind::Restarted | ConnectKind::Reconnect, known) => {
                if tables.exports.len() >= MAX_EXPORTS {
                    return Err(NotConnected::Refused(Errno::Busy));
                }
                let cookie = tables.new_cookie();
                let export = Export::new(cookie, request.client, target, client_side, peer, data, now);
                let export = Arc::new(export);
                if let Some(known) = &known {
                    tables.remove(known);
                }
                tables.exports.insert(cookie, Arc::clone(&export));
                tables.clients.insert((request.target, request.client), Arc::clone(&export));
                drop(tables);
                if let Some(known) = known {
                    known.on_removed();
                }
                Ok(Connected { export, data, ops: ConnectOps::NONE })
            }
        }
    }

    /// Disconnects a client.
    pub(crate) fn disconnect(&self, export: &Arc<Export>) {
        lock(&self.0).remove(export);
        export.on_removed();
    }

    /// Ends the difficult replies of the service that takes its ended replies here.
    pub(crate) fn on_service_ending(&self, ended: &Arc<dyn EndedQueue>) {
        let targets: Vec<_> = lock(&self.0).targets.values().cloned().collect();
        targets.iter().for_each(|target| target.difficult_replies().on_service_ending(ended));
    }

    fn remove(&self, is_removed: impl Fn(&Export) -> bool) -> usize {
        let mut tables = lock(&self.0);
        let removed: Vec<_> = tables.exports.values().filter(|export| is_removed(export)).cloned().collect();
        removed.iter().for_each(|export| tables.remove(export));
        drop(tables);
        removed.iter().for_each(|export| export.on_removed());
        removed.len()
    }
}

impl Tables {
    /// A new handle, which is not 0.
    fn new_cookie(&mut self) -> ExportCookie {
        loop {
            let cookie = ExportCookie(self.random.u64(1..));
            if !self.exports.contains_key(&cookie) {
                return cookie;
            }
        }
    }

    fn remove(&mut self, export: &Arc<Export>) {
        self.exports.remove(&export.cookie());
        let of_client = (*export.target().name(), *export.client());
        if self.clients.get(&of_client).is_some_and(|it| Arc::ptr_eq(it, export)) {
            self.clients.remove(&of_client);
        }
    }
}

impl std::fmt::Debug for Targets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tables = lock(&self.0);
        write!(f, "{:?}, {} connections", tables.targets.keys(), tables.exports.len())
    }
}

#[cfg(test)]
#[path = "tables_tests.rs"]
mod tests;
