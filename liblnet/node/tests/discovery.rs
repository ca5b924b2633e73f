//! Live nodes on the loopback interface that discover each other, and their reports.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod live;

use live::{TIMEOUT, free_port, nids, node, peer, peer_nids, put, wait_until};
use lnet_core::FatalReporter;
use lnet_core::discovery::DiscoveryStatus;
use lnet_core::stats::MessageOutcome;
use lnet_core::topology::PeerState;
use lnet_core::{DiscoveryMode, Errno};
use lnet_dlc::request::{
    AddPeerNi, Difference, Discover, Discovered, DiscoveryFailure, DiscoveryStep, Setting,
};
use lnet_dlc::{Backend, Request};
use lnet_node::{Node, PingRequest};
use lnet_wire::{Nid, Pid, ProcessId};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

fn discover(node: &Node, nid: Nid, force: bool) -> Discovered {
    let backend: &dyn Backend = node;
    let target = ProcessId { nid, pid: Pid::LUSTRE };
    backend.ask(Request::Discover(Discover { target, force, max_nids: 1024 })).unwrap()
}

/// The result of a discovery: the peer's NIDs, the primary first; whether it is multi-rail; and the differences.
fn found(discovered: Discovered) -> (Vec<Nid>, bool, Vec<Difference>) {
    let Discovered::Found { response, differences } = discovered else { panic!("{discovered:?}") };
    assert_eq!(response.nids.first(), Some(&response.primary), "{response:?}");
    (response.nids, response.multi_rail, differences)
}

/// dyn-005, dyn-015, dyn-035: fails if the far node, which sends no ping, does not get all NIDs of the near
/// one.
/// dyn-020, dyn-025: fails if the near node, which is given one NID, does not get the others from the response.
/// dyn-030: fails if either node does not treat the other as multi-rail.
/// dyn-040: fails if the NIDs are not one peer's, in either node.
#[test]
fn two_nodes_with_two_and_four_rails_discover_each_other_from_one_nid() {
    let (port, a, b) =
        (free_port(), ["127.0.41.1", "127.0.41.2"], ["127.0.42.1", "127.0.42.2", "127.0.42.3", "127.0.42.4"]);
    let (near, far) = (node(port, &a, DiscoveryMode::On), node(port, &b, DiscoveryMode::On));
    let (near_nids, far_nids) = (nids(&a), nids(&b));
    // The primary NID comes first, the others in the order in which they were learned.
    let learned = [0, 2, 1, 3].map(|at: usize| far_nids[at]).to_vec();
    assert_eq!(found(discover(&near, far_nids[2], false)), (learned.clone(), true, vec![]));
    wait_until("far knows near's NIDs", || peer_nids(&far, near_nids[0]).len() == near_nids.len());

    // With `force`, a known peer is pinged and pushed to again.
    assert_eq!(found(discover(&near, far_nids[0], true)), (learned, true, vec![]));
    wait_until("all is quiet", || {
        let quiet = |node: &Node, nid| {
            peer(node, nid).is_some_and(|peer| {
                let its = peer.discovery.unwrap();
                its.up_to_date && its.parked == 0 && its.failure.is_none()
            })
        };
        quiet(&near, far_nids[0]) && quiet(&far, near_nids[0])
    });
    for (node, other) in [(&near, &far_nids), (&far, &near_nids)] {
        let told = peer(node, other[1]).unwrap();
        assert_eq!((told.primary, told.multi_rail), (other[0], true));
        let done = PeerState::MULTI_RAIL.0 | PeerState::DISCOVERED.0 | PeerState::NIDS_UPTODATE.0;
        assert_eq!(told.state & done, done, "{}", told.state);
        let its = told.discovery.unwrap();
        assert!(its.node_sequence > 0 && its.peer_sequence > 0, "{its:?}");
    }
}

