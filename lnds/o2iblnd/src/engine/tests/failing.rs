//! Each call of the device fails once, at each place where it is made.

use super::rig::{Rig, TIMEOUT, tunables};
use std::time::Duration;

/// The messages of one run: small and large, both ways, more than there are credits.
fn run(rig: &mut Rig) -> usize {
    for i in 0..12 {
        rig.put(0, 1, i * 1500);
        rig.get(1, 0, i * 1500);
        rig.get(0, 1, 50_000);
    }
    rig.settle();
    36
}

#[test]
fn whichever_call_fails_every_message_ends_and_nothing_is_left() {
    let mut clean = Rig::with([16, 8], tunables());
    let messages = run(&mut clean);
    let calls = [0, 1].map(|index| clean.net.calls(clean.ends[index].address));
    clean.end();
    assert!(calls.iter().all(|calls| *calls > 100), "{calls:?}");
    for (index, calls) in calls.into_iter().enumerate() {
        for nth in 1..=calls as u32 {
            let mut rig = Rig::with([16, 8], tunables());
            let address = rig.ends[index].address;
            rig.net.fail_call(address, nth);
            let sent = run(&mut rig);
            // What one side has lost the other gives up in time.
            rig.tick(TIMEOUT);
            rig.tick(TIMEOUT + Duration::from_secs(1));
            let ended = |end: usize| rig.ends[end].ended.keys().filter(|id| **id != 0).count();
            assert_eq!((sent, ended(0) + ended(1)), (messages, messages), "call {nth} of {address}");
            // Both nodes go on afterwards.
            let after = rig.put(index, 1 - index, 100_000);
            rig.settle();
            assert_eq!(rig.ends[index].ended[&after], Ok(()), "call {nth} of {address}");
            rig.end();
        }
    }
}
