//! Messages of the InfiniBand driver in both byte orders: what can be decoded lies within the length that it announces, and means the same
//! when encoded again, with a checksum or without.
#![no_main]

use libfuzzer_sys::fuzz_target;
use o2iblnd::proto::{Body, MAX_FRAGMENTS, MESSAGE_SIZE, Message, set_checksum};

fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = Message::decode(bytes) else { return };
    let length = message.encoded_len();
    assert!(length <= bytes.len());
    if let Body::PutAck { descriptor, .. } | Body::GetReq { descriptor, .. } = &message.body {
        assert!((1..=MAX_FRAGMENTS).contains(&descriptor.fragments.len()));
    }
    let mut buffer = [0; MESSAGE_SIZE];
    match message.encode(&mut buffer) {
        Ok(encoded) => assert_eq!(encoded, length),
        // Only the fuzzer receives more than a receive buffer takes.
        Err(_) => return assert!(length > MESSAGE_SIZE),
    }
    let again = &mut buffer[..length];
    assert_eq!(Message::decode(again).as_ref(), Ok(&message));
    set_checksum(again);
    assert_eq!(Message::decode(again).as_ref(), Ok(&message));
});
