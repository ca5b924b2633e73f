//! Selection rules that change while messages add peers.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod support;

use lnet_core::policy::{Action, Rule};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use support::{FakeDriver, OnSend, Rig, tcp};

/// UD-12: fails if a peer that a message adds keeps what a rule gave it that is gone, or lacks what a new one gives.
#[test]
fn peers_that_are_added_while_rules_change_have_what_the_rules_come_to() {
    let everybody = |action| Rule::new(None, Some("*.*.*.*@tcp".parse().unwrap()), None, action);
    let pairs = Rule {
        src: Some("0.0.0.1@tcp".parse().unwrap()),
        dst: Some("*.*.*.*@tcp".parse().unwrap()),
        ..everybody(Action::PreferredList)
    };
    for round in 0..10 {
        let rig = Rig::builder(FakeDriver::new(OnSend::Complete)).build();
        let (core, next, sending) = (&rig.core, AtomicU32::new(100), AtomicU32::new(2));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let md = rig.bind_without_eq(-1);
                    (0..1000).for_each(|_| rig.put(md, tcp(next.fetch_add(1, Ordering::Relaxed))));
                    sending.fetch_sub(1, Ordering::Relaxed);
                });
            }
            scope.spawn(|| {
                let mut turn = round;
                while sending.load(Ordering::Relaxed) > 0 {
                    core.add_rule(everybody(Action::Priority(turn % 5)), None).unwrap();
                    core.add_rule(pairs.clone(), Some(0)).unwrap();
                    turn += 1;
                    if turn % 8 != 0 || sending.load(Ordering::Relaxed) > 0 {
                        core.delete_rule(None).unwrap();
                    }
                }
            });
        });
        for peer_ni in core.peer_nis() {
            let applied = core.applied_to_peer_ni(peer_ni.nid());
            assert_eq!(peer_ni.priority(), applied.nid_priority(), "{}", peer_ni.nid());
            let nids = peer_ni.partners().map(|its| its.nids.iter().map(|its| its.nid).collect::<Vec<_>>());
            let expected: Vec<_> = applied.local_nids.iter().map(|its| its.nid).collect();
            assert_eq!(nids.unwrap_or_default(), expected, "{}", peer_ni.nid());
        }
    }
}
