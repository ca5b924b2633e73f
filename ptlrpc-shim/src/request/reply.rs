//! The reply to a request.

use super::transmission::Shared;
use crate::Errno;
use crate::lnet::RegionSlice;
use crate::message::{Body, Message};

/// The reply of a service.
#[derive(Clone, Debug)]
pub struct Reply {
    bytes: RegionSlice<Shared>,
    status: i32,
    bulk_bytes: u64,
}

impl Reply {
    /// The reply in `bytes`, whose body has this status.
    pub(super) const fn new(bytes: RegionSlice<Shared>, status: i32) -> Self {
        Self { bytes, status, bulk_bytes: 0 }
    }

    pub(super) const fn set_bulk_bytes(&mut self, bulk_bytes: u64) {
        self.bulk_bytes = bulk_bytes;
    }

    /// The status: 0, a negative errno, or a value that the operation defines.
    pub const fn status(&self) -> i32 {
        self.status
    }

    /// The status as a result.
    pub fn result(&self) -> Result<(), Errno> {
        Errno::from_status(self.status).map_or(Ok(()), Err)
    }

    /// Reads the body.
    pub fn body(&self) -> Result<Body, Errno> {
        self.message()?.body().map_err(|bad| bad.errno())
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
