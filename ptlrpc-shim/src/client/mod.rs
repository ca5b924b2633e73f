//! What all imports of a process share: LNet, numbers of requests, connections, and a thread that connects and pings.

mod adaptive;
mod connection;
mod daemon;

pub use adaptive::{Adaptive, Longest, Timeouts};
pub use connection::{Connection, Connections};

use crate::errno::Errno;
use crate::import::{Import, ImportConfig};
use crate::lnet::{Nid, Node};
use crate::message::xid::first_xid;
use crate::message::{Xid, XidSource};
use daemon::Daemon;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// One for the process: all its clients wait for replies at the same portals of one node, by these numbers.
static XIDS: LazyLock<XidSource> = LazyLock::new(|| {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    XidSource::new(first_xid(since_1970.as_secs(), fastrand::u64(..)))
});

/// The client's side of a process. Used from any thread.
pub struct Client {
    node: Arc<Node>,
    timeouts: Timeouts,
    connections: Connections,
    cookies: AtomicU64,
    daemon: Daemon,
}

impl Client {
    /// Begins, with a thread named `ptlrpcd`.
    pub fn start(node: Arc<Node>, timeouts: Timeouts) -> Result<Arc<Self>, Errno> {
        let daemon = Daemon::start()?;
        Ok(Arc::new(Self {
            node,
            timeouts,
            connections: Connections::default(),
            cookies: AtomicU64::new(fastrand::u64(..)),
            daemon,
        }))
    }

    /// A target, which is not connected yet.
    pub fn import(self: &Arc<Self>, config: ImportConfig) -> Result<Arc<Import>, Errno> {
        if config.servers.is_empty() {
            return Err(Errno::INVALID);
        }
        Ok(Import::new(self, config))
    }

    /// A server of this UUID has these NIDs.
    pub fn add_uuid(&self, uuid: &str, nids: &[Nid]) -> Result<(), Errno> {
        self.connections.add_uuid(&self.node, uuid, nids)
    }

    /// Whom a UUID, or a NID, names: the peer by its primary NID, and the nearest interface of this node.
    pub fn uuid_to_peer(&self, uuid: &str) -> Result<Connection, Errno> {
        self.connections.uuid_to_peer(&self.node, uuid)
    }

    /// LNet.
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// How long RPCs may take.
    pub const fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    pub(crate) const fn connections(&self) -> &Connections {
        &self.connections
    }

    pub(crate) fn take_xid(&self) -> Xid {
        XIDS.take()
    }

    /// A number that no other import of this process has.
    pub(crate) fn cookie(&self) -> u64 {
        self.cookies.fetch_add(1, Ordering::Relaxed) | 1 << 63
    }

    /// Has the thread look at an import.
    pub(crate) fn attend(&self, import: &Arc<Import>) {
        self.daemon.attend(import);
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("timeouts", &self.timeouts).finish_non_exhaustive()
    }
}
