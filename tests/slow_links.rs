//! A router between a slow link and fast ones: large messages of a slow sender are received as a whole, those of fast ones are sent on while
//! they arrive, and all arrive (docs/routing.md).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet_core::router::Forwarded;
use lnet_node::Node;
use std::sync::Arc;
use support::machines::{Machines, Wiring};
use support::rails::{Discovery, Rails, Transfer, node_with, wait_until};

const MIB: usize = 1 << 20;
/// The rate of the slow link in Mbit/s: a MiB takes a fifth of a second, four times as long as that of a quick sender may.
const SLOW: u32 = 40;

/// The machines: a client behind the slow link, the router, the server, and a client behind a fast link. A card of each machine is on net
/// `tcp` with the slow links, `tcp1` of the server, and `tcp2`.
const SLOW_CLIENT: usize = 0;
const ROUTER: usize = 1;
const SERVER: usize = 2;
const FAST_CLIENT: usize = 3;

fn node(machines: &Machines, machine: usize, networks: &str, routes: &str) -> Arc<Node> {
    let forwards = if machine == ROUTER { "enabled" } else { "disabled" };
    // Nothing is begun early where no check ends the connections that wait for it.
    let others = [("LNET_FORWARDING", forwards), ("SOCKLND_UNRESPONSIVE_MS", "5000")];
    let node = machines.on(machine, || node_with(networks, routes, "988", Discovery::On, &others));
    // The kernel needs some time to report that a link has a carrier.
    wait_until("all cards work", || node.core().nets().nis().all(|ni| !ni.is_fatal()));
    node
}

/// Fails if a message is lost between links of different rates, if one of a slow sender is begun early, or if a transfer of a fast sender
/// does not end beside that of a slow one.
#[test]
fn large_messages_pass_a_router_between_slow_and_fast_links_in_both_directions_and_beside_each_other() {
    let cards = |card| (card == 0).then_some(SLOW);
    let Some(machines) = Machines::or_skip(4, 3, Wiring::SwitchPerCard, cards) else { return };
    let gateway = |card| Wiring::SwitchPerCard.address(ROUTER, card);
    let router = node(&machines, ROUTER, "tcp(eth0),tcp1(eth1),tcp2(eth2)", "");
    let to_server = |card, net| format!("tcp1 {}@{net}", gateway(card));
    let slow = node(&machines, SLOW_CLIENT, "tcp(eth0)", &to_server(0, "tcp"));
    let fast = node(&machines, FAST_CLIENT, "tcp2(eth2)", &to_server(2, "tcp2"));
    let back = format!("tcp {0}@tcp1; tcp2 {0}@tcp1", gateway(1));
    let server = node(&machines, SERVER, "tcp1(eth1)", &back);
    let of_slow = Rails::between(Arc::clone(&slow), Arc::clone(&server));
    let of_fast = Rails::between(Arc::clone(&server), Arc::clone(&fast));
    let forwarded = || router.core().admin().forwarded();

    of_slow.transfer(Transfer::Put, 6, MIB, 1);
    of_slow.transfer(Transfer::Put, 6, MIB, 4);
    let Forwarded { messages, bytes, cut_through } = forwarded();
    assert!(messages >= 12 && bytes >= 12 * MIB as u64, "{messages} messages, {bytes} bytes");
    assert_eq!(cut_through.begun, 0, "the sender is slow");

    // From the fast link to the slow one.
    of_slow.turned().transfer(Transfer::Put, 6, MIB, 4);
    assert!(forwarded().bytes >= 18 * MIB as u64);

    // Two senders to the same server. The one gets its data from the other side, so that each transfer has its own memory.
    wait_until("messages of the fast client are sent on while they arrive", || {
        let before = forwarded().cut_through.begun;
        of_fast.transfer(Transfer::Get, 4, MIB, 1);
        forwarded().cut_through.begun > before
    });
    let before = forwarded().bytes;
    std::thread::scope(|scope| {
        scope.spawn(|| of_slow.transfer(Transfer::Put, 6, MIB, 4));
        scope.spawn(|| of_fast.transfer(Transfer::Get, 60, MIB, 4));
    });
    assert!(forwarded().bytes - before >= 66 * MIB as u64);

    wait_until("the router has no message", || router.core().message_counts().msgs_alloc == 0);
    let buffers = router.core().admin().router_buffers(0).unwrap();
    assert!(buffers.iter().all(|pool| pool.credits == pool.buffers as i32), "{buffers:?}");
    [slow, fast, server, router].iter().for_each(|node| node.shutdown());
}
