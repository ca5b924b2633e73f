//! The commands that `lst` sends to a console, and the console's answers.

use super::distribution::Distribution;
use super::name::Name;
use super::test_spec::TestSpec;
use lnet_wire::{Nid, ProcessId};
use serde::{Deserialize, Serialize};

/// A command, with the key of the session that it applies to (`LST_SESSION`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The session's key, not 0. [`Command::NewSession`] sets it, [`Command::ShowSession`] ignores it.
    pub key: u32,
    /// The command to carry out.
    pub command: Command,
}

/// The commands of a console.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Makes the session.
    NewSession(NewSession),
    /// Removes the session from all nodes, and ends it.
    EndSession,
    /// Shows the session: [`Response::Session`].
    ShowSession,
    /// Makes a group without nodes.
    AddGroup {
        /// The group's name.
        group: Name,
    },
    /// Adds nodes to a group, and the session to those that do not have it.
    AddNodes {
        /// The group.
        group: Name,
        /// The nodes.
        nids: Vec<Nid>,
    },
    /// Adds the session to nodes of a group that do not have it.
    RefreshGroup {
        /// The group.
        group: Name,
    },
    /// Forgets nodes of a group, without asking them.
    CleanGroup {
        /// The group.
        group: Name,
        /// The states of the nodes to forget.
        states: Vec<NodeState>,
    },
    /// Takes the session from nodes of a group that are in no other one, and forgets them.
    RemoveNodes {
        /// The group.
        group: Name,
        /// The NIDs of the nodes to remove; those that are not in the group are ignored.
        nids: Vec<Nid>,
    },
    /// Removes all nodes of the group, and deletes it.
    DeleteGroup {
        /// The group.
        group: Name,
    },
    /// Lists the groups: [`Response::Names`].
    ListGroups,
    /// Shows the nodes of a group: [`Response::Nodes`].
    ShowGroup {
        /// The group.
        group: Name,
    },
    /// Requests the session of nodes.
    Ping {
        /// The nodes to ask.
        target: Target,
        /// The timeout in seconds; below 3 counts as 3, above 30 as 30.
        timeout: u32,
    },
    /// Requests the counters of nodes.
    Stat {
        /// The nodes to ask.
        target: Target,
        /// The timeout in seconds; below 3 counts as 3, above 30 as 30.
        timeout: u32,
    },
    /// Makes a batch without tests.
    AddBatch {
        /// The batch's name.
        batch: Name,
    },
    /// Puts a test into a batch.
    AddTest(AddTest),
    /// Starts the tests of a batch.
    RunBatch {
        /// The batch.
        batch: Name,
        /// Seconds, sent to the nodes, which ignore them.
        timeout: u32,
    },
    /// Tells nodes to end the tests of a batch, which then takes its time.
    StopBatch {
        /// The batch.
        batch: Name,
        /// RPCs in flight are given up.
        force: bool,
    },
    /// Requests from nodes which tests still run.
    QueryBatch {
        /// The batch.
        batch: Name,
        /// The test of the batch, from 1 on; 0: all.
        test: u32,
        /// The timeout in seconds.
        timeout: u32,
    },
    /// Forgets a batch, which should not run: nodes keep its tests until the session ends. Groups that no other test uses may change
    /// again. The batch that every session has stays.
    DeleteBatch {
        /// The batch.
        batch: Name,
    },
    /// Lists the batches: [`Response::Names`].
    ListBatches,
    /// Shows a batch: [`Response::Batch`].
    ShowBatch {
        /// The batch.
        batch: Name,
    },
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewSession {
    /// The session's name.
    pub name: Name,
    /// Seconds without a command after which the session ends.
    pub idle_timeout: u32,
    /// Whether the new session replaces the console's session and those of the nodes.
    pub force: bool,
    /// The features that nodes are asked for.
    pub features: u32,
}

/// A test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddTest {
    /// The batch that the test is added to.
    pub batch: Name,
    /// The group of the clients.
    pub from: Name,
    /// The group of the servers.
    pub to: Name,
    /// RPCs at once between two nodes.
    pub concurrency: u32,
    /// RPCs of each of these, one after the other; below 0: without end. Not 0.
    pub repeat: i32,
    /// The assignment of servers to clients.
    pub distribution: Distribution,
    /// The kind of each RPC, with its parameters.
    pub test: TestSpec,
}

/// A selection of the session's nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// All nodes of the session.
    Session,
    /// The nodes of a group.
    Group(Name),
    /// The nodes with these NIDs.
    Nodes(Vec<Nid>),
    /// The clients of a batch, or its servers.
    Batch {
        /// The batch.
        batch: Name,
        /// Whether the nodes are the servers.
        server: bool,
    },
}

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// The command is done, and has no values to show.
    Done,
    /// The session.
    Session(SessionInfo),
    /// Groups or batches, in the order in which they were made.
    Names(Vec<Name>),
    /// The nodes of a group, in its order.
    Nodes(Vec<NodeInfo>),
    /// A batch.
    Batch(BatchInfo),
    /// The results of the RPCs to nodes.
    Outcome(TransactionResult),
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// The session's name.
    pub name: Name,
    /// The session's number, the same on all nodes.
    pub id: SessionNumber,
    /// The key that commands for the session need.
    pub key: u32,
    /// The features of the session's messages.
    pub features: u32,
    /// Seconds without a command after which the session ends.
    pub idle_timeout: u32,
    /// Whether the session has replaced others.
    pub force: bool,
    /// The number of nodes in the session's groups.
    pub nodes: usize,
}

