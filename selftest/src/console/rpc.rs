//! The RPCs that a console sends, and what it reads of the replies.

use super::call::{Said, SessionNumber};
use super::name::Name;
use super::test_spec::TestSpec;
use lnet_wire::ProcessId;

/// Which of a console's RPCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RpcId(pub u64);

/// A batch, as nodes know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BatchNumber(pub u64);

/// The feature that bulk may have any length (lnet-selftest 10).
pub const BULK_LEN: u32 = 1;
/// All features that this console knows.
pub const KNOWN_FEATURES: u32 = BULK_LEN;

/// A request to a node's framework.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcRequest {
    /// Whom it is for.
    pub to: ProcessId,
    /// The console's session.
    pub session: SessionNumber,
    /// The features in the header.
    pub features: u32,
    /// What it asks for.
    pub body: RpcBody,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RpcBody {
    /// To take the session.
    MakeSession {
        /// In place of another one.
        force: bool,
        /// Its name.
        name: Name,
    },
    /// To give the session up.
    RemoveSession,
    /// Which session it has.
    Debug,
    /// Its counters.
    Stat,
    /// To run a batch.
    RunBatch {
        /// Which.
        batch: BatchNumber,
        /// Nodes do not look at it.
        timeout: u32,
    },
    /// To end it.
    StopBatch {
        /// Which.
        batch: BatchNumber,
        /// RPCs in flight are given up.
        force: bool,
    },
    /// What of it runs.
    QueryBatch {
        /// Which.
        batch: BatchNumber,
        /// The node's own number of a test, from 1 on; 0: all.
        test: u32,
    },
    /// To be a server of a test.
    AddServer {
        /// The batch.
        batch: BatchNumber,
        /// A hint for how many buffers to post.
        load: i32,
        /// RPCs at once between two nodes.
        concurrency: u32,
        /// What each RPC is.
        test: TestSpec,
    },
    /// To be a client of a test.
    AddClient {
        /// The batch.
        batch: BatchNumber,
        /// How often; below 0: without end.
        repeat: i32,
        /// RPCs at once between two nodes.
        concurrency: u32,
        /// What each RPC is.
        test: TestSpec,
        /// The servers, which the node fetches as bulk. At most [`MAX_DESTINATIONS`].
        destinations: Vec<ProcessId>,
    },
}

/// So many fit into the first page of the list; more make some kernel nodes fall over (lnet-selftest 5.6).
pub const MAX_DESTINATIONS: usize = 341;

/// What a reply says.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcReply {
    /// The features in the header.
    pub features: u32,
    /// 0, or the positive number of an error.
    pub status: u32,
    /// The session that the node has.
    pub session: SessionNumber,
    /// What else.
    pub said: Said,
}