/// dyn-040: fails if any of the nodes keeps the NIDs of another as more than one peer.
#[test]
fn twenty_nodes_that_start_at_once_all_discover_each_other() {
    let port = free_port();
    let rails = |n: usize| [format!("127.0.63.{n}"), format!("127.0.64.{n}")];
    let start = |n: usize| move || node(port, &rails(n).each_ref().map(String::as_str), DiscoveryMode::On);
    let starting: Vec<_> = (1..=20).map(|n| thread::spawn(start(n))).collect();
    let nodes: Vec<_> = starting.into_iter().map(|thread| thread.join().unwrap()).collect();
    let all: Vec<Vec<Nid>> = (1..=20).map(|n| nids(&rails(n).each_ref().map(String::as_str))).collect();
    thread::scope(|scope| {
        for (at, node) in nodes.iter().enumerate() {
            let others = all.iter().enumerate().filter(move |(other, _)| *other != at);
            scope.spawn(move || {
                // The target is either NID of the peer.
                others.for_each(|(other, its)| {
                    node.core().admin().discover(its[(at + other) % 2], false).unwrap()
                });
            });
        }
    });
    for (at, node) in nodes.iter().enumerate() {
        for its in all.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, its)| its) {
            wait_until("a node knows another", || {
                peer(node, its[0]).is_some_and(|peer| {
                    let known: Vec<Nid> = peer.nis.iter().map(|ni| ni.nid).collect();
                    known == *its && peer.multi_rail && peer.discovery.is_some_and(|it| it.up_to_date)
                })
            });
        }
    }
}

/// cfg-085, dyn-020: fails if the first message leaves without a discovery, so that the peer's other NID stays
/// unknown.
/// dyn-040: fails if the NIDs of the response do not become one peer's.
#[test]
fn the_first_message_to_a_peer_waits_until_it_is_discovered() {
    let (port, a, b) = (free_port(), ["127.0.43.1"], ["127.0.44.1", "127.0.44.2"]);
    let (near, far) = (node(port, &a, DiscoveryMode::On), node(port, &b, DiscoveryMode::On));
    let far_nids = nids(&b);
    put(&near, &far, far_nids[1]);
    assert_eq!(peer_nids(&near, far_nids[1]), far_nids);
}

/// dyn-045: fails if the peer, which sends no ping, does not learn of an interface that was added or removed.
#[test]
fn an_added_or_removed_interface_is_pushed_to_the_peer() {
    let (port, a, b) = (free_port(), ["127.0.45.1"], ["127.0.46.1", "127.0.46.2"]);
    let (near, far) = (node(port, &a, DiscoveryMode::On), node(port, &b[..1], DiscoveryMode::On));
    let far_nids = nids(&b);
    assert_eq!(found(discover(&near, far_nids[0], false)).0, far_nids[..1]);
    wait_until("far knows near", || peer(&far, nids(&a)[0]).is_some_and(|peer| peer.multi_rail));
    far.add_nid(far_nids[1]).unwrap();
    wait_until("near knows both", || peer_nids(&near, far_nids[0]) == far_nids);
    far.remove_ni(far_nids[1]).unwrap();
    wait_until("near knows one again", || peer_nids(&near, far_nids[0]) == far_nids[..1]);
}

/// dyn-055: fails if the response to a ping starts a discovery of the sender, at once or later, or if a message does not
/// start one.
#[test]
fn a_node_that_was_only_pinged_does_not_discover_the_sender_and_one_that_sends_does() {
    let port = free_port();
    let (a, b, c) = (["127.0.47.1", "127.0.47.2"], ["127.0.48.1"], ["127.0.48.2"]);
    let [near, far, third] = [&a[..], &b, &c].map(|addresses| node(port, addresses, DiscoveryMode::On));
    let target = ProcessId { nid: nids(&b)[0], pid: Pid::LUSTRE };
    near.ping(PingRequest { target, source: Some(nids(&a)[0]), max_entries: 16, timeout: Some(TIMEOUT) })
        .unwrap();
    // Discoveries begin in the order of their requests: one that the ping had started comes before this one.
    assert_eq!(found(discover(&far, nids(&c)[0], false)).0, nids(&c));
    let asked = |from: &Node, nid| {
        let nis = from.core().peer_nis();
        let sent = nis.iter().find(|ni| ni.nid() == nid).map(|ni| ni.counters().read(MessageOutcome::Sent));
        sent.map_or(0, |sent| sent.get)
    };
    // A GET counts as sent when its delivery is confirmed, which may be after its REPLY.
    wait_until("a GET counts as sent", || asked(&far, nids(&c)[0]) == 1);
    wait_until("a GET counts as sent", || asked(&near, nids(&b)[0]) == 1);
    assert_eq!(asked(&far, nids(&a)[0]), 0);
    let known = peer(&far, nids(&a)[0]).unwrap();
    assert_eq!((known.nis.len(), known.multi_rail), (1, false));
    assert_eq!(known.state & (PeerState::DISCOVERING.0 | PeerState::DISCOVERED.0), 0);

    put(&near, &far, nids(&b)[0]);
    wait_until("a GET counts as sent", || asked(&near, nids(&b)[0]) == 2);
    assert_ne!(peer(&near, nids(&b)[0]).unwrap().state & PeerState::DISCOVERED.0, 0);
    [near, far, third].iter().for_each(|node| node.shutdown());
}

