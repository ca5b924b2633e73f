use super::*;
use crate::environment::ConfigLock;
use crate::model::FatalReporter;
use crate::model::{LatestUse, NiTunables, PeerState, Routes};
use crate::topology::PeerTable;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

pub(super) fn nid(text: &str) -> Nid {
    text.parse().unwrap()
}

pub(super) fn nets(own: &[&str]) -> Nets {
    own.iter().fold(Nets::default(), |nets, text| {
        let ni = Ni::new(nid(text), NiTunables::default().into(), NonZeroUsize::MIN).unwrap();
        nets.with(Arc::new(ni)).unwrap()
    })
}

/// A table with one peer, and its peer NIs.
pub(super) fn peer(nids: &[&str], state: PeerState) -> (PeerTable, Vec<Arc<PeerNi>>) {
    let table = PeerTable::new();
    table.make(&ConfigLock::default().lock(), nid(nids[0]), state, 8);
    for other in &nids[1..] {
        let peer = table.get(nid(nids[0])).unwrap().peer();
        table.attach(&ConfigLock::default().lock(), &peer, nid(other), 8);
    }
    let peer_nis = nids.iter().map(|text| table.get(nid(text)).unwrap()).collect();
    (table, peer_nis)
}

/// [`super::select_path`] on a node without routes.
fn select_path(
    nets: &Nets,
    destination: Option<&Arc<PeerNi>>,
    path_request: PathRequest<'_>,
) -> Result<ChosenPath, Errno> {
    super::select_path(Paths { nets, routes: &Routes::default() }, destination, path_request)
}

pub(super) fn path_request(source: Option<&str>, destination: &str) -> PathRequest<'static> {
    PathRequest { source: source.map(nid), ..PathRequest::unbound(nid(destination), false) }
}

fn paths(nets: &Nets, to: &Arc<PeerNi>, times: usize) -> BTreeMap<(String, String), usize> {
    let mut paths = BTreeMap::new();
    for _ in 0..times {
        let chosen = select_path(nets, Some(to), path_request(None, &to.nid().to_string())).unwrap();
        chosen.commit();
        let path = (chosen.ni.nid().to_string(), chosen.destination().to_string());
        *paths.entry(path).or_default() += 1;
    }
    paths
}

/// snd-075, PS-1, PS-10, PS-43: fails if a request without a source is refused, or one with a source leaves
/// by another interface.
#[test]
fn the_table_of_sources_and_destinations() {
    let nets = nets(&["0@lo", "10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.1.1@tcp1"]);
    let table = [
        (None, "0@lo", Ok("0@lo")),
        (Some("10.0.0.1@tcp"), "0@lo", Ok("0@lo")),
        (Some("10.9.9.9@tcp9"), "0@lo", Ok("0@lo")),
        (None, "10.0.0.9@tcp", Ok("10.0.0.1@tcp")),
        (Some("10.0.0.2@tcp"), "10.0.0.9@tcp", Ok("10.0.0.2@tcp")),
        (None, "10.0.1.9@tcp1", Ok("10.0.1.1@tcp1")),
        // A NID of the node itself is a destination like any other.
        (None, "10.0.0.2@tcp", Ok("10.0.0.1@tcp")),
        (Some("10.0.0.3@tcp"), "10.0.0.9@tcp", Err(Errno::Invalid)),
        (Some("10.0.1.1@tcp1"), "10.0.0.9@tcp", Err(Errno::HostUnreachable)),
        (Some("0@lo"), "10.0.0.9@tcp", Err(Errno::HostUnreachable)),
        (None, "10.0.7.9@tcp7", Err(Errno::HostUnreachable)),
    ];
    for (source, destination, want) in table {
        let (_table, peer_nis) = peer(&[destination], PeerState::default());
        let got = select_path(&nets, Some(&peer_nis[0]), path_request(source, destination));
        assert_eq!(got.map(|chosen| chosen.ni.nid()), want.map(nid), "{source:?} to {destination}");
    }
}

