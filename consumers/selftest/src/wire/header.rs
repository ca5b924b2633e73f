//! The header of messages, and the whole message as bytes (selftest 3.1).

use super::constants::{MAGIC, VERSION};
use super::features::Features;
use super::fields::{BODY, Fields, Message, Writer};
use lnet_wire::byte_order::ByteOrder;

pub(super) const FEATURES: usize = 20;
/// The offset of the match bits of bulk data, in requests that have any.
pub(super) const BULK_BITS: usize = BODY + 8;

/// The header of a message in one of the byte orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The order of the sender.
    pub order: ByteOrder,
    /// The version of the message; only [`VERSION`] is understood.
    pub version: u32,
    /// The type of the message.
    pub kind: u32,
    /// The features of the session.
    pub features: Features,
}

impl Header {
    /// Reads a header. `None`: the magic is not a message's.
    pub fn parse(message: &Message) -> Option<Self> {
        let [a, b, c, d, ..] = *message;
        let order = ByteOrder::detect([a, b, c, d], MAGIC)?;
        let fields = Fields { order, bytes: message };
        Some(Self {
            order,
            version: fields.u32(4),
            kind: fields.u32(8),
            features: Features(fields.u32(FEATURES)),
        })
    }
}

/// A message of zeros with a header, to be completed.
pub(super) fn begin(kind: u32, features: Features) -> Writer {
    let mut writer = Writer::new();
    writer.u32(0, MAGIC);
    writer.u32(4, VERSION);
    writer.u32(8, kind);
    writer.u32(FEATURES, features.0);
    writer
}
