//! The checksum of early replies (PR-73): CRC-32 without the usual inversion at the end.

use super::{Message, MessageMut};

/// The checksum of the bytes of a body on the wire, in either byte order.
pub fn checksum(body: &[u8]) -> u32 {
    !crc32fast::hash(body)
}

/// Writes the checksum of the body into the header. Only early replies have one (PR-72).
pub fn seal_early_reply(message: &mut MessageMut<'_>) {
    let value = message.buffer_mut(0).map_or(0, |body| checksum(body));
    message.set_cksum(value);
}

/// Whether the body matches the header's checksum. Only for early replies: others have 0 there.
pub fn early_reply_is_intact(message: &Message<'_>) -> bool {
    message.buffer(0).is_some_and(|body| checksum(body) == message.cksum())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::message::header::BODY_ONLY_LEN;
    use crate::message::{Body, ByteOrder, Opcode, Service};
    use proptest::prelude::*;

    fn naive(bytes: &[u8]) -> u32 {
        bytes.iter().fold(0xffff_ffff, |crc, byte| {
            (0..8)
                .fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
        })
    }

    #[test]
    fn the_check_value_is_that_of_a_crc_32_without_final_inversion() {
        assert_eq!(checksum(b"123456789"), 0x340b_c6d9);
        assert_eq!(checksum(b""), 0xffff_ffff);
    }

    #[test]
    fn an_early_reply_of_either_byte_order_is_intact_until_a_bit_of_its_body_changes() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let mut bytes = [0; BODY_ONLY_LEN];
            let mut message = MessageMut::new_in(order, &mut bytes, &[Body::LEN as u32]).unwrap();
            message.set_body(&Body { timeout: 30, ..Body::request(Service::OBD, Opcode::PING) });
            seal_early_reply(&mut message);
            assert!(early_reply_is_intact(&Message::parse(&bytes).unwrap()), "{order:?}");
            for at in 40..BODY_ONLY_LEN {
                let mut changed = bytes;
                changed[at] ^= 0x10;
                assert!(!early_reply_is_intact(&Message::parse(&changed).unwrap()), "{order:?}, byte {at}");
            }
        }
    }

    proptest! {
        #[test]
        fn it_is_what_the_definition_says(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(checksum(&bytes), naive(&bytes));
        }
    }
}