/// dyn-060: fails if a NID too many or too few is not reported, or if the difference is merged.
#[test]
fn in_verify_mode_differences_are_reported_and_nothing_is_changed() {
    let (port, a, b) = (free_port(), ["127.0.49.1"], ["127.0.50.1", "127.0.50.2"]);
    let (near, far) = (node(port, &a, DiscoveryMode::Verify), node(port, &b, DiscoveryMode::On));
    let (far_nids, backend): (_, &dyn Backend) = (nids(&b), &*near);
    // The NID is on a net that this node is not on: nothing is sent there.
    let absent: Nid = "127.0.50.3@tcp7".parse().unwrap();
    for nid in [None, Some(absent)] {
        let add = AddPeerNi { primary: far_nids[0], nid, multi_rail: true, lock_primary: false };
        backend.tell(Request::AddPeerNi(add)).unwrap();
    }
    let (known, _, mut differences) = found(discover(&near, far_nids[0], false));
    assert_eq!(known, [far_nids[0], absent]);
    differences.sort_by_key(|difference| matches!(difference, Difference::Missing(_)));
    assert_eq!(differences, [Difference::Extra(far_nids[1]), Difference::Missing(absent)]);
    assert_eq!(peer(&near, absent).unwrap().discovery.unwrap().differences.len(), 2);

    // In the normal mode a configured peer stays unchanged, too.
    backend.tell(Request::SetTunable(Setting::Discovery, 1)).unwrap();
    let (known, _, differences) = found(discover(&near, far_nids[0], false));
    assert_eq!((known, differences.len()), (vec![far_nids[0], absent], 2));
    far.shutdown();
}

/// dyn-060: fails if differences are still reported when there are none any more.
#[test]
fn differences_disappear_when_the_peers_configuration_is_applied() {
    let (port, a, b) = (free_port(), ["127.0.73.1"], ["127.0.74.1", "127.0.74.2"]);
    let (near, far) = (node(port, &a, DiscoveryMode::Verify), node(port, &b, DiscoveryMode::On));
    let (far_nids, backend): (_, &dyn Backend) = (nids(&b), &*near);
    assert!(!found(discover(&near, far_nids[1], false)).2.is_empty());
    backend.tell(Request::SetTunable(Setting::Discovery, 1)).unwrap();
    assert_eq!(found(discover(&near, far_nids[1], false)), (far_nids, true, vec![]));
    far.shutdown();
}

#[test]
fn a_discovery_restarts_when_the_peers_state_was_deleted() {
    let (port, a, b) = (free_port(), ["127.0.75.1"], ["127.0.76.1", "127.0.76.2"]);
    let (near, far) = (node(port, &a, DiscoveryMode::On), node(port, &b, DiscoveryMode::On));
    let (far_nids, backend): (_, &dyn Backend) = (nids(&b), &*near);
    assert_eq!(found(discover(&near, far_nids[0], false)), (far_nids.clone(), true, vec![]));
    // The peer responds to the push with one of its own, and sends nothing after that.
    let told = |standing: DiscoveryStatus| {
        standing.up_to_date && standing.node_sequence == far.core().admin().node_sequence()
    };
    wait_until("far has told near", || far.core().admin().discovery_of(nids(&a)[0]).is_some_and(told));
    // Without discovery an unconfigured multi-rail peer is removed when its discovery state is processed.
    backend.tell(Request::SetTunable(Setting::Discovery, 0)).unwrap();
    // The peer pushes its configuration first; a discovery requested meanwhile reports the result.
    let is_over = |standing: DiscoveryStatus| !standing.state.contains(PeerState::DISCOVERING);
    wait_until("near has told far", || near.core().admin().discovery_of(far_nids[0]).is_none_or(is_over));
    assert_eq!(found(discover(&near, far_nids[1], false)), (vec![far_nids[1]], false, vec![]));
    far.shutdown();
}

#[test]
fn discovering_a_removed_nid_returns_an_error() {
    let (port, a, b) =
        (free_port(), ["127.0.77.1", "127.0.77.2", "127.0.77.3"], ["127.0.78.1", "127.0.78.2"]);
    let (near, far) = (node(port, &a, DiscoveryMode::On), node(port, &b, DiscoveryMode::On));
    let far_nids = nids(&b);
    assert_eq!(found(discover(&near, far_nids[0], false)), (far_nids.clone(), true, vec![]));
    far.shutdown();
    let far = node(port, &b[1..], DiscoveryMode::On);
    let discovered = discover(&near, far_nids[0], false);
    let Discovered::Failed(failure) = discovered else { panic!("{discovered:?}") };
    assert_eq!((failure.step, failure.nid), (DiscoveryStep::Ping, far_nids[0]));
    assert_eq!(peer_nids(&near, far_nids[1]), far_nids[1..]);
    far.shutdown();
}

