//! Two nodes with several real rails between them: one peer, all of its interfaces.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet_core::stats::MessageOutcome;
use lnet_node::Node;
use support::rails::{Rails, Transfer, nids};

/// PUTs that left by each interface, or came in by it.
fn puts(node: &Node, outcome: MessageOutcome) -> Vec<u64> {
    let nets = node.core().nets();
    nids(node).iter().map(|nid| nets.ni(*nid).unwrap().counters().read(outcome).put).collect()
}

/// snd-005, snd-030: fails if one of four equal interfaces carries more than the others.
/// dbg-010: fails if sent messages are not counted for the interface that they left by.
#[test]
fn messages_are_spread_evenly_over_four_rails() {
    let cards = 4;
    let Some(rails) = Rails::or_skip(cards, |_| None) else { return };
    rails.transfer(Transfer::Put, 400, 4096, 1);
    for count in puts(&rails.near, MessageOutcome::Sent) {
        assert!((90..=110).contains(&count), "{:?}", puts(&rails.near, MessageOutcome::Sent));
    }
    rails.shutdown();
}

/// cfg-075: fails if one of the peer's nets is not used, or not by the interface on it.
#[test]
fn a_peer_on_two_nets_is_sent_to_over_both() {
    let rails = Rails::on_loopback("tcp(127.0.31.1),tcp1(127.0.32.1)", "tcp(127.0.31.2),tcp1(127.0.32.2)");
    for how in [Transfer::Put, Transfer::Get] {
        rails.transfer(how, 100, 4096, 1);
    }
    assert_eq!(puts(&rails.near, MessageOutcome::Sent), [50, 50]);
    assert_eq!(puts(&rails.far, MessageOutcome::Received), [50, 50]);
    rails.shutdown();
}

#[test]
fn messages_go_to_each_of_the_127_nids_of_a_peer() {
    let far: Vec<String> = (1..=127).map(|card| format!("127.0.34.{card}")).collect();
    let rails = Rails::on_loopback("tcp(127.0.33.1)", &format!("tcp({})", far.join(",")));
    rails.transfer(Transfer::Put, 254, 64, 1);
    assert_eq!(puts(&rails.far, MessageOutcome::Received), vec![2; 127]);
    rails.shutdown();
}
