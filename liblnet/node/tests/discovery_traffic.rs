//! Live nodes with several rails and without configured peers: the first PUT to one NID finds all.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod live;

use live::{TIMEOUT, Talker, free_port, knows, nids, node, node_on, own_nids, peer_nids, wait_until};
use lnet_core::stats::MessageOutcome;
use lnet_core::{DiscoveryMode, Event};
use lnet_dlc::request::Setting;
use lnet_dlc::{Backend, Request};
use lnet_wire::Nid;
use std::collections::BTreeSet;

/// The number of PUTs for each interface of the sender.
const ROUNDS: u64 = 16;

/// cfg-085: fails if the first PUT to one NID does not lead to the others.
/// dyn-005, dyn-015: fails if the far node does not learn all NIDs of the near one.
/// snd-005: fails if messages do not spread over all pairs of equal interfaces: two rails, four, and two
/// nets.
#[test]
fn the_first_put_to_any_nid_discovers_all_nids_and_later_puts_use_them_all() {
    let table = [
        ("tcp(127.0.61.1,127.0.61.2)", "tcp(127.0.62.1,127.0.62.2)"),
        (
            "tcp(127.0.61.1,127.0.61.2,127.0.61.3,127.0.61.4)",
            "tcp(127.0.62.1,127.0.62.2,127.0.62.3,127.0.62.4)",
        ),
        ("tcp(127.0.61.1),tcp1(127.0.61.2)", "tcp(127.0.62.1),tcp1(127.0.62.2)"),
        ("tcp(127.0.61.1)", "tcp(127.0.62.1,127.0.62.2,127.0.62.3)"),
    ];
    for (near, far) in table {
        let port = free_port();
        let [near, far] = [near, far].map(|nets| Talker::new(node_on(port, nets, DiscoveryMode::On)));
        let [near_nids, far_nids] = [&near, &far].map(|talker| own_nids(&talker.node));
        near.put(far_nids[far_nids.len() - 1]);
        near.await_acks(1);
        far.arrival();
        for nid in &far_nids {
            let known = peer_nids(&near.node, *nid);
            assert_eq!((known.first(), known.len()), (far_nids.first(), far_nids.len()));
            assert!(far_nids.iter().all(|nid| known.contains(nid)), "{known:?}");
        }
        wait_until("each knows the other", || knows(&near.node, &far_nids) && knows(&far.node, &near_nids));
        check_spread(&near, &far);
        check_spread(&far, &near);
    }
}

/// Waits until PUTs to each NID in turn leave by all interfaces and arrive at all, equally. A path on which
/// a message failed or was late while a node started or stopped is used less until it has recovered.
fn check_spread(from: &Talker, to: &Talker) {
    wait_until("PUTs are spread over all interfaces", || is_spread(from, to));
}

/// Sends PUTs to each NID in turn; returns whether they were spread. Asserts that each names its sender.
fn is_spread(from: &Talker, to: &Talker) -> bool {
    let [from_nids, to_nids] = [from, to].map(|talker| own_nids(&talker.node));
    let before = [puts(from, MessageOutcome::Sent), puts(to, MessageOutcome::Received)];
    let count = ROUNDS * from_nids.len().max(to_nids.len()) as u64;
    let events: Vec<Event> = (0..count)
        .map(|number| {
            from.put(to_nids[number as usize % to_nids.len()]);
            from.await_acks(1);
            to.arrival()
        })
        .collect();
    for event in &events {
        assert_eq!(event.initiator.nid, Some(from_nids[0]), "{event:?}");
    }
    let after = [puts(from, MessageOutcome::Sent), puts(to, MessageOutcome::Received)];
    let is_fair = before.iter().zip(&after).all(|(before, after)| {
        let fair = count / before.len() as u64;
        before.iter().zip(after).all(|(before, after)| after - before >= fair / 2)
    });
    let all = |nids: &[Nid]| nids.iter().copied().collect::<BTreeSet<_>>();
    let sources: BTreeSet<Nid> = events.iter().filter_map(|event| event.source.nid).collect();
    let targets: BTreeSet<Nid> = events.iter().filter_map(|event| event.target.nid).collect();
    is_fair && (sources, targets) == (all(&from_nids), all(&to_nids))
}

/// The number of PUTs that left by each interface, or arrived at it.
fn puts(talker: &Talker, outcome: MessageOutcome) -> Vec<u64> {
    let nets = talker.node.core().nets();
    let count = |nid: &Nid| nets.ni(*nid).unwrap().counters().read(outcome).put;
    own_nids(&talker.node).iter().map(count).collect()
}

/// cfg-020: fails if a net cannot get a second interface, or lose one, at run time. The primary one may be removed,
/// too.
/// dyn-045: fails if the other node does not use the new interface, or still uses the old one.
#[test]
fn traffic_follows_interfaces_that_are_added_and_removed() {
    let port = free_port();
    let (a, b) = (["127.0.63.1", "127.0.63.2"], ["127.0.64.1", "127.0.64.2"]);
    let near = Talker::new(node(port, &a, DiscoveryMode::On));
    let far = Talker::new(node(port, &b[..1], DiscoveryMode::On));
    let (near_nids, far_nids) = (nids(&a), nids(&b));
    near.put(far_nids[0]);
    near.await_acks(1);
    far.arrival();
    let each_knows = |near_nids: &[Nid], far_nids: &[Nid]| {
        wait_until("each knows what the other has now", || {
            knows(&near.node, far_nids) && knows(&far.node, near_nids)
        });
        check_spread(&near, &far);
        check_spread(&far, &near);
    };
    each_knows(&near_nids, &far_nids[..1]);
    far.node.add_nid(far_nids[1]).unwrap();
    each_knows(&near_nids, &far_nids);
    far.node.remove_ni(far_nids[0]).unwrap();
    each_knows(&near_nids, &far_nids[1..]);
    near.node.remove_ni(near_nids[0]).unwrap();
    each_knows(&near_nids[1..], &far_nids[1..]);
}

