//! The heads of messages, and NOOPs, on connections of every version: a head that can be read means the same when
//! written again. The first byte chooses version and byte order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lnet_wire::byte_order::ByteOrder;
use socklnd::proto::Version;
use socklnd::proto::frame::{FRAME_LEN, Head, Incoming, MAX_HEAD_LEN, ORIGIN_LEN, decode, head_len};

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let version = [Version::V1, Version::V2, Version::V3, Version::V4][usize::from(choice & 3)];
    let order = if choice & 4 == 0 { ByteOrder::Little } else { ByteOrder::Big };

    let Ok(read) = decode(version, order, bytes) else { return };
    let (head, checksum) = match read {
        Incoming::Need(need) => {
            assert!(need > bytes.len() && need <= MAX_HEAD_LEN);
            return;
        }
        Incoming::Noop { cookies, checksum } => {
            assert!(version != Version::V1 && bytes.len() >= FRAME_LEN);
            (Some(Head::noop(cookies)), checksum)
        }
        Incoming::Confirmation { confirmation, cookies, checksum } => {
            assert!(version != Version::V1 && bytes.len() >= FRAME_LEN);
            (Some(Head::confirmation(confirmation, cookies)), checksum)
        }
        Incoming::Message { cookies, checksum, carried: None, header, len } => {
            assert!(len == head_len(version) && bytes.len() >= len);
            (Head::message(version, &header, cookies), checksum)
        }
        Incoming::Message { cookies, checksum, carried: Some(carried), header, len } => {
            assert!(len == head_len(version) + ORIGIN_LEN && bytes.len() >= len);
            (Head::message_with_origin(version, &header, cookies, carried), checksum)
        }
    };
    let Some(mut head) = head else { panic!("what was read cannot be written: {read:?}") };
    if version != Version::V1 {
        head.set_checksum(checksum);
    }
    assert_eq!(decode(version, ByteOrder::Little, head.bytes()), Ok(read));
});
