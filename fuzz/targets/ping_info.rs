//! Ping information: any bytes are read within their limits, and read the same once written by this library.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lnet_wire::PingInfo;

const MAX_COUNT: u32 = 200;

fuzz_target!(|bytes: &[u8]| {
    let Ok(got) = PingInfo::decode(bytes, MAX_COUNT) else { return };
    assert!(got.info.entries.len() * 12 <= bytes.len());
    assert!(got.info.entries.len() <= 200 && got.claimed_len <= 32 + 40 * 200);
    assert_eq!(got.truncated, bytes.len() < got.claimed_len);

    let written = got.info.encode();
    assert_eq!(written.len(), got.info.encoded_len());
    let Ok(again) = PingInfo::decode(&written, u32::MAX) else { panic!("what we wrote is refused") };
    assert_eq!((again.truncated, again.claimed_len), (false, written.len()));
    assert_eq!(again.info.entries.len(), got.info.entries.len());
    assert_eq!(again.info.encode(), written);
});
