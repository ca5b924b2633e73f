//! The checksum of a message (wire-o2ib 5): rotate left by one bit and add, byte by byte.

use lnet_wire::byte_order::put_u32;

/// Offset of the checksum in a message.
pub(super) const CHECKSUM_OFFSET: usize = 12;
const CHECKSUM_END: usize = CHECKSUM_OFFSET + 4;

/// The checksum of a message, whose own checksum field counts as 0. Bytes count as signed, as on the x86-64 nodes of
/// wire-o2ib 5. Never 0, which on the wire means "none".
pub(super) fn checksum(message: &[u8]) -> u32 {
    let add = |sum: u32, byte: u8| sum.rotate_left(1).wrapping_add(i32::from(byte as i8) as u32);
    let sum = message.iter().enumerate().fold(0, |sum, (at, byte)| {
        let is_checksum = (CHECKSUM_OFFSET..CHECKSUM_END).contains(&at);
        add(sum, if is_checksum { 0 } else { *byte })
    });
    sum.max(1)
}

/// Sets the checksum of a little-endian message, which is exactly `message`. A message that is sent without has 0 there.
///
/// Kernel nodes verify what is there, but send wrong ones for messages with payload (wire-o2ib 5): a peer of the kernel is better
/// sent none.
pub fn set_checksum(message: &mut [u8]) {
    if message.len() >= CHECKSUM_END {
        let sum = checksum(message);
        put_u32(message, CHECKSUM_OFFSET, sum);
    }
}
