//! Connection parameters: what the two sides of a connection agree on (wire-o2ib 3).

use lnet_wire::byte_order::ByteOrder;

/// The limits of one side of a connection, of CONNREQ, CONNACK and reject data. Eight bytes in the sender's order: any values may
/// arrive, and which are acceptable is a decision of the receiver (wire-o2ib 6.2, 6.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnParams {
    /// Number of messages that may be under way in each direction: the credits of each side.
    pub queue_depth: u16,
    /// Maximum number of fragments in one descriptor.
    pub max_fragments: u16,
    /// Maximum length of a message in bytes. Kernel nodes check it and never use it.
    pub max_message_size: u32,
}

impl ConnParams {
    /// Reads the parameters at `offset`. The caller has checked the length.
    pub(super) fn decode(order: ByteOrder, bytes: &[u8], offset: usize) -> Self {
        Self {
            queue_depth: order.u16(bytes, offset),
            max_fragments: order.u16(bytes, offset + 2),
            max_message_size: order.u32(bytes, offset + 4),
        }
    }

    /// Writes the parameters at `offset`, little-endian. The caller has checked the length.
    pub(super) fn encode(self, bytes: &mut [u8], offset: usize) {
        let order = ByteOrder::Little;
        order.put_u16(bytes, offset, self.queue_depth);
        order.put_u16(bytes, offset + 2, self.max_fragments);
        order.put_u32(bytes, offset + 4, self.max_message_size);
    }
}
