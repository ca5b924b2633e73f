//! The RPCs that a console sends, and the parts of the replies that it reads.

use super::call::{ReplyContent, SessionNumber};
use super::name::Name;
use super::test_spec::TestSpec;
use crate::wire::Features;
use lnet_wire::ProcessId;

/// The number that identifies an RPC of a console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RpcId(pub u64);

/// A batch, as nodes know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BatchNumber(pub u64);

/// All features that this console knows (lnet-selftest 10).
pub const KNOWN_FEATURES: u32 = Features::KNOWN.0;

/// A request to a node's framework.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcRequest {
    /// The node that the RPC is sent to.
    pub to: ProcessId,
    /// The console's session.
    pub session: SessionNumber,
    /// The features in the header.
    pub features: u32,
    /// The operation, with its arguments.
    pub body: RpcBody,
}

/// The operation of a request, with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RpcBody {
    /// Join the session.
    MakeSession {
        /// Whether the session replaces one that the node has.
        force: bool,
        /// The session's name.
        name: Name,
    },
    /// Leave the session.
    RemoveSession,
    /// Report the session of the node.
    Debug,
    /// Report the counters.
    Stat,
    /// Start a batch.
    RunBatch {
        /// The batch.
        batch: BatchNumber,
        /// Seconds; nodes ignore it.
        timeout: u32,
    },
    /// Stop a batch.
    StopBatch {
        /// The batch.
        batch: BatchNumber,
        /// RPCs in flight are given up.
        force: bool,
    },
    /// Tell how much of a batch or test runs.
    QueryBatch {
        /// The batch.
        batch: BatchNumber,
        /// The node's own number of a test, from 1 on; 0: all.
        test: u32,
    },
    /// Be a server of a test.
    AddServer {
        /// The batch.
        batch: BatchNumber,
        /// A hint for how many buffers to post.
        load: i32,
        /// RPCs at once between two nodes.
        concurrency: u32,
        /// The kind of each RPC, with its parameters.
        test: TestSpec,
    },
    /// Be a client of a test.
    AddClient {
        /// The batch.
        batch: BatchNumber,
        /// The number of RPCs one after the other; below 0: without end.
        repeat: i32,
        /// RPCs at once between two nodes.
        concurrency: u32,
        /// The kind of each RPC, with its parameters.
        test: TestSpec,
        /// The servers, which the node fetches as bulk. At most [`SAFE_DESTINATIONS`](crate::wire::SAFE_DESTINATIONS).
        destinations: Vec<ProcessId>,
    },
}

/// The content of a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcReply {
    /// The features in the header.
    pub features: u32,
    /// 0, or the positive number of an error.
    pub status: u32,
    /// The session that the node has.
    pub session: SessionNumber,
    /// The content beside the status.
    pub said: ReplyContent,
}
