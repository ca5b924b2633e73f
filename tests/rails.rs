//! Two nodes with several real rails between them: one peer, all of its interfaces.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet_core::stats::Fate;
use lnet_node::Node;
use support::rails::{Rails, Transfer, nid};

/// PUTs that left by each card.
fn puts_by_card(node: &Node, machine: usize, cards: usize) -> Vec<u64> {
    let nets = node.core().nets();
    (0..cards).map(|card| nets.ni(nid(machine, card)).unwrap().counters().read(Fate::Sent).put).collect()
}

/// snd-005, snd-030, dbg-010.
#[test]
fn messages_are_spread_evenly_over_four_rails() {
    let cards = 4;
    let Some(rails) = Rails::or_skip(cards, |_| None) else { return };
    rails.transfer(Transfer::Put, 400, 4096, 1);
    for count in puts_by_card(&rails.near, 0, cards) {
        assert!((90..=110).contains(&count), "{:?}", puts_by_card(&rails.near, 0, cards));
    }
    rails.shutdown();
}

/// snd-030, snd-035: what is slow has fewer credits left.
#[test]
fn a_rail_four_times_slower_than_its_twin_gets_its_share_and_not_half() {
    let Some(rails) = Rails::or_skip(2, |card| Some(if card == 0 { 100 } else { 400 })) else { return };
    rails.transfer(Transfer::Put, 200, 256 * 1024, 16);
    let by_card = puts_by_card(&rails.near, 0, 2);
    assert!(by_card[0] * 2 < by_card[1], "{by_card:?}");
    rails.shutdown();
}