/// bck-025: fails if no message gets through to, or from, a node that does not report to be multi-rail, or if its NIDs
/// become those of one peer.
#[test]
fn a_peer_that_does_not_discover_is_used_by_the_nid_that_is_known() {
    let (port, a, b) = (free_port(), ["127.0.51.1"], ["127.0.52.1", "127.0.52.2"]);
    for (near_mode, far_mode) in
        [(DiscoveryMode::On, DiscoveryMode::Off), (DiscoveryMode::Off, DiscoveryMode::On)]
    {
        let (near, far) = (node(port, &a, near_mode), node(port, &b, far_mode));
        put(&near, &far, nids(&b)[0]);
        let told = peer(&near, nids(&b)[0]).unwrap();
        assert_eq!((told.nis.len(), told.multi_rail), (1, false), "{near_mode:?}");
        near.shutdown();
        far.shutdown();
    }
}

/// bck-030: fails if a peer that was not multi-rail at first stays so.
#[test]
fn a_peer_that_switches_discovery_on_is_found_with_all_its_rails() {
    let (port, a, b) = (free_port(), ["127.0.57.1"], ["127.0.58.1", "127.0.58.2"]);
    let (near, far) = (node(port, &a, DiscoveryMode::On), node(port, &b, DiscoveryMode::Off));
    let far_nids = nids(&b);
    put(&near, &far, far_nids[0]);
    assert_eq!(peer_nids(&near, far_nids[0]), far_nids[..1]);
    let backend: &dyn Backend = &*far;
    backend.tell(Request::SetTunable(Setting::Discovery, 1)).unwrap();
    assert_eq!(found(discover(&near, far_nids[0], false)), (far_nids, true, vec![]));
}

/// dyn-050: fails if no push follows when an interface fails or works again, or if it does not tell which.
#[test]
fn a_failed_or_recovered_interface_is_pushed_to_the_peer() {
    let (port, a, b) = (free_port(), ["127.0.59.1"], ["127.0.60.1", "127.0.60.2"]);
    let (near, far) = (node(port, &a, DiscoveryMode::On), node(port, &b, DiscoveryMode::On));
    let (near_nid, far_nids) = (nids(&a)[0], nids(&b));
    assert_eq!(found(discover(&near, far_nids[0], false)).0, far_nids);
    let told = |node: &Node, nid| peer(node, nid).and_then(|peer| peer.discovery).unwrap_or_default();
    wait_until("near has all", || told(&far, near_nid).up_to_date && told(&far, near_nid).node_sequence > 0);
    for why in [Some("the test says so"), None] {
        let (sent, heard) = (told(&far, near_nid).node_sequence, told(&near, far_nids[0]).peer_sequence);
        far.core().admin().set_ni_fatal(far_nids[1], FatalReporter::Host, why);
        wait_until("far has pushed", || told(&far, near_nid).node_sequence > sent);
        wait_until("near has followed", || told(&near, far_nids[0]).peer_sequence > heard);
        // The status of each interface in the push is recorded with its NID.
        wait_until("near knows which interface does not work", || {
            let peer_nis = near.core().peer_nis();
            let down = peer_nis.iter().filter(|it| it.is_reported_down()).map(|it| it.nid());
            down.collect::<Vec<_>>() == Vec::from_iter(why.map(|_| far_nids[1]))
        });
    }
}

/// dyn-050: fails if the response to a ping does not tell which interface is down, or if the pinging node does not use
/// that.
#[test]
fn an_interface_that_was_down_before_is_known_from_the_first_ping_reply() {
    let (port, a, b) = (free_port(), ["127.0.71.1"], ["127.0.72.1", "127.0.72.2", "127.0.72.3"]);
    let (near, far) = (node(port, &a, DiscoveryMode::On), node(port, &b[..2], DiscoveryMode::On));
    let far_nids = nids(&b);
    far.core().admin().set_ni_fatal(far_nids[1], FatalReporter::Host, Some("the test says so"));
    // Adding an interface renews the ping buffer.
    far.add_nid(far_nids[2]).unwrap();
    assert_eq!(found(discover(&near, far_nids[0], false)).0, far_nids);
    let peer_nis = near.core().peer_nis();
    let mut down = peer_nis.iter().filter(|peer_ni| peer_ni.is_reported_down()).map(|it| it.nid());
    assert_eq!((down.next(), down.next()), (Some(far_nids[1]), None));
    near.shutdown();
    far.shutdown();
}