/// The way in which a node that was restarted on other addresses is found again.
enum Found {
    /// The restarted node sends a message itself.
    BySending,
    /// An operator requests the discovery before anything is sent to the peer.
    ByDiscovery,
}

/// dyn-005, DISC-14: fails if a push of a restarted node is treated as stale. The sequence number of its
/// configuration is lower, the same, or higher.
#[test]
fn a_node_restarted_with_other_nids_is_rediscovered() {
    let address = |n: &u8| format!("127.0.66.{n}");
    let table: [(&[u8], &[u8], Found); 7] = [
        (&[1, 2], &[1, 3], Found::BySending),
        (&[1, 2, 3], &[1, 4], Found::BySending),
        (&[1, 2], &[1, 3, 4], Found::BySending),
        (&[1, 2], &[2, 3], Found::BySending),
        (&[1, 2], &[3, 4], Found::BySending),
        (&[1, 2], &[1, 3], Found::ByDiscovery),
        (&[1, 2, 3], &[1, 4], Found::ByDiscovery),
    ];
    for (before, after, how) in table {
        println!("{before:?} becomes {after:?}");
        let port = free_port();
        let near = Talker::new(node(port, &["127.0.65.1", "127.0.65.2"], DiscoveryMode::On));
        let near_nids = own_nids(&near.node);
        let start = |addresses: &[u8]| {
            let addresses: Vec<String> = addresses.iter().map(address).collect();
            let networks = format!("tcp({})", addresses.join(","));
            let far = Talker::new(node_on(port, &networks, DiscoveryMode::On));
            let far_nids = own_nids(&far.node);
            (far, far_nids)
        };
        let (far, far_nids) = start(before);
        near.put(far_nids[0]);
        near.await_acks(1);
        wait_until("each knows the other", || knows(&near.node, &far_nids) && knows(&far.node, &near_nids));
        far.node.shutdown();

        let (far, far_nids) = start(after);
        match how {
            Found::BySending => {
                far.put(near_nids[0]);
                far.await_acks(1);
                near.arrival();
            }
            Found::ByDiscovery => {
                // The ping may go to a NID that the peer does not have any more, or by a connection that has just ended:
                // then it is repeated once.
                let backend: &dyn Backend = &*near.node;
                backend.tell(Request::SetTunable(Setting::TransactionTimeout, 3)).unwrap();
                wait_until("near finds far", || {
                    near.node.core().admin().discover(far_nids[0], false).unwrap();
                    near.node.core().admin().wait_discovered(far_nids[0], TIMEOUT).is_ok()
                });
            }
        }
        wait_until("near knows far again", || knows(&near.node, &far_nids));
        check_spread(&far, &near);
        wait_until("each knows the other again", || {
            knows(&near.node, &far_nids) && knows(&far.node, &near_nids)
        });
        check_spread(&near, &far);
    }
}

/// DISC-14: fails if a message for a restarted peer goes to the node that has one of the peer's former NIDs now.
#[test]
fn puts_for_a_restarted_peer_do_not_go_to_the_node_that_has_one_of_its_nids_now() {
    let addresses = ["127.0.68.1", "127.0.68.2"];
    let far_nids = nids(&addresses);
    for kept in [0, 1] {
        let port = free_port();
        let near = Talker::new(node(port, &["127.0.67.1"], DiscoveryMode::On));
        let far = Talker::new(node(port, &addresses, DiscoveryMode::On));
        for _ in 0..8 {
            near.put(far_nids[kept]);
            near.await_acks(1);
            far.arrival();
        }
        far.node.shutdown();
        let again = Talker::new(node(port, &[addresses[kept]], DiscoveryMode::On));
        let stranger = Talker::new(node(port, &[addresses[1 - kept]], DiscoveryMode::On));
        for _ in 0..24 {
            near.put(far_nids[kept]);
            near.await_acks(1);
            again.arrival();
        }
        assert_eq!(stranger.arrivals_so_far(), 0, "kept {kept}");
    }
}

/// OM-33: fails if a peer is lost with the net of its primary NID, or exists twice then.
#[test]
fn traffic_goes_on_when_the_net_of_a_peers_primary_nid_is_left_and_joined_again() {
    let port = free_port();
    let near = Talker::new(node_on(port, "tcp(127.0.69.1),tcp1(127.0.69.2)", DiscoveryMode::On));
    let far = Talker::new(node_on(port, "tcp(127.0.70.1),tcp1(127.0.70.2)", DiscoveryMode::On));
    let [near_nids, far_nids] = [&near, &far].map(|talker| own_nids(&talker.node));
    let all_respond = || {
        for nid in far_nids.iter().cycle().take(8) {
            near.put(*nid);
            near.await_acks(1);
            far.arrival();
        }
        let peers = near.node.core().admin().peers();
        assert_eq!(peers.iter().map(|peer| peer.primary).collect::<Vec<_>>(), [far_nids[0]]);
        assert_eq!(peer_nids(&near.node, far_nids[1]).len(), 2);
    };
    all_respond();
    near.node.remove_ni(near_nids[0]).unwrap();
    all_respond();
    near.node.add_nid(near_nids[0]).unwrap();
    all_respond();
    near.node.remove_ni(near_nids[1]).unwrap();
    all_respond();
}
