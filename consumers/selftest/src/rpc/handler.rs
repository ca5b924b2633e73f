//! The interface between the RPC engine and the services that respond to requests.

use crate::wire::{Features, IncomingRequest, Message, Reply};
use lnet_api::{Nid, ProcessId, Region};
use std::sync::Arc;

/// The sender of a request, and the local NI that it was sent to.
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

    /// Called about once a second, for timeouts.
    fn tick(&self) {}
}

/// The response to a request.
pub enum Response {
    /// Send no reply: the peer's RPC ends by its timeout.
    Drop,
    /// The reply.
    Reply(Message),
    /// Transfer bulk data first. If that fails there is no reply.
    Bulk {
        /// The transfer.
        transfer: BulkTransfer,
        /// Returns the response after the transfer.
        then: BulkDone,
    },
}

/// Called with the memory of a transfer that has succeeded; returns the response that follows.
pub type BulkDone = Box<dyn FnOnce(Arc<Region>) -> Response + Send>;

/// A transfer of bulk data by the server, as one message.
pub enum BulkTransfer {
    /// The server fetches into all of the memory.
    Get {
        /// The client's match bits.
        bits: u64,
        /// The server's memory.
        region: Arc<Region>,
    },
    /// The server sends the first bytes of the memory.
    Put {
        /// The client's match bits.
        bits: u64,
        /// The server's memory.
        region: Arc<Region>,
        /// The number of bytes to send.
        length: usize,
    },
}

impl Response {
    /// A reply.
    pub fn reply(features: Features, reply: &Reply) -> Self {
        Self::Reply(reply.write(features))
    }
}
