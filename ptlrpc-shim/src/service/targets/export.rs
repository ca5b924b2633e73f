//! The connection of a client, as the server keeps it.

use super::target::Target;
use crate::clock::Time;
use crate::lnet::ProcessId;
use crate::message::body::ExportCookie;
use crate::message::{ConnectData, ConnectFlags, Name};
use crate::service::engines::incoming_request::IncomingRequest;
use crate::service::rules::connect::ClientSide;
use crate::service::rules::duplicates::{DuplicateCheck, Duplicates, RequestKey};
use lnet_api::sync::lock;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// A client's connection to a target.
pub struct Export {
    cookie: ExportCookie,
    client: Name,
    target: Arc<Target>,
    state: Mutex<ExportState>,
}

struct ExportState {
    client_side: ClientSide,
    peer: ProcessId,
    agreed: ConnectData,
    last_heard: Time,
    is_connected: bool,
    requests: Duplicates<Weak<IncomingRequest>, Arc<[u8]>>,
}

/// See [`Export::connection`].
pub(crate) struct ConnectionState<'a>(MutexGuard<'a, ExportState>);

impl Export {
    pub(super) fn new(
        cookie: ExportCookie,
        client: Name,
        target: Arc<Target>,
        client_side: ClientSide,
        peer: ProcessId,
        agreed: ConnectData,
        now: Time,
    ) -> Self {
        let requests = Duplicates::new(agreed.maxmodrpcs);
        let state = ExportState { client_side, peer, agreed, last_heard: now, is_connected: true, requests };
        Self { cookie, client, target, state: Mutex::new(state) }
    }

    /// The server's handle of the connection.
    pub const fn cookie(&self) -> ExportCookie {
        self.cookie
    }

    /// The client's UUID.
    pub const fn client(&self) -> &Name {
        &self.client
    }

    /// The target that the client is connected to.
    pub const fn target(&self) -> &Arc<Target> {
        &self.target
    }

    /// The client's handle of the connection, which requests from the server to the client carry.
    pub fn client_handle(&self) -> ExportCookie {
        lock(&self.state).client_side.handle
    }

    /// The client's process, by its primary NID when it last connected.
    pub fn peer(&self) -> ProcessId {
        lock(&self.state).peer
    }

    /// The connection count.
    pub fn conn_cnt(&self) -> u32 {
        lock(&self.state).client_side.conn_cnt
    }

    /// The connect data that both sides have agreed on.
    pub fn agreed(&self) -> ConnectData {
        lock(&self.state).agreed
    }

    /// The time at which the last request of the client arrived.
    pub fn last_heard(&self) -> Time {
        lock(&self.state).last_heard
    }

    /// Whether the client has neither disconnected nor been evicted.
    pub fn is_connected(&self) -> bool {
        lock(&self.state).is_connected
    }

    /// The state of the connection, for a decision about a request. It stays as it is until this is dropped.
    pub(crate) fn connection(&self) -> ConnectionState<'_> {
        ConnectionState(lock(&self.state))
    }

    /// Records the end of a request, with its reply if there was one.
    pub(crate) fn end(&self, key: RequestKey, reply: Option<&[u8]>) {
        // Only replies to requests with a slot are kept.
        let kept = reply.filter(|_| key.tag != 0).map(Arc::from);
        lock(&self.state).requests.end(key, kept);
    }

    pub(super) fn client_side(&self) -> ClientSide {
        lock(&self.state).client_side
    }

    /// Takes the state of a client that has connected again.
    pub(super) fn on_reconnect(
        &self,
        client_side: ClientSide,
        peer: ProcessId,
        agreed: ConnectData,
        now: Time,
    ) {
        let mut state = lock(&self.state);
        (state.client_side, state.peer, state.agreed, state.last_heard) = (client_side, peer, agreed, now);
        state.requests.set_slots(agreed.maxmodrpcs);
    }

    /// Ends the client's difficult replies, after the export was removed from the tables.
    pub(super) fn on_removed(&self) {
        lock(&self.state).is_connected = false;
        self.target.difficult_replies().on_client_lost(self.cookie);
    }
}

impl ConnectionState<'_> {
    /// The connection count, and the flags that both sides have agreed on.
    pub(crate) fn agreed(&self) -> (u32, ConnectFlags) {
        (self.0.client_side.conn_cnt, self.0.agreed.flags)
    }

    /// Checks whether a request of this client that is admitted at `now` is a duplicate.
    pub(crate) fn begin(
        mut self,
        key: RequestKey,
        request: &Arc<IncomingRequest>,
        now: Time,
    ) -> DuplicateCheck<Weak<IncomingRequest>, Arc<[u8]>> {
        self.0.last_heard = now;
        self.0.requests.begin(key, Arc::downgrade(request))
    }
}

impl std::fmt::Debug for Export {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Export({:#x}, {} at {})", self.cookie.0, self.client, self.target.name())
    }
}
