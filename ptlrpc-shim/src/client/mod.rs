//! The client side of a process: LNet, the clock, the thread `ptlrpcd`, imports and sets of requests.

mod import;
mod ptlrpcd;
mod request_set;

pub use crate::import::{Connection, ImportConfig, ImportState};
pub use crate::timeouts::{Adaptive, Timeouts};
pub use import::Import;
pub use request_set::{RequestId, RequestSet};

use crate::Errno;
use crate::clock::{Clock, SystemClock};
use crate::import::{Connections, Session};
use crate::lnet::{Nid, Node};
use crate::message::xid::first_xid;
use crate::message::{ExportCookie, XidSource};
use crate::request::{RequestEvents, RequestSender};
use ptlrpcd::Ptlrpcd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// The source of XIDs, one for the process: replies to all of its clients are matched by XID at the same portals of one node.
static XIDS: LazyLock<XidSource> = LazyLock::new(|| {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    XidSource::new(first_xid(since_1970.as_secs(), fastrand::u64(..)))
});

/// The client side of a process. Used from any thread.
pub struct Client {
    sender: Arc<RequestSender>,
    clock: Arc<dyn Clock>,
    timeouts: Timeouts,
    connections: Arc<Connections>,
    cookies: AtomicU64,
    ptlrpcd: Arc<Ptlrpcd>,
}

impl Client {
    /// Starts a client with the machine's clock, and its thread `ptlrpcd`.
    pub fn start(node: Arc<Node>, timeouts: Timeouts) -> Result<Arc<Self>, Errno> {
        Self::start_with_clock(node, timeouts, Arc::new(SystemClock))
    }

    /// Starts a client all of whose timeouts go by `clock`.
    pub fn start_with_clock(
        node: Arc<Node>,
        timeouts: Timeouts,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, Errno> {
        let connections = Arc::<Connections>::default();
        let sender = Arc::new(RequestSender::new(&node, RequestEvents::default()));
        let ptlrpcd = Ptlrpcd::start(Arc::clone(&sender), Arc::clone(&clock), Arc::clone(&connections))?;
        Ok(Arc::new(Self {
            sender,
            clock,
            timeouts,
            connections,
            cookies: AtomicU64::new(fastrand::u64(..)),
            ptlrpcd: Arc::new(ptlrpcd),
        }))
    }

    /// Makes an import of a target, which is not connected yet.
    pub fn import(&self, config: ImportConfig) -> Result<Arc<Import>, Errno> {
        if config.servers.is_empty() {
            return Err(Errno::Invalid);
        }
        let (cookie, now) = (self.new_cookie(), self.clock.now());
        let session = Session::new(config, self.timeouts, &XIDS, cookie, self.ptlrpcd.waker(), now);
        Ok(Import::new(&self.sender, &self.clock, &self.ptlrpcd, session))
    }

    /// Adds NIDs of the server with this UUID.
    pub fn add_uuid(&self, uuid: &str, nids: &[Nid]) -> Result<(), Errno> {
        self.connections.add_uuid(self.node(), uuid, nids)
    }

    /// Forgets a UUID.
    pub fn remove_uuid(&self, uuid: &str) -> Result<(), Errno> {
        self.connections.remove_uuid(uuid)
    }

    /// The peer of a UUID, or of a NID, by its primary NID, and the nearest local NI.
    pub fn uuid_to_peer(&self, uuid: &str) -> Result<Connection, Errno> {
        self.connections.uuid_to_peer(self.node(), uuid)
    }

    /// The LNet node.
    pub fn node(&self) -> &Arc<Node> {
        self.sender.node()
    }

    /// The timeouts.
    pub const fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    /// A handle that no other import of this client has.
    fn new_cookie(&self) -> ExportCookie {
        ExportCookie(self.cookies.fetch_add(1, Ordering::Relaxed) | 1 << 63)
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("timeouts", &self.timeouts).finish_non_exhaustive()
    }
}
