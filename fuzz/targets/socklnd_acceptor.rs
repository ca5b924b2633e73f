//! The connection request: the decision does not depend on the pieces in which the bytes come, and the
//! acceptor never asks for more than a request has.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lnet_wire::Nid;
use socklnd::proto::acceptor::{Decision, LONG_REQUEST_LEN, Rejected, decide, encode_request};

/// Treats half of all NIDs as this node's.
fn is_mine(nid: Nid) -> bool {
    nid.to_wire20()[19] & 1 == 0
}

fuzz_target!(|bytes: &[u8]| {
    let whole = decide(bytes, is_mine);
    // Like the driver, reads no more than the acceptor asks for.
    let mut have = 0;
    let in_pieces = loop {
        match decide(&bytes[..have], is_mine) {
            Decision::Need(need) => {
                assert!(need > have && need <= LONG_REQUEST_LEN);
                if need > bytes.len() {
                    break Decision::Need(need);
                }
                have = need;
            }
            decision => break decision,
        }
    };
    assert_eq!(in_pieces, whole);
    match whole {
        Decision::Accept { target, len } => {
            assert!(is_mine(target) && len == have);
            let again = encode_request(target);
            assert_eq!(decide(&again, is_mine), Decision::Accept { target, len: again.len() });
        }
        Decision::Close(Rejected::NotMine(nid)) => assert!(!nid.is_some_and(is_mine)),
        Decision::Close(Rejected::InsecurePort(_) | Rejected::NotAccepting) => {
            panic!("the bytes say nothing of that")
        }
        Decision::Close(Rejected::BadMagic(_)) | Decision::Refuse | Decision::Need(_) => {}
    }
});