/// dyn-060, dyn-065: fails if a node that claims a NID of another peer gets it, or if that is not reported.
#[test]
fn a_peer_that_has_the_nid_of_another_is_detected() {
    let (port, a, b) = (free_port(), ["127.0.61.1"], ["127.0.62.1", "127.0.62.2"]);
    for mode in [DiscoveryMode::On, DiscoveryMode::Verify] {
        let (near, far) = (node(port, &a, mode), node(port, &b, DiscoveryMode::On));
        let (far_nids, backend): (_, &dyn Backend) = (nids(&b), &*near);
        let other = AddPeerNi { primary: far_nids[1], nid: None, multi_rail: true, lock_primary: false };
        backend.tell(Request::AddPeerNi(other)).unwrap();
        let (known, _, differences) = found(discover(&near, far_nids[0], false));
        assert_eq!(known, far_nids[..1], "{mode:?}");
        // For a peer that is discovered, the log names the NID that was rejected.
        let claimed = differences.contains(&Difference::Claimed(far_nids[1]));
        assert_eq!(claimed, mode == DiscoveryMode::Verify, "{differences:?}");
        assert_eq!(peer_nids(&near, far_nids[1]), far_nids[1..]);
        near.shutdown();
        far.shutdown();
    }
}

#[test]
fn a_discovery_that_fails_names_the_step_and_the_nid() {
    let near = node(free_port(), &["127.0.53.1"], DiscoveryMode::On);
    let nobody = nids(&["127.0.53.9"])[0];
    let Discovered::Failed(failure) = discover(&near, nobody, false) else { panic!("somebody is there") };
    let DiscoveryFailure { step, nid, errno, .. } = failure;
    assert_eq!((step, nid), (DiscoveryStep::Ping, nobody));
    assert_ne!(errno, Errno::TimedOut);
    assert_eq!(peer(&near, nobody).unwrap().discovery.unwrap().failure, Some(failure));
    let elsewhere = "127.0.53.9@tcp7".parse().unwrap();
    let Discovered::Failed(failure) = discover(&near, elsewhere, false) else { panic!("a way to tcp7") };
    assert_eq!(failure.nid, elsewhere);
}

#[test]
fn discovering_the_loopback_returns_this_node() {
    let addresses = ["127.0.54.1", "127.0.54.2"];
    let near = node(free_port(), &addresses, DiscoveryMode::On);
    assert_eq!(found(discover(&near, Nid::LOOPBACK, false)), (nids(&addresses), true, vec![]));
}

#[test]
fn shutdown_ends_the_discoveries_that_threads_wait_for() {
    let port = free_port();
    // The listener accepts connections and sends nothing.
    let idle_listener = TcpListener::bind(("127.0.55.9", port)).unwrap();
    let near = node(port, &["127.0.55.1"], DiscoveryMode::On);
    let nid = nids(&["127.0.55.9"])[0];
    let (tell, ended) = channel();
    let asking = Arc::clone(&near);
    let asker = thread::spawn(move || tell.send(discover(&asking, nid, false)));
    wait_until("the discovery has begun", || {
        peer(&near, nid).is_some_and(|peer| peer.state & PeerState::DISCOVERING.0 != 0)
    });
    near.shutdown();
    let Ok(Discovered::Failed(failure)) = ended.recv_timeout(TIMEOUT) else { panic!("an end") };
    assert_eq!(failure.nid, nid);
    asker.join().unwrap().unwrap();
    drop(idle_listener);
}

#[test]
fn a_node_may_be_shut_down_twice_and_by_several_at_once() {
    let near = node(free_port(), &["127.0.56.1"], DiscoveryMode::On);
    let others: Vec<_> = (0..4)
        .map(|_| {
            let near = Arc::clone(&near);
            thread::spawn(move || near.shutdown())
        })
        .collect();
    near.shutdown();
    others.into_iter().for_each(|other| other.join().unwrap());
    near.shutdown();
    let backend: &dyn Backend = &*near;
    let target = ProcessId { nid: nids(&["127.0.56.9"])[0], pid: Pid::LUSTRE };
    let ask = Request::Discover(Discover { target, force: false, max_nids: 16 });
    assert_eq!(backend.ask::<Discovered>(ask), Err(Errno::Shutdown));
}
