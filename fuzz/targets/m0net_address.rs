//! Addresses of Motr's transfer machines: any text is read or refused, and an address that was read means the same when written
//! again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use m0net::lnet::address::{Address, MAX_TEXT, StartAddress, compare_nids};

fuzz_target!(|bytes: &[u8]| {
    let half = bytes.len() / 2;
    let order = compare_nids(&bytes[..half], &bytes[half..]);
    assert_eq!(order == 0, compare_nids(&bytes[half..], &bytes[..half]) == 0);

    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let start = text.parse::<StartAddress>();
    let Ok(address) = text.parse::<Address>() else {
        // A transfer machine may be started at an address that no message can be sent to: it gets a free identifier.
        assert!(start.is_err() || start.is_ok_and(|start| start.tmid.is_none()));
        return;
    };
    assert_eq!(start.map(|start| start.with(address.tmid)), Ok(address));
    assert!(address.nid.to_u64().is_some());
    let canonical = address.to_string();
    assert!(canonical.len() < MAX_TEXT, "{canonical}");
    assert_eq!(canonical.parse(), Ok(address));
});
