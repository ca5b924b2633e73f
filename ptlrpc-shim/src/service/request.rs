//! A request: as the service keeps it, and as the program sees it.

use super::admit::Head;
use super::bulk;
use super::config::Adaptive;
use super::duplicates::Asked;
use super::early::{Patience, due, extended};
use super::export::Export;
use super::incoming::Arrived;
use super::server::Core;
use crate::errno::Errno;
use crate::lnet::{Nid, ProcessId, Region, RegionSlice};
use crate::message::{Body, BodyFlags, ByteOrder, ConnectFlags, Message, Opcode, Xid};
use crate::sync::{lock, wait};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

/// A request that is to be served, or is being served.
pub(super) struct Admitted {
    pub(super) arrived: Arrived,
    pub(super) head: Head,
    /// Only who connects has none.
    pub(super) export: Option<Arc<Export>>,
    live: Mutex<Live>,
    early_has_left: Condvar,
}

/// What changes while it is served.
struct Live {
    route: Route,
    patience: Patience,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    /// An early reply is being given to LNet.
    SendingEarly,
    /// No early reply from now on.
    Closed,
}

/// Where answers go, and where bulk data is (PR-40): as the client said last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Route {
    /// The interface of this node that the request came to.
    pub(super) self_nid: Nid,
    /// The interface that it came from.
    pub(super) source: ProcessId,
    /// Match bits of the reply (PR-21).
    pub(super) reply_bits: u64,
    /// Match bits of the bulk transfer's last MD (PR-22).
    pub(super) mbits: u64,
    /// The reply lies behind the room for early ones (PR-72).
    pub(super) at_support: bool,
}

/// What is next for the early replies of a request.
pub(super) enum Early {
    /// Send this, then say so by [`Admitted::early_sent`].
    Send(Route, Patience),
    /// Look again.
    Later(Instant),
    /// None any more.
    Never,
}

impl Route {
    /// That of a request that has arrived. `agreed`: of its connection, if it has one.
    pub(super) fn new(arrived: &Arrived, head: &Head, agreed: ConnectFlags) -> Self {
        let has_own_bits = agreed.contains(ConnectFlags::REP_MBITS) && !head.body.opcode.is_connect();
        Self {
            self_nid: arrived.self_nid,
            source: arrived.source,
            reply_bits: if has_own_bits { head.body.mbits } else { arrived.xid.0 },
            mbits: head.body.mbits,
            at_support: head.at_support,
        }
    }
}

impl Admitted {
    pub(super) fn new(
        arrived: Arrived,
        head: Head,
        export: Option<Arc<Export>>,
        route: Route,
        patience: Patience,
    ) -> Self {
        let live = Live { route, patience, stage: Stage::Open };
        Self { arrived, head, export, live: Mutex::new(live), early_has_left: Condvar::new() }
    }

    /// What decides whether it came before.
    pub(super) const fn asked(&self) -> Asked {
        Asked { xid: self.arrived.xid, tag: self.head.body.tag, last_xid: self.head.body.last_xid }
    }

    pub(super) fn route(&self) -> Route {
        lock(&self.live).route
    }

    /// Until when the client waits.
    pub(super) fn deadline(&self) -> Instant {
        lock(&self.live).patience.deadline()
    }

    /// The client has sent it again, and waits anew.
    pub(super) fn follow(&self, route: Route, patience: Patience) {
        let mut live = lock(&self.live);
        live.route = route;
        if patience.deadline() > live.patience.deadline() {
            live.patience = patience;
        }
    }

    /// When the next early reply is due, if ever.
    pub(super) fn next_early(&self, adaptive: &Adaptive) -> Option<Instant> {
        let live = lock(&self.live);
        if live.route.at_support { due(adaptive, live.patience) } else { None }
    }

    /// What is to be done now about early replies.
    pub(super) fn early(&self, adaptive: &Adaptive, now: Instant) -> Early {
        let mut live = lock(&self.live);
        match due(adaptive, live.patience) {
            _ if live.stage != Stage::Open => Early::Never,
            None => Early::Never,
            Some(due) if due > now => Early::Later(due),
            Some(_) => match extended(adaptive, live.patience, now) {
                None => Early::Never,
                Some(patience) => {
                    (live.patience, live.stage) = (patience, Stage::SendingEarly);
                    Early::Send(live.route, patience)
                }
            },
        }
    }

