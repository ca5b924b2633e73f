//! A peer that sends its message byte by byte. The bytes must arrive over time, so the test runs in real time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::EventKind;
use socklnd::proto::ConnectionType;
use std::io::Write;
use std::time::Duration;
use support::attack::Attack;
use support::*;

#[test]
fn a_message_sent_byte_by_byte_does_not_hold_its_memory_for_ever() {
    let attack = Attack::start(|config| config.sock_timeout = Duration::from_millis(400));
    for begun in [10, 96 + 10] {
        let mut raw = attack.open(begun, ConnectionType::Control);
        let put = attack.put(begun, 0, &[7; 4000]);
        raw.send(&put[..begun as usize]);
        let mut rest = put[begun as usize..].iter();
        // The pause between two bytes is well within its limit.
        wait_for("the end", || {
            std::thread::sleep(Duration::from_millis(40));
            let byte = rest.next().expect("the end before the last byte");
            raw.stream.write_all(&[*byte]).is_err()
        });
        if begun > 96 {
            let event = attack.node.expect(EventKind::Put);
            assert!(event.status.is_err(), "{event:?}");
        }
        attack.round_trip();
    }
    assert_eq!(attack.counters().timed_out, 2);
}
