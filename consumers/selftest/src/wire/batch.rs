//! BATCH (selftest 3.2).

use super::fields::{Fields, Writer};
use super::session_id::SessionId;
use super::status::Status;

/// The number of a batch, which the console chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BatchId(pub u64);

/// The operation that a console asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchCommand {
    /// The node starts all tests of the batch.
    Run {
        /// Seconds; nodes ignore it.
        timeout: u32,
    },
    /// The node stops all tests of the batch.
    Stop {
        /// RPCs in flight are aborted.
        force: bool,
    },
    /// The node tells how much of the batch is running.
    Query {
        /// The test of the node whose RPC loops are counted, from 1 on; 0: the tests of the batch are counted. Below 0 it is
        /// invalid.
        test: i32,
    },
}

/// A console does something with a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchRequest {
    /// The session of the console.
    pub session: SessionId,
    /// The batch.
    pub batch: BatchId,
    /// The operation to carry out.
    pub command: BatchCommand,
}

/// A request for a batch as it was received, unchecked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncomingBatch {
    /// The session of the console.
    pub session: Option<SessionId>,
    /// The batch.
    pub batch: BatchId,
    /// The operation to carry out; `None`: the peer sent an unknown one.
    pub command: Option<BatchCommand>,
}

const RUN: u32 = 1;
const STOP: u32 = 2;
const QUERY: u32 = 3;

impl IncomingBatch {
    pub(super) fn read(fields: Fields<'_>) -> Self {
        let argument = fields.u32(64);
        let command = match fields.u32(56) {
            RUN => Some(BatchCommand::Run { timeout: argument }),
            STOP => Some(BatchCommand::Stop { force: argument != 0 }),
            QUERY => Some(BatchCommand::Query { test: fields.i32(60) }),
            _ => None,
        };
        Self { session: fields.session(32), batch: BatchId(fields.u64(48)), command }
    }
}

impl BatchRequest {
    pub(super) fn write(&self, writer: &mut Writer) {
        let (opcode, test, argument) = match self.command {
            BatchCommand::Run { timeout } => (RUN, 0, timeout),
            BatchCommand::Stop { force } => (STOP, 0, force.into()),
            BatchCommand::Query { test } => (QUERY, test, 0),
        };
        writer.session(32, Some(self.session));
        writer.u64(48, self.batch.0);
        writer.u32(56, opcode);
        writer.u32(60, test.cast_unsigned());
        writer.u32(64, argument);
    }
}

/// The reply to [`BatchRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchReply {
    /// The result of the operation.
    pub status: Status,
    /// The session that the node has.
    pub session: Option<SessionId>,
    /// The number of tests or RPC loops that run. Only defined after [`BatchCommand::Query`].
    pub active: u32,
}

impl BatchReply {
    pub(super) fn read(fields: Fields<'_>) -> Self {
        Self { status: fields.status(), session: fields.session(28), active: fields.u32(44) }
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.status(self.status);
        writer.session(28, self.session);
        writer.u32(44, self.active);
    }
}
