//! The message header in both its forms: a header that can be read keeps its meaning when written again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lnet_wire::Header;

fuzz_target!(|bytes: &[u8]| {
    if let Some(Ok(header)) = bytes.first_chunk().map(Header::decode) {
        assert_eq!(header.encode().map(|again| Header::decode(&again)), Some(Ok(header)));
    }
    if let Some(Ok(header)) = bytes.first_chunk().map(Header::decode_long) {
        assert_eq!(Header::decode_long(&header.encode_long()), Ok(header));
    }
});
