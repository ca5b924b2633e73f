//! PING, the test of round trips (selftest 7).

use super::constants::PING_MAGIC;
use super::fields::{Fields, Writer};
use super::status::Status;

/// A client asks for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingRequest {
    /// The number of the ping among those of its sender.
    pub sequence: u32,
    /// The client's time since 1970, in seconds; it is never read.
    pub seconds: u64,
    /// The nanoseconds of that time.
    pub nanoseconds: u64,
}

impl PingRequest {
    /// Reads a request. `None`: the magic is wrong.
    pub(super) fn read(fields: Fields<'_>) -> Option<Self> {
        (fields.u32(32) == PING_MAGIC).then(|| Self {
            sequence: fields.u32(36),
            seconds: fields.u64(40),
            nanoseconds: fields.u64(48),
        })
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.u32(32, PING_MAGIC);
        writer.u32(36, self.sequence);
        writer.u64(40, self.seconds);
        writer.u64(48, self.nanoseconds);
    }
}

/// The reply to [`PingRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingReply {
    /// The result of the ping. Clients ignore it.
    pub status: Status,
    /// The sequence number of the request; `None`: the magic is wrong.
    pub sequence: Option<u32>,
}

impl PingReply {
    pub(super) fn read(fields: Fields<'_>) -> Self {
        let sequence = (fields.u32(28) == PING_MAGIC).then(|| fields.u32(32));
        Self { status: fields.status(), sequence }
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.status(self.status);
        if let Some(sequence) = self.sequence {
            writer.u32(28, PING_MAGIC);
            writer.u32(32, sequence);
        }
    }
}
