//! Selection rules that change while messages add peers.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod support;

use lnet_core::policy::{Action, Rule};
use std::sync::Barrier;
use std::thread;
use support::{FakeDriver, OnSend, Rig, tcp};

/// The number of rules about other nets. Each new peer is compared with all, so that adding one takes longer than changing one.
const OTHERS: u32 = 1000;
const ROUNDS: u32 = 20;
const PEERS: u32 = 20;

fn rule(dst: &str) -> Rule {
    Rule::new(None, Some(dst.parse().unwrap()), None, Action::Priority(7))
}

/// UD-12: fails if a peer that a message adds keeps the effect of a rule that is gone, or lacks that of a new one.
#[test]
fn peers_that_are_added_while_rules_change_have_what_the_rules_come_to() {
    let rig = Rig::builder(FakeDriver::new(OnSend::Complete)).build();
    let (core, md) = (&rig.core, rig.bind_without_eq(-1));
    for number in 0..OTHERS {
        core.admin().add_rule(rule(&format!("tcp{}", 100 + number)), None).unwrap();
    }
    let start = Barrier::new(2);
    for round in 0..ROUNDS {
        let adds = round % 2 == 0;
        thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                (0..PEERS).for_each(|number| rig.put(md, tcp(100 + round * PEERS + number)));
            });
            start.wait();
            match adds {
                true => core.admin().add_rule(rule("*.*.*.*@tcp"), Some(0)).unwrap(),
                false => core.admin().delete_rule(Some(0)).unwrap(),
            }
        });
        for peer_ni in core.peer_nis() {
            let applied = core.admin().applied_to_peer_ni(peer_ni.nid());
            assert_eq!(applied.nid.is_some(), adds);
            assert_eq!(peer_ni.priority(), applied.nid_priority(), "round {round}, {}", peer_ni.nid());
        }
    }
}
