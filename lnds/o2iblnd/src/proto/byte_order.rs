//! The sender's byte order, which the magic shows (wire-o2ib 3).

use super::{MAGIC, ProtoError};
use lnet_wire::byte_order::{ByteOrder, array};

/// The order of the integers of a message or of reject data, from the magic that those begin with.
pub(super) fn sender_order(received: &[u8]) -> Result<ByteOrder, ProtoError> {
    let magic: [u8; 4] = array(received, 0);
    ByteOrder::detect(magic, MAGIC).ok_or_else(|| ProtoError::BadMagic(u32::from_le_bytes(magic)))
}

/// Checks that `needed` bytes were received.
pub(super) const fn check_received(received: &[u8], needed: usize) -> Result<(), ProtoError> {
    let received = received.len();
    if received < needed { Err(ProtoError::TooShort { received, needed }) } else { Ok(()) }
}
