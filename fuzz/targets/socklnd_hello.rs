//! HELLO of every version in both byte orders: the result does not depend on the pieces in which the bytes
//! come, and means the same when written again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lnet_wire::byte_order::ByteOrder;
use socklnd::proto::hello::{Decoded, Hello, MAX_IPS, MAX_LEN};

fuzz_target!(|bytes: &[u8]| {
    let whole = Hello::decode(bytes);
    // Like the driver, reads no more than the decoder asks for.
    let mut have = 0;
    let in_pieces = loop {
        match Hello::decode(&bytes[..have]) {
            Ok(Decoded::Need(need)) => {
                assert!(need > have && need <= MAX_LEN);
                if need > bytes.len() {
                    break Ok(Decoded::Need(need));
                }
                have = need;
            }
            other => break other,
        }
    };
    assert_eq!(in_pieces, whole);
    let Ok(Decoded::Done { hello, len, .. }) = whole else { return };
    assert_eq!(len, have);
    assert!(hello.ips.len() <= MAX_IPS as usize);
    let Some(again) = hello.encode() else { panic!("what was read cannot be written: {hello:?}") };
    let len = again.len();
    assert_eq!(Hello::decode(&again), Ok(Decoded::Done { hello, order: ByteOrder::Little, len }));
});