/// A session's number, as nodes know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionNumber {
    /// The NID of the console; `None` in the id of no session.
    pub nid: Option<Nid>,
    /// A number that differs from that of every other session of this console.
    pub stamp: i64,
}

/// The state of a node, as the console knows it (lnet-selftest 12.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// The node has the session.
    Active,
    /// The node has another session.
    Busy,
    /// The node did not answer in time.
    Down,
    /// The console has heard nothing of the node yet.
    Unknown,
}

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeInfo {
    /// The node's process ID.
    pub id: ProcessId,
    /// The node's state.
    pub state: NodeState,
}

/// A batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchInfo {
    /// Whether tests of the batch run, as far as the console knows.
    pub running: bool,
    /// The tests of the batch, in order.
    pub tests: Vec<TestInfo>,
    /// The clients of all tests.
    pub clients: Vec<NodeInfo>,
    /// The servers of all tests.
    pub servers: Vec<NodeInfo>,
}

/// A test of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestInfo {
    /// The kind of each RPC, with its parameters.
    pub test: TestSpec,
    /// The number of RPCs one after the other; below 0: without end.
    pub repeat: i32,
    /// RPCs at once between two nodes.
    pub concurrency: u32,
    /// The clients of the test.
    pub clients: Vec<NodeInfo>,
    /// The servers of the test.
    pub servers: Vec<NodeInfo>,
}

/// The results of a transaction: RPCs to several nodes at once (lnet-selftest 12.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransactionResult {
    /// The operation that the nodes were asked for.
    pub operation: Operation,
    /// The results, one for each RPC, in the order of the nodes.
    pub nodes: Vec<NodeResult>,
    /// The features of the session, after it.
    pub features: u32,
}

/// The operation that a transaction asks of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Join the session.
    MakeSession,
    /// Leave the session.
    RemoveSession,
    /// Tell which session the node has.
    Debug,
    /// Be a server of a test.
    AddServer,
    /// Be a client of a test.
    AddClient,
    /// Start a batch.
    Run,
    /// Stop a batch.
    Stop,
    /// Tell how much of a batch or test runs.
    Query,
    /// Report the counters.
    Stat,
}

/// The result of one RPC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeResult {
    /// The node that the RPC was sent to.
    pub id: ProcessId,
    /// The node's state after the RPC.
    pub state: NodeState,
    /// The node's reply, or the failure of the RPC.
    pub reply: RpcResult,
    /// Whether the reply is the expected one.
    pub accepted: bool,
}

/// Whether an RPC was answered, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RpcResult {
    /// There was no reply; the value is the positive errno.
    Failed(i32),
    /// The node has replied.
    // The key of `lst --format json`, which programs read.
    #[serde(rename = "answered")]
    Responded {
        /// 0, or the positive number of an error.
        status: u32,
        /// The session that the node has.
        session: SessionNumber,
        /// The content of the reply besides its status.
        said: ReplyContent,
    },
}

/// The content of a reply besides its status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyContent {
    /// The reply has only a status.
    Nothing,
    /// The session of the node.
    Session {
        /// Seconds without a request after which the node ends the session.
        timeout: u32,
        /// The session's name.
        name: String,
    },
    /// The number of clients of a batch, or of units of a test, that still run.
    Running(u32),
    /// The node's counters.
    Counters(Counters),
}

/// A node's counters (lnet-selftest 9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "named as they are shown")]
pub struct Counters {
    /// Milliseconds since the session was made.
    pub running_ms: u32,
    pub active_batches: u32,
    pub zombie_sessions: u32,
    /// Errors of brw tests in this session.
    pub brw_errors: u32,
    /// Errors of ping tests in this session.
    pub ping_errors: u32,
    pub rpc_errors: u32,
    pub rpcs_sent: u32,
    pub rpcs_received: u32,
    pub rpcs_dropped: u32,
    pub rpcs_expired: u32,
    /// Bytes that the node fetched as a server.
    pub bulk_get: u64,
    /// The bytes that the node has put as a server.
    pub bulk_put: u64,
    /// LNet messages.
    pub sent: u32,
    pub received: u32,
    pub dropped: u32,
    /// Bytes of payload.
    pub sent_bytes: u64,
    pub received_bytes: u64,
    pub dropped_bytes: u64,
}

impl SessionNumber {
    /// The number that means no session: all bits are set.
    pub const NONE: Self = Self { nid: None, stamp: -1 };
}

impl NodeState {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Active, Self::Busy, Self::Down, Self::Unknown];

    /// The name by which `lst` prints the state.
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "Active",
            Self::Busy => "Busy",
            Self::Down => "Down",
            Self::Unknown => "Unknown",
        }
    }
}

impl TransactionResult {
    /// RPCs that were not answered.
    pub fn failed_rpcs(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node.reply, RpcResult::Failed(_))).count()
    }

    /// Returns the number of replies that refuse.
    pub fn refusals(&self) -> usize {
        let refused =
            |node: &&NodeResult| matches!(node.reply, RpcResult::Responded { .. }) && !node.accepted;
        self.nodes.iter().filter(refused).count()
    }

    /// Whether every node answered and accepted.
    pub fn is_well(&self) -> bool {
        self.nodes.iter().all(|node| node.accepted)
    }
}

impl NodeResult {
    /// Returns the counters in the reply, if the node was asked for them and sent them.
    pub fn counters(&self) -> Option<&Counters> {
        match &self.reply {
            RpcResult::Responded { said: ReplyContent::Counters(counters), .. } if self.accepted => {
                Some(counters)
            }
            _ => None,
        }
    }
}
