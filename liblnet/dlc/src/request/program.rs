//! The programs that are attached to a node: they use it through shared memory.

use serde::{Deserialize, Serialize};

/// The programs of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedPrograms {
    /// Those that are attached, in the order in which they came.
    pub programs: Vec<AttachedProgram>,
    /// Attachments that were refused since the start of the node.
    pub refused: u64,
}

/// A program that is attached to the node. Its counts begin with the attachment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedProgram {
    /// The name that the program gives itself; printable, at most 32 characters.
    pub name: String,
    /// The id of its process; `None` if that has none on the side of the node (containers).
    pub process: Option<u32>,
    /// The id of its user; `None` if the system did not say.
    pub user: Option<u32>,
    /// Its PID on the node, from which its messages come.
    pub pid: u32,
    /// The seconds since it was attached.
    pub seconds: u64,
    /// The bytes of its memory that the node has mapped.
    pub registered_bytes: u64,
    /// MDs that the program has made so far, by the way of their payload.
    pub payload: PayloadWays,
    /// The ring with what the program asks for.
    pub operations_ring: RingFill,
    /// The ring with what the node tells the program.
    pub reports_ring: RingFill,
    /// What was done.
    pub counts: ProgramCounts,
    /// The MEs that it has.
    pub mes: u32,
    /// The MDs that it has.
    pub mds: u32,
    /// The claims of match bits that it has.
    pub claims: u32,
    /// The GETs of peers that wait for its data.
    pub waiting_gets: u32,
    /// The ACKs that wait until it has handled the events of PUTs.
    pub waiting_acks: u32,
    /// The PUTs and GETs of the program that wait, as it has as many under way as it may.
    pub waiting_requests: u32,
}

/// Numbers of MDs by the way of their payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadWays {
    /// MDs whose memory the node uses where the program has it.
    pub in_place: u64,
    /// MDs whose payload is copied between the memory of the program and memory that the node can access.
    pub copied: u64,
}

/// How full a ring is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingFill {
    /// The bytes that were written and not read.
    pub in_use: u64,
    /// All bytes.
    pub bytes: u64,
}

/// What was done for a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramCounts {
    /// Operations that the node has carried out for it, registrations of memory among them.
    pub operations: u64,
    /// Those of them that ended with an error.
    pub refused: u64,
    /// Reports to it: results, events, requests for data.
    pub reports: u64,
    /// Those of them that had to wait for room in the ring.
    pub delayed_reports: u64,
    /// Times that the program has woken the node.
    pub node_wakeups: u64,
    /// Times that the node has woken the program.
    pub program_wakeups: u64,
}
