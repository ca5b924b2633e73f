//! The checksum of a message (wire-o2ib 5): for each byte the sum is rotated left by one bit, and the byte added as a signed number.

use lnet_wire::byte_order::put_u32;

/// Offset of the checksum in a message.
pub(super) const CHECKSUM_OFFSET: usize = 12;
const CHECKSUM_LEN: usize = 4;

/// The checksum of a message, in which its own field counts as 0. Never 0, which on the wire means "none". It does not depend on the
/// byte order.
pub(super) fn checksum(message: &[u8]) -> u32 {
    let (before, rest) = message.split_at(CHECKSUM_OFFSET.min(message.len()));
    let (own, behind) = rest.split_at(CHECKSUM_LEN.min(rest.len()));
    let sum = add(0, before).rotate_left(own.len() as u32);
    add(sum, behind).max(1)
}

fn add(sum: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(sum, |sum, byte| sum.rotate_left(1).wrapping_add_signed(i32::from(byte.cast_signed())))
}

/// Sets the checksum of a little-endian message: `message` is all of it, and no more. [`super::Message::encode`] leaves 0 there, which
/// means that it has none.
///
/// Receivers verify a checksum that is there. Kernel nodes with checksums compute wrong ones for messages with payload (wire-o2ib 5),
/// so their peers do well to send none.
pub fn set_checksum(message: &mut [u8]) {
    if message.len() >= CHECKSUM_OFFSET + CHECKSUM_LEN {
        let sum = checksum(message);
        put_u32(message, CHECKSUM_OFFSET, sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The CONNREQ of wire-o2ib 5, without its checksum.
    const CONNREQ: [u8; 56] = [
        0x91, 0x1b, 0xe9, 0x0b, 0x12, 0, 0xc0, 0, 0x38, 0, 0, 0, 0, 0, 0, 0, //
        0x0b, 0, 0x63, 0x0a, 0, 0, 5, 0, 0x2c, 0xa0, 0x92, 0x59, 0xbf, 0x60, 6, 0, //
        0x0c, 0, 0x63, 0x0a, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, //
        8, 0, 1, 1, 0, 0x10, 0, 0,
    ];

    #[test]
    fn bytes_count_as_signed() {
        let mut message = CONNREQ;
        set_checksum(&mut message);
        assert_eq!(message[12..16], 0x34c6_16ef_u32.to_le_bytes());
        let unsigned = CONNREQ.iter().fold(0_u32, |sum, b| sum.rotate_left(1).wrapping_add((*b).into()));
        assert_eq!(unsigned, 0xd646_1757);
    }

    #[test]
    fn a_sum_of_0_is_sent_as_1() {
        assert_eq!(checksum(&[0; 48]), 1);
    }

    #[test]
    fn too_few_bytes_for_a_checksum_stay_as_they_are() {
        let mut bytes = [7; 15];
        set_checksum(&mut bytes);
        assert_eq!(bytes, [7; 15]);
    }

    proptest! {
        #[test]
        fn the_own_field_does_not_count(mut bytes in prop::collection::vec(any::<u8>(), 0..200), own: u32) {
            let of_zeros = {
                bytes.iter_mut().skip(12).take(4).for_each(|byte| *byte = 0);
                bytes.iter().fold(0_u32, |sum, b| sum.rotate_left(1).wrapping_add(*b as i8 as u32)).max(1)
            };
            bytes.iter_mut().skip(12).zip(own.to_le_bytes()).for_each(|(byte, own)| *byte = own);
            prop_assert_eq!(checksum(&bytes), of_zeros);
        }
    }
}