#[test]
fn equal_paths_are_used_round_robin() {
    let nets = nets(&["10.0.0.1@tcp", "10.0.0.2@tcp"]);
    let (_table, peer_nis) = peer(&["10.0.0.8@tcp", "10.0.0.9@tcp"], PeerState::MULTI_RAIL);
    let paths = paths(&nets, &peer_nis[1], 100);
    let by = |own: &str| paths.iter().filter(|((ni, _), _)| ni == own).map(|(_, n)| n).sum::<usize>();
    let to = |its: &str| paths.iter().filter(|((_, peer), _)| peer == its).map(|(_, n)| n).sum::<usize>();
    assert_eq!((by("10.0.0.1@tcp"), by("10.0.0.2@tcp")), (50, 50));
    assert_eq!((to("10.0.0.8@tcp"), to("10.0.0.9@tcp")), (50, 50));
}

/// cfg-075: fails if a NID on a second net is not used.
/// snd-060: fails if the two ends of a pair are on different nets.
#[test]
fn a_peer_on_two_nets_is_reached_over_both() {
    let nets = nets(&["10.0.0.1@tcp", "10.0.1.1@tcp1"]);
    let (_table, peer_nis) = peer(&["10.0.0.9@tcp", "10.0.1.9@tcp1"], PeerState::MULTI_RAIL);
    let paths = paths(&nets, &peer_nis[0], 10);
    let path = |own: &str, its: &str| paths.get(&(own.to_owned(), its.to_owned())).copied();
    assert_eq!(path("10.0.0.1@tcp", "10.0.0.9@tcp"), Some(5));
    assert_eq!(path("10.0.1.1@tcp1", "10.0.1.9@tcp1"), Some(5));
}

/// The local and peer NIDs of this many messages, in order.
fn order(nets: &Nets, to: &Arc<PeerNi>, times: usize) -> Vec<(Nid, Nid)> {
    let path = || {
        let chosen = select_path(nets, Some(to), path_request(None, &to.nid().to_string())).unwrap();
        chosen.commit();
        (chosen.ni.nid(), chosen.destination())
    };
    std::iter::repeat_with(path).take(times).collect()
}

/// Asserts that each of `all` has one turn in every round.
fn assert_turns(name: &str, used: impl Iterator<Item = Nid>, all: &[&str]) {
    let used: Vec<Nid> = used.collect();
    for (round, turns) in used.chunks_exact(all.len()).enumerate() {
        for text in all {
            assert!(turns.contains(&nid(text)), "{name}: {text} has no turn in round {round}: {turns:?}");
        }
    }
}

/// Two thousand messages later, a net that was away or is new comes first once, and never has two turns in a row.
#[test]
fn a_net_that_is_added_or_recovered_or_no_longer_preferred_joins_the_round_robin_at_once() {
    let own = ["10.0.0.1@tcp", "10.0.1.1@tcp1"];
    let its = ["10.0.0.9@tcp", "10.0.1.9@tcp1"];
    type Change = fn(&Nets, &[Arc<PeerNi>], bool);
    let table: [(&str, Change); 5] = [
        ("the peer's interface became unhealthy", |_, peer_nis, away| {
            peer_nis[1].set_health(if away { 0 } else { 1000 });
        }),
        ("this node's interface became unhealthy", |nets, _, away| {
            nets.ni(nid("10.0.1.1@tcp1")).unwrap().set_health(if away { 0 } else { 1000 });
        }),
        ("a link was down", |nets, _, away| {
            nets.ni(nid("10.0.1.1@tcp1")).unwrap().set_fatal(FatalReporter::Host, away)
        }),
        ("a rule gave the peer's net a priority", |_, peer_nis, away| {
            let peer = peer_nis[0].peer();
            let tcp = peer.nets.iter().find(|net| net.id == peer_nis[0].nid().net()).unwrap();
            tcp.usage.set_priority(if away { 0 } else { u32::MAX });
        }),
        ("a rule gave this node's net a priority", |nets, peer_nis, away| {
            let tcp = nets.net(peer_nis[0].nid().net()).unwrap();
            tcp.usage().set_priority(if away { 0 } else { u32::MAX });
        }),
    ];
    for (name, change) in table {
        let nets = nets(&own);
        let (_table, peer_nis) = peer(&its, PeerState::MULTI_RAIL);
        change(&nets, &peer_nis, true);
        assert!(order(&nets, &peer_nis[0], 2000).iter().all(|path| path.1 == nid(its[0])), "{name}");
        change(&nets, &peer_nis, false);
        let paths = order(&nets, &peer_nis[0], 2000);
        assert_eq!(paths[0], (nid(own[1]), nid(its[1])), "{name}");
        assert_turns(name, paths.iter().map(|path| path.1), &its);
    }

    let one = nets(&own[..1]);
    let (_table, peer_nis) = peer(&its, PeerState::MULTI_RAIL);
    assert!(order(&one, &peer_nis[0], 2000).iter().all(|path| path.1 == nid(its[0])));
    let ni = Ni::new(nid(own[1]), NiTunables::default().into(), NonZeroUsize::MIN).unwrap();
    let both = one.with(Arc::new(ni)).unwrap();
    let paths = order(&both, &peer_nis[0], 2000);
    assert_eq!(paths[0], (nid(own[1]), nid(its[1])));
    assert_turns("a net was added", paths.iter().map(|path| path.1), &its);
}

