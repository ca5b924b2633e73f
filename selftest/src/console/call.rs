//! What `lst` asks a console for, and what it answers.

use super::distribution::Distribution;
use super::name::Name;
use super::test_spec::TestSpec;
use lnet_wire::{Nid, ProcessId};
use serde::{Deserialize, Serialize};

/// A command, with the key of the session that it is about (`LST_SESSION`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Not 0. [`Command::NewSession`] sets it, [`Command::ShowSession`] does without.
    pub key: u32,
    /// What to do.
    pub command: Command,
}

/// What a console does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Makes the session.
    NewSession(NewSession),
    /// Takes the session from all nodes, and ends it.
    EndSession,
    /// [`Answer::Session`].
    ShowSession,
    /// Makes a group without nodes.
    AddGroup {
        /// Its name.
        group: Name,
    },
    /// Puts nodes into a group, and gives those the session that do not have it.
    AddNodes {
        /// The group.
        group: Name,
        /// The nodes.
        nids: Vec<Nid>,
    },
    /// Gives nodes of a group the session where they do not have it.
    RefreshGroup {
        /// The group.
        group: Name,
    },
    /// Forgets nodes of a group, without asking them.
    CleanGroup {
        /// The group.
        group: Name,
        /// Those in one of these states.
        states: Vec<NodeState>,
    },
    /// Takes the session from nodes of a group that are in no other one, and forgets them.
    RemoveNodes {
        /// The group.
        group: Name,
        /// Those of them that are in it.
        nids: Vec<Nid>,
    },
    /// The same for all of its nodes, and deletes it.
    DeleteGroup {
        /// The group.
        group: Name,
    },
    /// [`Answer::Names`].
    ListGroups,
    /// [`Answer::Nodes`].
    ShowGroup {
        /// The group.
        group: Name,
    },
    /// Asks nodes for their session.
    Ping {
        /// Which.
        target: Target,
        /// Seconds; at least 3 and at most 30 count.
        timeout: u32,
    },
    /// Asks nodes for their counters.
    Stat {
        /// Which.
        target: Target,
        /// Seconds; at least 3 and at most 30 count.
        timeout: u32,
    },
    /// Makes a batch without tests.
    AddBatch {
        /// Its name.
        batch: Name,
    },
    /// Puts a test into a batch.
    AddTest(AddTest),
    /// Starts the tests of a batch.
    RunBatch {
        /// The batch.
        batch: Name,
        /// Sent to the nodes, which do not look at it.
        timeout: u32,
    },
    /// Tells nodes to end the tests of a batch, which then takes its time.
    StopBatch {
        /// The batch.
        batch: Name,
        /// RPCs in flight are given up.
        force: bool,
    },
    /// Asks nodes for what still runs.
    QueryBatch {
        /// The batch.
        batch: Name,
        /// Which of its tests, from 1 on; 0: all.
        test: u32,
        /// Seconds.
        timeout: u32,
    },
    /// [`Answer::Names`].
    ListBatches,
    /// [`Answer::Batch`].
    ShowBatch {
        /// The batch.
        batch: Name,
    },
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewSession {
    /// Its name.
    pub name: Name,
    /// After so many seconds without a command it ends.
    pub idle_timeout: u32,
    /// It takes the place of whatever sessions there are, here and on nodes.
    pub force: bool,
    /// The features that nodes are asked for.
    pub features: u32,
}

/// A test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddTest {
    /// The batch that it goes into.
    pub batch: Name,
    /// The group of the clients.
    pub from: Name,
    /// The group of the servers.
    pub to: Name,
    /// RPCs at once between two nodes.
    pub concurrency: u32,
    /// RPCs of each of these, one after the other; below 0: without end. Not 0.
    pub repeat: i32,
    /// Which clients have which servers.
    pub distribution: Distribution,
    /// What each RPC is.
    pub test: TestSpec,
}

/// Some nodes of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// All.
    Session,
    /// Those of a group.
    Group(Name),
    /// These.
    Nodes(Vec<Nid>),
    /// The clients of a batch, or its servers.
    Batch {
        /// The batch.
        batch: Name,
        /// Its servers.
        server: bool,
    },
}

/// What a command comes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// There is no more to say.
    Done,
    /// The session.
    Session(SessionInfo),
    /// Groups or batches, in the order in which they were made.
    Names(Vec<Name>),
    /// The nodes of a group, in its order.
    Nodes(Vec<NodeInfo>),
    /// A batch.
    Batch(BatchInfo),
    /// What nodes said.
    Outcome(Outcome),
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// Its name.
    pub name: Name,
    /// Its number, on all nodes.
    pub id: SessionNumber,
    /// The key that its commands need.
    pub key: u32,
    /// The features of its messages.
    pub features: u32,
    /// After so many seconds without a command it ends.
    pub idle_timeout: u32,
    /// It took the place of others.
    pub force: bool,
    /// How many nodes it knows.
    pub nodes: usize,
}

