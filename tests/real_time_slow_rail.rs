//! Two real rails of different bandwidth between two nodes: the share of each follows from the time that its messages take.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet_core::stats::MessageOutcome;
use support::rails::{Rails, Transfer, nids};

/// snd-030: fails if the interface with fewer credits left gets as much as the other. The slow one has fewer,
/// once the sockets have taken all that they hold.
#[test]
fn a_rail_ten_times_slower_carries_less_than_half() {
    let Some(rails) = Rails::or_skip(2, |card| Some(if card == 0 { 40 } else { 400 })) else { return };
    rails.transfer(Transfer::Put, 96, 1 << 20, 16);
    let nets = rails.near.core().nets();
    let sent = |nid| nets.ni(nid).unwrap().counters().read(MessageOutcome::Sent).put;
    let by_card: Vec<u64> = nids(&rails.near).into_iter().map(sent).collect();
    assert!(by_card[0] * 2 < by_card[1], "{by_card:?}");
    rails.shutdown();
}