#[test]
fn an_interface_or_peer_ni_that_is_added_or_recovered_joins_the_round_robin_at_once() {
    let own = ["10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.0.3@tcp"];
    let its = ["10.0.0.7@tcp", "10.0.0.8@tcp", "10.0.0.9@tcp"];
    for alone in [1, 2] {
        let nets = nets(&own[..alone]);
        let (table, peer_nis) = peer(&its[..alone], PeerState::MULTI_RAIL);
        let before = order(&nets, &peer_nis[0], 2000);
        assert_turns("before", before.iter().map(|path| path.0), &own[..alone]);
        let ni = Ni::new(nid(own[2]), NiTunables::default().into(), NonZeroUsize::MIN).unwrap();
        let nets = nets.with(Arc::new(ni)).unwrap();
        table.attach(&ConfigLock::default().lock(), &peer_nis[0].peer(), nid(its[2]), 8);
        let with_both = |all: &[&'static str; 3]| [&all[..alone], &all[2..]].concat();
        for _ in 0..2 {
            let paths = order(&nets, &peer_nis[0], 600);
            assert_eq!(paths[0], (nid(own[2]), nid(its[2])), "{alone}");
            assert_turns("own", paths.iter().map(|path| path.0), &with_both(&own));
            assert_turns("its", paths.iter().map(|path| path.1), &with_both(&its));
            let last = (nets.ni(nid(own[2])).unwrap(), table.get(nid(its[2])).unwrap());
            last.0.set_health(500);
            last.1.set_health(500);
            order(&nets, &peer_nis[0], 2000);
            last.0.set_health(1000);
            last.1.set_health(1000);
        }
    }
}

/// DISC-2a: a NID that was another peer's has been used in the sequence of that peer.
#[test]
fn peer_nis_of_merged_peers_are_used_round_robin_at_once() {
    let nets = nets(&["10.0.0.1@tcp"]);
    let its = ["10.0.0.8@tcp", "10.0.0.9@tcp", "10.0.0.10@tcp"];
    let (table, peer_nis) = peer(&its[..2], PeerState::MULTI_RAIL);
    order(&nets, &peer_nis[0], 2000);
    table.make(&ConfigLock::default().lock(), nid(its[2]), PeerState::MULTI_RAIL, 8);
    let other = table.get(nid(its[2])).unwrap();
    order(&nets, &other, 3);
    table.reshape(
        &ConfigLock::default().lock(),
        &other.peer(),
        nid(its[2]),
        its.iter().rev().map(|text| nid(text)).collect(),
        |_| 8,
    );
    let paths = order(&nets, &other, 300);
    assert_turns("its", paths.iter().map(|path| path.1), &its);
}

/// DISC-2a: fails if peer NIs that have been used equally often, each in the sequence of its own peer, do not take turns.
#[test]
fn peer_nis_of_peers_that_were_used_equally_often_are_used_round_robin_when_merged() {
    let nets = nets(&["10.0.0.1@tcp"]);
    for (first, second) in (0..4).flat_map(|first| (0..4).map(move |second| (first, second))) {
        let its = ["10.0.0.8@tcp", "10.0.0.9@tcp"];
        let (table, peer_nis) = peer(&its[..1], PeerState::MULTI_RAIL);
        table.make(&ConfigLock::default().lock(), nid(its[1]), PeerState::MULTI_RAIL, 8);
        let other = table.get(nid(its[1])).unwrap();
        for (peer_ni, uses) in [(&peer_nis[0], first), (&other, second)] {
            // The number of a single one does not grow.
            let latest = LatestUse::default();
            (0..uses).for_each(|_| latest.note(peer_ni.last_use()));
        }
        let peer = peer_nis[0].peer();
        let nids = its.iter().map(|text| nid(text)).collect();
        table.reshape(&ConfigLock::default().lock(), &peer, nid(its[0]), nids, |_| 8);
        let used: Vec<Nid> = order(&nets, &other, 10).into_iter().map(|path| path.1).collect();
        assert_turns("its", used.into_iter(), &its);
    }
}

/// The first message to each of many peers of two nets.
#[test]
fn first_messages_to_many_peers_are_spread_over_this_nodes_nets() {
    let nets = nets(&["10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.1.1@tcp1"]);
    let (_table, alone) = peer(&["10.0.0.7@tcp"], PeerState::MULTI_RAIL);
    order(&nets, &alone[0], 101);
    let first = (20..120).map(|n| {
        let (_table, peer_nis) =
            peer(&[&format!("10.0.0.{n}@tcp"), &format!("10.0.1.{n}@tcp1")], PeerState::MULTI_RAIL);
        order(&nets, &peer_nis[0], 1)[0].0
    });
    let used: Vec<Nid> = first.collect();
    assert_turns(
        "nets",
        used.iter().map(|own| own.net()).map(|net| nid(&format!("0.0.0.1@{net}"))),
        &["0.0.0.1@tcp", "0.0.0.1@tcp1"],
    );
    assert_turns(
        "on tcp",
        used.iter().copied().filter(|own| own.net() == nid("0.0.0.1@tcp").net()),
        &["10.0.0.1@tcp", "10.0.0.2@tcp"],
    );
}

/// A response, a message with a given source, and one that sticks to an interface count like any other use.
#[test]
fn every_message_counts_as_a_use_of_its_interface() {
    let nets = nets(&["10.0.0.1@tcp", "10.0.0.2@tcp"]);
    let (_table, old) = peer(&["10.0.0.7@tcp"], PeerState::default());
    let (_other, peer_nis) = peer(&["10.0.0.8@tcp"], PeerState::MULTI_RAIL);
    let first = nid("10.0.0.1@tcp");
    let uses: [&dyn Fn(); 3] = [
        &|| answered(&nets, nets.ni(first).unwrap(), &peer_nis[0]),
        &|| {
            select_path(&nets, Some(&peer_nis[0]), path_request(Some("10.0.0.1@tcp"), "10.0.0.8@tcp"))
                .unwrap()
                .commit()
        },
        &|| assert_eq!(order(&nets, &old[0], 1)[0].0, first),
    ];
    old[0].set_sticky(Some(first));
    for used in uses {
        for _ in 0..3 {
            used();
            assert_eq!(order(&nets, &peer_nis[0], 1)[0].0, nid("10.0.0.2@tcp"));
        }
    }
}

/// bck-025, PS-30: fails if a peer that is not multi-rail hears one node by several NIDs.
#[test]
fn a_single_rail_peer_stays_with_the_interface_used_first() {
    let nets = nets(&["10.0.0.1@tcp", "10.0.0.2@tcp"]);
    let (_table, peer_nis) = peer(&["10.0.0.9@tcp"], PeerState::default());
    assert_eq!(paths(&nets, &peer_nis[0], 20).len(), 1);
    // Another such peer gets the other interface, which is next in turn.
    let (_other, others) = peer(&["10.0.0.10@tcp"], PeerState::default());
    let first = peer_nis[0].sticky().unwrap();
    assert!(paths(&nets, &others[0], 1).keys().all(|(own, _)| nid(own) != first));
    // An interface that has gone is given up.
    let left = nets.without(first);
    assert!(paths(&left, &peer_nis[0], 2).keys().all(|(own, _)| nid(own) != first));
}

/// PS-30: so that a ping tells whether the other interface works.
#[test]
fn a_message_to_the_reserved_portal_does_not_set_the_preferred_interface() {
    let nets = nets(&["10.0.0.1@tcp", "10.0.0.2@tcp"]);
    let (_table, peer_nis) = peer(&["10.0.0.9@tcp"], PeerState::default());
    let send = |reserved| {
        let path_request = PathRequest { reserved, ..path_request(None, "10.0.0.9@tcp") };
        let chosen = select_path(&nets, Some(&peer_nis[0]), path_request).unwrap();
        chosen.commit();
        chosen.ni.nid().to_string()
    };
    assert_eq!([true, true, true].map(send), ["10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.0.1@tcp"]);
    assert_eq!(peer_nis[0].sticky(), None);
    assert_eq!([false, false, true, false].map(send), [2, 2, 1, 2].map(|n| format!("10.0.0.{n}@tcp")));
}

/// PS-31: fails if a response does not count as a use of its interfaces.
#[test]
fn a_response_counts_as_a_use_of_its_interfaces() {
    let nets = nets(&["10.0.0.1@tcp", "10.0.0.2@tcp"]);
    let (table, peer_nis) = peer(&["10.0.0.8@tcp"], PeerState::MULTI_RAIL);
    answered(&nets, nets.ni(nid("10.0.0.1@tcp")).unwrap(), &peer_nis[0]);
    // The peer turns out to have another NID, to which nothing has been sent yet.
    table.attach(&ConfigLock::default().lock(), &peer_nis[0].peer(), nid("10.0.0.9@tcp"), 8);
    let chosen = select_path(&nets, Some(&peer_nis[0]), path_request(None, "10.0.0.8@tcp")).unwrap();
    assert_eq!([chosen.ni.nid(), chosen.destination()], ["10.0.0.2@tcp", "10.0.0.9@tcp"].map(nid));
    chosen.commit();
    answered(&nets, &chosen.ni, chosen.peer_ni.as_ref().unwrap());
    let chosen = select_path(&nets, Some(&peer_nis[0]), path_request(None, "10.0.0.8@tcp")).unwrap();
    assert_eq!([chosen.ni.nid(), chosen.destination()], ["10.0.0.1@tcp", "10.0.0.8@tcp"].map(nid));
}

/// PS-30: fails if a given source does not become the preferred interface of a peer that is not multi-rail.
#[test]
fn a_given_source_becomes_the_preferred_interface_of_a_single_rail_peer() {
    let nets = nets(&["10.0.0.1@tcp", "10.0.0.2@tcp"]);
    let (_table, peer_nis) = peer(&["10.0.0.8@tcp"], PeerState::default());
    let given = Some("10.0.0.2@tcp");
    select_path(&nets, Some(&peer_nis[0]), path_request(given, "10.0.0.8@tcp")).unwrap().commit();
    for source in [None, Some("10.0.0.1@tcp"), None] {
        let chosen = select_path(&nets, Some(&peer_nis[0]), path_request(source, "10.0.0.8@tcp")).unwrap();
        assert_eq!(chosen.ni.nid(), nid(source.unwrap_or("10.0.0.2@tcp")));
        chosen.commit();
    }
}

/// dyn-050: fails if what a peer says of its interfaces has no bearing on what is used.
#[test]
fn a_nid_that_its_node_reports_as_down_is_used_only_if_all_nids_are_down() {
    let nets = nets(&["10.0.0.1@tcp", "10.0.1.1@tcp1"]);
    let (_table, peer_nis) = peer(&["10.0.0.8@tcp", "10.0.0.9@tcp", "10.0.1.8@tcp1"], PeerState::MULTI_RAIL);
    let chosen = || {
        select_path(&nets, Some(&peer_nis[0]), path_request(None, "10.0.0.8@tcp"))
            .unwrap()
            .destination()
            .to_string()
    };
    for health in [1000, 0] {
        for its in &peer_nis {
            its.set_reported_down(false);
            its.set_health(health);
        }
        for (down, goes_to) in [(0, "10.0.0.9@tcp"), (1, "10.0.1.8@tcp1"), (2, "10.0.0.8@tcp")] {
            peer_nis[down].set_reported_down(true);
            assert_eq!(chosen(), goes_to, "health {health}");
        }
    }
}

/// snd-060: fails if either end of the path is not the healthiest of its side.
/// Two rails in subnets of their own. Of the suspect paths that between two ends of one subnet comes first, a late one last.
#[test]
fn new_messages_leave_a_late_path_for_one_on_which_something_was_heard_and_then_for_one_of_a_subnet() {
    let nets = nets(&["10.0.1.1@tcp", "10.0.2.1@tcp"]);
    let nis: Vec<_> = nets.nis().filter(|ni| !ni.nid().is_loopback()).cloned().collect();
    for (number, ni) in nis.iter().enumerate() {
        ni.set_number(number as u32);
        ni.set_prefix_len(24);
    }
    let (_table, its) = peer(&["10.0.1.2@tcp", "10.0.2.2@tcp"], PeerState::MULTI_RAIL);
    let taken = |any_suspect| {
        let taken = (0..8).map(|_| {
            let request = PathRequest { any_suspect, ..path_request(None, "10.0.1.2@tcp") };
            let chosen = select_path(&nets, Some(&its[0]), request).unwrap();
            chosen.commit();
            (chosen.ni.nid(), chosen.destination())
        });
        taken.collect::<std::collections::BTreeSet<_>>()
    };
    let path = |ni: usize, peer_ni: usize| (nis[ni].nid(), its[peer_ni].nid());
    its.iter().for_each(|peer_ni| nis.iter().for_each(|ni| peer_ni.note_heard_by(ni)));
    assert_eq!(taken(true).len(), 2, "both rails");
    assert!(its[0].late_from(&nis[0]) && !its[0].late_from(&nis[0]));
    assert!(!taken(true).contains(&path(0, 0)));
    for (peer_ni, ni) in its.iter().flat_map(|peer_ni| nis.iter().map(move |ni| (peer_ni, ni))) {
        peer_ni.suspect_from(ni);
    }
    assert_eq!(taken(true).into_iter().collect::<Vec<_>>(), [path(1, 1)]);
    its[1].note_heard_by(&nis[0]);
    assert_eq!(taken(true).into_iter().collect::<Vec<_>>(), [path(0, 1)]);
    its[0].note_heard_by(&nis[0]);
    assert!(!its[0].is_late_from(&nis[0]) && taken(true).iter().all(|it| it.0 == nis[0].nid()));
    assert_eq!(taken(false).len(), 2, "nothing is looked at while no path is suspect");
}

#[test]
fn health_is_compared_before_the_round_robin() {
    let nets = nets(&["10.0.0.1@tcp", "10.0.0.2@tcp"]);
    let (_table, peer_nis) = peer(&["10.0.0.8@tcp", "10.0.0.9@tcp"], PeerState::MULTI_RAIL);
    nets.ni(nid("10.0.0.1@tcp")).unwrap().set_health(900);
    peer_nis[1].set_health(10);
    let paths = paths(&nets, &peer_nis[0], 10);
    assert_eq!(paths.into_iter().collect::<Vec<_>>(), [(("10.0.0.2@tcp".into(), "10.0.0.8@tcp".into()), 10)]);
}

#[test]
fn an_explanation_names_the_criterion_that_ruled_out_each_other_candidate() {
    let nets = nets(&["10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.0.3@tcp", "10.0.1.1@tcp1"]);
    let (_table, peer_nis) = peer(&["10.0.0.8@tcp", "10.0.0.9@tcp", "10.0.1.8@tcp1"], PeerState::MULTI_RAIL);
    nets.ni(nid("10.0.0.1@tcp")).unwrap().set_health(900);
    nets.ni(nid("10.0.0.3@tcp")).unwrap().set_fatal(FatalReporter::Host, true);
    peer_nis[2].set_health(999);
    let paths = Paths { nets: &nets, routes: &Routes::default() };
    let explanation = explain(paths, Some(&peer_nis[0]), path_request(None, "10.0.0.8@tcp")).unwrap();
    assert_eq!(explanation.chosen.ni.nid(), nid("10.0.0.2@tcp"));
    let losers: Vec<_> =
        explanation.local_nis.iter().map(|(nid, why)| (nid.to_string(), why.criterion)).collect();
    assert_eq!(
        losers,
        [("10.0.0.1@tcp".to_owned(), Criterion::Health), ("10.0.0.3@tcp".to_owned(), Criterion::Fatal)]
    );
    assert_eq!(
        explanation.nets.iter().map(|(net, why)| (net.to_string(), why.criterion)).collect::<Vec<_>>(),
        [("tcp1".to_owned(), Criterion::Health)]
    );
    assert_eq!(
        explanation.peer_nis.iter().map(|(nid, why)| (nid.to_string(), why.criterion)).collect::<Vec<_>>(),
        [("10.0.0.9@tcp".to_owned(), Criterion::Order)]
    );
}

/// dyn-050: fails if what the peer says of an interface is mistaken for its health: that is what it was.
#[test]
fn an_explanation_distinguishes_nids_reported_as_down_from_nids_with_low_health() {
    let nets = nets(&["10.0.0.1@tcp", "10.0.1.1@tcp1"]);
    let nids = ["10.0.0.8@tcp", "10.0.0.9@tcp", "10.0.0.10@tcp", "10.0.1.8@tcp1"];
    let (_table, peer_nis) = peer(&nids, PeerState::MULTI_RAIL);
    peer_nis[1].set_reported_down(true);
    peer_nis[2].set_health(0);
    peer_nis[3].set_reported_down(true);
    let paths = Paths { nets: &nets, routes: &Routes::default() };
    let explanation = explain(paths, Some(&peer_nis[0]), path_request(None, nids[0])).unwrap();
    let losers: Vec<_> =
        explanation.peer_nis.iter().map(|(nid, why)| (nid.to_string(), why.criterion)).collect();
    assert_eq!(
        losers,
        [(nids[1].to_owned(), Criterion::ReportedDown), (nids[2].to_owned(), Criterion::Health)]
    );
    assert_eq!(explanation.nets.first().map(|(_, why)| why.criterion), Some(Criterion::ReportedDown));
}

/// An interface of a made-up machine: its net, and whether it is broken.
fn interface() -> impl Strategy<Value = (u16, bool, u32)> {
    (0_u16..3, any::<bool>(), prop_oneof![Just(0_u32), Just(1000), 0_u32..=1000])
}

proptest! {
    /// PS-15: nets of broken interfaces come last; nothing else can hide one that works.
    #[test]
    fn no_failed_interface_is_chosen_while_one_works(
        own in prop::collection::vec(interface(), 1..8),
        its in prop::collection::vec(interface(), 1..8),
    ) {
        let mut nets = Nets::default();
        for (i, (net, fatal, health)) in own.iter().enumerate() {
            let its_nid = nid(&format!("10.0.{net}.{}@tcp{net}", i + 1));
            let ni = Ni::new(its_nid, NiTunables::default().into(), NonZeroUsize::MIN).unwrap();
            ni.set_fatal(FatalReporter::Host, *fatal);
            ni.set_health(*health);
            nets = nets.with(Arc::new(ni)).unwrap();
        }
        let texts: Vec<String> =
            its.iter().enumerate().map(|(i, (net, ..))| format!("10.1.{net}.{}@tcp{net}", i + 1)).collect();
        let (_table, peer_nis) =
            peer(&texts.iter().map(String::as_str).collect::<Vec<_>>(), PeerState::MULTI_RAIL);
        for (peer_ni, (_, _, health)) in peer_nis.iter().zip(&its) {
            peer_ni.set_health(*health);
        }
        let shared = |net: u16| own.iter().any(|(its, ..)| *its == net);
        let works = |net: u16| own.iter().any(|(its, fatal, _)| *its == net && !fatal);
        let reachable = its.iter().any(|(net, ..)| shared(*net));
        let usable = its.iter().any(|(net, ..)| works(*net));
        match select_path(&nets, Some(&peer_nis[0]), path_request(None, &texts[0])) {
            Err(errno) => prop_assert!(!reachable && errno == Errno::HostUnreachable),
            Ok(chosen) => {
                prop_assert_eq!(chosen.ni.nid().net(), chosen.destination().net());
                prop_assert!(!chosen.ni.is_fatal() || !usable);
            }
        }
    }
}
