//! The reply to a request.

use crate::Errno;
use crate::lnet::RegionSlice;
use crate::message::{Body, Message};

/// The reply of a service.
#[derive(Clone, Debug)]
pub struct Reply {
    bytes: RegionSlice,
    body: Body,
    bulk_bytes: u64,
}

impl Reply {
    pub(super) const fn new(bytes: RegionSlice, body: Body) -> Self {
        Self { bytes, body, bulk_bytes: 0 }
    }

    pub(super) const fn set_bulk_bytes(&mut self, bulk_bytes: u64) {
        self.bulk_bytes = bulk_bytes;
    }

    /// The status: 0, a negative errno, or a value that the operation defines.
    pub const fn status(&self) -> i32 {
        self.body.status
    }

    /// The status as a result.
    pub fn result(&self) -> Result<(), Errno> {
        Errno::from_status(self.body.status).map_or(Ok(()), Err)
    }

    /// The body.
    pub const fn body(&self) -> &Body {
        &self.body
    }

    /// Buffer `index`, from 1; `None`: there is no such buffer.
    pub fn buffer(&self, index: usize) -> Option<&[u8]> {
        Message::parse(&self.bytes).ok()?.buffer(index)
    }

    /// Bytes of bulk data that were transferred.
    pub const fn bulk_bytes(&self) -> u64 {
        self.bulk_bytes
    }

    /// The whole message, in its sender's byte order.
    pub fn message(&self) -> Result<Message<'_>, Errno> {
        Message::parse(&self.bytes).map_err(|bad| bad.errno())
    }
}
