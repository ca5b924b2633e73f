//! A request in the view of the program.

use super::engines::bulk::BulkTransfer;
use super::engines::environment::Environment;
use super::engines::incoming_request::IncomingRequest;
use super::targets::Export;
use crate::Errno;
use crate::clock::Time;
use crate::lnet::{Nid, ProcessId, Region, RegionSlice};
use crate::message::{Body, BodyFlags, ByteOrder, Message, Opcode, Xid};
use std::sync::Arc;
use std::time::Duration;

/// A request that a [`Handler`](super::Handler) is to serve.
pub struct ServiceRequest<'a> {
    env: &'a Environment,
    request: &'a IncomingRequest,
    export: &'a Arc<Export>,
    message: Message<'a>,
    /// See [`BulkTransfer::on_fallback`].
    on_bulk_fallback: &'a dyn Fn(),
    bulk_failed: bool,
}

impl<'a> ServiceRequest<'a> {
    pub(crate) const fn new(
        env: &'a Environment,
        request: &'a IncomingRequest,
        export: &'a Arc<Export>,
        message: Message<'a>,
        on_bulk_fallback: &'a dyn Fn(),
    ) -> Self {
        Self { env, request, export, message, on_bulk_fallback, bulk_failed: false }
    }

    /// Whether a bulk transfer has failed: then there is no reply.
    pub(crate) const fn bulk_failed(&self) -> bool {
        self.bulk_failed
    }

    /// The operation.
    pub const fn opcode(&self) -> Opcode {
        self.request.head.body.opcode
    }

    /// Reads the body.
    pub fn body(&self) -> Result<Body, Errno> {
        self.message.body().map_err(|bad| bad.errno())
    }

    /// The XID.
    pub const fn xid(&self) -> Xid {
        self.request.arrived.xid
    }

    /// Buffer `index`; 0 is the body. `None`: there is no such buffer. Numbers in it are in [`ServiceRequest::order`].
    pub fn buffer(&self, index: usize) -> Option<&'a [u8]> {
        self.message.buffer(index)
    }

    /// The number of buffers, the body included.
    pub const fn buffer_count(&self) -> usize {
        self.message.buffer_count()
    }

    /// The byte order of the client.
    pub const fn order(&self) -> ByteOrder {
        self.request.head.order
    }

    /// The length of the reply that the client expects.
    pub fn reply_len(&self) -> usize {
        self.message.repsize() as usize
    }

    /// Whether the client has sent the request before.
    pub const fn is_resent(&self) -> bool {
        self.request.head.body.flags.contains(BodyFlags::RESENT)
    }

    /// The client's process, by its primary NID (`rq_peer`).
    pub const fn peer(&self) -> ProcessId {
        self.request.arrived.peer
    }

    /// The NI from which the client last sent the request (`rq_source`).
    pub fn source(&self) -> ProcessId {
        self.request.route().source
    }

    /// The local NI to which the client last sent the request (`rq_self`).
    pub fn self_nid(&self) -> Nid {
        self.request.route().self_nid
    }

    /// The time at which the request arrived.
    pub const fn arrived(&self) -> Time {
        self.request.arrived.at
    }

    /// The time at which the client gives up; early replies extend it.
    pub fn deadline(&self) -> Time {
        self.request.deadline()
    }

    /// The time until [`ServiceRequest::deadline`].
    pub fn time_left(&self) -> Duration {
        self.deadline().since(self.env.now())
    }

    /// The client's connection.
    pub const fn export(&self) -> &'a Arc<Export> {
        self.export
    }

    /// Writes to the client's memory, and waits until the data has arrived (PR-22, PR-55, PR-76): in MDs of 1 MiB each, the
    /// last one for the rest. MDs of the client beyond that get nothing, and the client is told so.
    ///
    /// # Errors
    /// `EPROTO`: the client has announced no bulk transfer, or less memory; `ETIMEDOUT`: the transfer was not finished when
    /// the client gave up; errors of LNet. After an error no reply is sent, whatever the handler returns: the client has to
    /// send its request again.
    pub fn bulk_put(&mut self, from: &Arc<Region>) -> Result<(), Errno> {
        let done = self.transfer().put(from);
        self.bulk_failed |= done.is_err();
        done
    }

    /// Reads `len` bytes of the client's memory, and waits until they are here. As [`ServiceRequest::bulk_put`].
    pub fn bulk_get(&mut self, len: usize) -> Result<RegionSlice, Errno> {
        let got = self.transfer().get(len);
        self.bulk_failed |= got.is_err();
        got
    }

    /// Does the same into memory of the caller, all of which is filled.
    pub fn bulk_get_into(&mut self, into: &Arc<Region>) -> Result<(), Errno> {
        let done = self.transfer().get_into(into);
        self.bulk_failed |= done.is_err();
        done
    }

    const fn transfer(&self) -> BulkTransfer<'a> {
        BulkTransfer { env: self.env, request: self.request, on_fallback: self.on_bulk_fallback }
    }
}

impl std::fmt::Debug for ServiceRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?} of {:?}", self.opcode(), self.xid(), self.export)
    }
}
