//! What answers requests.

use crate::wire::{Features, IncomingRequest, Message, Reply};
use lnet_api::{Nid, ProcessId, Region};
use std::sync::Arc;

/// Whom a request is from, and to which of the local NIs it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    /// The process, by the NID that it sent from: the reply goes there.
    pub process: ProcessId,
    /// The local NI, from which the reply goes.
    pub to: Option<Nid>,
}

/// Answers the requests to a service.
pub trait RequestHandler: Send + Sync {
    /// Answers a request. Must not block on the network.
    fn handle(&self, request: &IncomingRequest, from: &Sender) -> Response;

    /// Is called about every second.
    fn tick(&self) {}
}

/// What becomes of a request.
pub enum Response {
    /// There is no reply, and its sender waits until its time is up.
    Drop,
    /// The reply.
    Reply(Message),
    /// First bulk data is transferred. If that fails there is no reply.
    Bulk {
        /// The transfer.
        transfer: BulkTransfer,
        /// What then becomes of the request.
        then: BulkDone,
    },
}

/// Is called with the memory of a transfer that has succeeded.
pub type BulkDone = Box<dyn FnOnce(Arc<Region>) -> Response + Send>;

/// A transfer of bulk data by the server, as one message.
pub enum BulkTransfer {
    /// It fetches into all of the memory.
    Get {
        /// The client's match bits.
        bits: u64,
        /// The server's memory.
        region: Arc<Region>,
    },
    /// It sends the first bytes of the memory.
    Put {
        /// The client's match bits.
        bits: u64,
        /// The server's memory.
        region: Arc<Region>,
        /// How many bytes.
        length: usize,
    },
}

impl Response {
    /// A reply.
    pub fn reply(features: Features, reply: &Reply) -> Self {
        Self::Reply(reply.write(features))
    }
}