    /// The early reply has been given to LNet. `then` is called before the real reply can be, with when the next one is due.
    pub(super) fn early_sent(&self, adaptive: &Adaptive, then: impl FnOnce(Instant)) {
        let mut live = lock(&self.live);
        live.stage = Stage::Open;
        self.early_has_left.notify_all();
        if let Some(due) = due(adaptive, live.patience) {
            then(due);
        }
    }

    /// Calls `then` unless it has been closed.
    pub(super) fn if_open(&self, then: impl FnOnce()) {
        if lock(&self.live).stage != Stage::Closed {
            then();
        }
    }

    /// No early reply will be sent after this; one that is being sent is waited for. Where the reply goes.
    pub(super) fn close(&self) -> Route {
        let mut live = lock(&self.live);
        while live.stage == Stage::SendingEarly {
            live = wait(&self.early_has_left, live);
        }
        live.stage = Stage::Closed;
        live.route
    }
}

/// A request that a [`Handler`](super::Handler) is to serve.
pub struct ServiceRequest<'a> {
    pub(super) core: &'a Core,
    pub(super) admitted: &'a Admitted,
    pub(super) export: &'a Arc<Export>,
    pub(super) message: Message<'a>,
    pub(super) bulk_failed: bool,
}

impl<'a> ServiceRequest<'a> {
    /// What the client wants.
    pub const fn opcode(&self) -> Opcode {
        self.admitted.head.body.opcode
    }

    /// The body.
    pub const fn body(&self) -> &'a Body {
        &self.admitted.head.body
    }

    /// The number of the request.
    pub const fn xid(&self) -> Xid {
        self.admitted.arrived.xid
    }

    /// Buffer `index`; 0 is the body. `None`: there is no such buffer. Numbers in it are in [`ServiceRequest::order`].
    pub fn buffer(&self, index: usize) -> Option<&'a [u8]> {
        self.message.buffer(index)
    }

    /// How many buffers there are, the body counted.
    pub const fn buffer_count(&self) -> usize {
        self.message.buffer_count()
    }

    /// The byte order of the client.
    pub const fn order(&self) -> ByteOrder {
        self.admitted.head.order
    }

    /// Bytes of a reply that the client has room for.
    pub fn reply_room(&self) -> usize {
        self.message.repsize() as usize
    }

    /// Whether the client has sent it before.
    pub const fn is_resent(&self) -> bool {
        self.body().flags.contains(BodyFlags::RESENT)
    }

    /// The client's process, by its primary NID (`rq_peer`).
    pub const fn peer(&self) -> ProcessId {
        self.admitted.arrived.peer
    }

    /// The interface that the client sent it from, the last time (`rq_source`).
    pub fn source(&self) -> ProcessId {
        self.admitted.route().source
    }

    /// The interface of this node that it came to, the last time (`rq_self`).
    pub fn self_nid(&self) -> Nid {
        self.admitted.route().self_nid
    }

    /// When it came.
    pub const fn arrived(&self) -> Instant {
        self.admitted.arrived.at
    }

    /// Until when the client waits; early replies put it off.
    pub fn deadline(&self) -> Instant {
        self.admitted.deadline()
    }

    /// The client's connection.
    pub const fn export(&self) -> &'a Arc<Export> {
        self.export
    }

    /// Writes to the client's memory, and waits until it is there (PR-22, PR-55, PR-76): MDs of 1 MiB each, the last
    /// one of what is left; those that the client has beyond that get nothing, and it is told so.
    ///
    /// # Errors
    /// `EPROTO`: the client has announced no bulk transfer, or less memory; `ETIMEDOUT`: it was not done when the
    /// client gave up; LNet's. After an error there is no reply, whatever the handler answers: the client has to send
    /// its request again.
    pub fn bulk_put(&mut self, from: &Arc<Region>) -> Result<(), Errno> {
        let done = bulk::put(self.core, self.admitted, from);
        self.bulk_failed |= done.is_err();
        done
    }

    /// Reads `len` bytes of the client's memory, and waits until they are here. As [`ServiceRequest::bulk_put`].
    pub fn bulk_get(&mut self, len: usize) -> Result<RegionSlice, Errno> {
        let got = bulk::get(self.core, self.admitted, len);
        self.bulk_failed |= got.is_err();
        got
    }

    /// The same, into memory of the caller's, all of which is filled.
    pub fn bulk_get_into(&mut self, into: &Arc<Region>) -> Result<(), Errno> {
        let done = bulk::get_into(self.core, self.admitted, into);
        self.bulk_failed |= done.is_err();
        done
    }
}

impl std::fmt::Debug for ServiceRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?} of {:?}", self.opcode(), self.xid(), self.export)
    }
}