/// A session's number, as nodes know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionNumber {
    /// The console's; `None`: that of no session.
    pub nid: Option<Nid>,
    /// Differs from that of every other session of this console.
    pub stamp: i64,
}

/// What a console knows of a node (lnet-selftest 12.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// It has the session.
    Active,
    /// It has another one.
    Busy,
    /// It did not answer in time.
    Down,
    /// Nothing.
    Unknown,
}

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeInfo {
    /// Who.
    pub id: ProcessId,
    /// How it is.
    pub state: NodeState,
}

/// A batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchInfo {
    /// Its tests run, as far as the console knows.
    pub running: bool,
    /// Its tests, in order.
    pub tests: Vec<TestInfo>,
    /// The clients of all tests.
    pub clients: Vec<NodeInfo>,
    /// The servers of all tests.
    pub servers: Vec<NodeInfo>,
}

/// A test of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestInfo {
    /// What each RPC is.
    pub test: TestSpec,
    /// How often; below 0: without end.
    pub repeat: i32,
    /// RPCs at once between two nodes.
    pub concurrency: u32,
    /// Its clients.
    pub clients: Vec<NodeInfo>,
    /// Its servers.
    pub servers: Vec<NodeInfo>,
}

/// What came of a transaction: RPCs to several nodes at once (lnet-selftest 12.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Which.
    pub operation: Operation,
    /// One for each RPC, in the order of the nodes.
    pub nodes: Vec<NodeResult>,
    /// The features of the session, after it.
    pub features: u32,
}

/// What is asked of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// To take the session.
    MakeSession,
    /// To give it up.
    RemoveSession,
    /// Which session they have.
    Debug,
    /// To be the servers of a test.
    AddServer,
    /// To be the clients of a test.
    AddClient,
    /// To start a batch.
    Run,
    /// To end it.
    Stop,
    /// What runs.
    Query,
    /// Their counters.
    Stat,
}

/// What came of one RPC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeResult {
    /// Who was asked.
    pub id: ProcessId,
    /// How it is now.
    pub state: NodeState,
    /// What it said.
    pub reply: RpcResult,
    /// Whether that is what was wanted.
    pub accepted: bool,
}

/// Whether an RPC was answered, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RpcResult {
    /// It was not: the positive number of an error.
    Failed(i32),
    /// By this.
    Answered {
        /// 0, or the positive number of an error.
        status: u32,
        /// The session that the node has.
        session: SessionNumber,
        /// What else it said.
        said: Said,
    },
}

/// What a reply has beside its status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// Nothing.
    Nothing,
    /// The session that it has.
    Session {
        /// After so many seconds without a request it ends.
        timeout: u32,
        /// Its name.
        name: String,
    },
    /// How many clients of a batch, or how many units of a test, still run.
    Running(u32),
    /// Its counters.
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
    /// In this session.
    pub brw_errors: u32,
    /// In this session.
    pub ping_errors: u32,
    pub rpc_errors: u32,
    pub rpcs_sent: u32,
    pub rpcs_received: u32,
    pub rpcs_dropped: u32,
    pub rpcs_expired: u32,
    /// Bytes that the node fetched as a server.
    pub bulk_get: u64,
    /// Bytes that it put as a server.
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
    /// That of no session: all bits are set.
    pub const NONE: Self = Self { nid: None, stamp: -1 };
}

impl NodeState {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Active, Self::Busy, Self::Down, Self::Unknown];

    /// As `lst` prints it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "Active",
            Self::Busy => "Busy",
            Self::Down => "Down",
            Self::Unknown => "Unknown",
        }
    }
}

impl Outcome {
    /// RPCs that were not answered.
    pub fn failed_rpcs(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node.reply, RpcResult::Failed(_))).count()
    }

    /// Replies that say no.
    pub fn refusals(&self) -> usize {
        let refused = |node: &&NodeResult| matches!(node.reply, RpcResult::Answered { .. }) && !node.accepted;
        self.nodes.iter().filter(refused).count()
    }

    /// Every RPC was answered, and by a yes.
    pub fn is_well(&self) -> bool {
        self.nodes.iter().all(|node| node.accepted)
    }
}

impl NodeResult {
    /// The counters, where it was asked for them and said them.
    pub fn counters(&self) -> Option<&Counters> {
        match &self.reply {
            RpcResult::Answered { said: Said::Counters(counters), .. } if self.accepted => Some(counters),
            _ => None,
        }
    }
}
