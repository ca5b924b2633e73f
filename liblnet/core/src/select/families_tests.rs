//! Tests of selection on nets where NIDs of both address families are.

use super::families::are_mixed;
use super::tests::{nets, nid, path_request, peer};
use super::*;
use crate::model::{AddressFamilies, AddressFamily, FatalReporter, PeerState, Routes};
use crate::topology::PeerTable;
use proptest::prelude::*;
use std::collections::BTreeSet;

const V4: &str = "10.0.0.1@tcp";
const V6: &str = "fd99::1@tcp";
const PEER_V4: &str = "10.0.0.9@tcp";
const PEER_V6: &str = "fd99::9@tcp";

fn select(nets: &Nets, to: &Arc<PeerNi>, source: Option<&str>) -> Result<(Nid, Nid), Errno> {
    let paths = Paths { nets, routes: &Routes::default() };
    let chosen = take_path(paths, Some((to, &to.peer_now())), &path_request(source, &to.nid().to_string()))?;
    Ok((chosen.ni.nid(), chosen.destination()))
}

/// The local and peer NIDs of ten messages; empty without a path.
fn paths(nets: &Nets, to: &Arc<PeerNi>) -> BTreeSet<(String, String)> {
    let each = (0..10).filter_map(|_| select(nets, to, None).ok());
    each.map(|(local, remote)| (local.to_string(), remote.to_string())).collect()
}

/// Own NIDs, of which those with a `+` reach both families.
fn own(nids: &[&str]) -> Nets {
    let nets = nets(&nids.iter().map(|text| text.trim_end_matches('+')).collect::<Vec<_>>());
    for (ni, text) in nets.nis().zip(nids) {
        if text.ends_with('+') {
            ni.add_families(AddressFamilies::of([nid(V4), nid(V6)]));
        }
    }
    nets.nis().zip(0..).for_each(|(ni, number)| ni.set_number(number));
    nets
}

#[test]
fn an_interface_sends_to_nids_of_its_own_family_and_to_others_only_if_it_reaches_them_and_no_better_is_there()
{
    const V4_BOTH: &str = "10.0.0.1@tcp+";
    let multi_rail = PeerState::MULTI_RAIL;
    type Case<'a> = (&'a [&'a str], &'a [&'a str], PeerState, &'a [(&'a str, &'a str)]);
    let table: &[Case<'_>] = &[
        (&[V4], &[PEER_V4, PEER_V6], multi_rail, &[(V4, PEER_V4)]),
        (&[V6], &[PEER_V4, PEER_V6], multi_rail, &[(V6, PEER_V6)]),
        (&[V4, V6], &[PEER_V4, PEER_V6], multi_rail, &[(V4, PEER_V4), (V6, PEER_V6)]),
        (&[V6, V4], &[PEER_V4], multi_rail, &[(V4, PEER_V4)]),
        (&[V4_BOTH, V6], &[PEER_V6], multi_rail, &[(V6, PEER_V6)]),
        (&[V4_BOTH, V6], &[PEER_V4, PEER_V6], multi_rail, &[(V4, PEER_V4), (V6, PEER_V6)]),
        (&[V4_BOTH], &[PEER_V6], multi_rail, &[(V4, PEER_V6)]),
        (&[V4_BOTH], &[PEER_V4, PEER_V6], multi_rail, &[(V4, PEER_V4)]),
        (&[V4], &[PEER_V6], multi_rail, &[]),
        (&[V6], &[PEER_V4], multi_rail, &[]),
        // A peer that is not multi-rail is sent to by the NID that is named.
        (&[V4, V6], &[PEER_V6], PeerState::default(), &[(V6, PEER_V6)]),
        (&[V6, V4], &[PEER_V4], PeerState::default(), &[(V4, PEER_V4)]),
        (&[V4_BOTH, V6], &[PEER_V6], PeerState::default(), &[(V6, PEER_V6)]),
        (&[V4_BOTH], &[PEER_V6], PeerState::default(), &[(V4, PEER_V6)]),
        (&[V4], &[PEER_V6], PeerState::default(), &[]),
        (&[V6], &[PEER_V4], PeerState::default(), &[]),
    ];
    for (locals, remotes, state, expected) in table {
        let (_table, peer_nis) = peer(remotes, *state);
        let expected: BTreeSet<_> =
            expected.iter().map(|(local, remote)| ((*local).to_owned(), (*remote).to_owned())).collect();
        assert_eq!(paths(&own(locals), &peer_nis[0]), expected, "{locals:?} to {remotes:?}");
    }
}

#[test]
fn a_nid_of_the_other_family_that_was_heard_on_an_interface_is_sent_to_from_there() {
    let nets = own(&[V6]);
    for state in [PeerState::MULTI_RAIL, PeerState::default()] {
        let (_table, peer_nis) = peer(&[PEER_V4], state);
        assert_eq!(select(&nets, &peer_nis[0], None), Err(Errno::HostUnreachable));
        peer_nis[0].note_heard_by(&nets.nis().next().cloned().unwrap());
        assert_eq!(select(&nets, &peer_nis[0], None), Ok((nid(V6), nid(PEER_V4))));
        assert!(!has_usable_path(&nets, &peer(&[PEER_V4], state).1[0].peer()));
        assert!(has_usable_path(&nets, &peer_nis[0].peer()));
    }
}

#[test]
fn a_source_whose_family_does_not_reach_the_nid_is_no_path() {
    let nets = own(&[V4, V6]);
    let (_table, peer_nis) = peer(&[PEER_V4, PEER_V6], PeerState::MULTI_RAIL);
    let [v4, v6] = [&peer_nis[0], &peer_nis[1]];
    assert_eq!(select(&nets, v4, Some(V4)), Ok((nid(V4), nid(PEER_V4))));
    assert_eq!(select(&nets, v6, Some(V6)), Ok((nid(V6), nid(PEER_V6))));
    assert_eq!(select(&nets, v4, Some(V6)), Err(Errno::HostUnreachable));
    assert_eq!(select(&nets, v6, Some(V4)), Err(Errno::HostUnreachable));
}

#[test]
fn if_the_rail_of_one_family_fails_the_other_one_is_used() {
    let nets = own(&["10.0.0.1@tcp+", V6]);
    let (_table, peer_nis) = peer(&[PEER_V4, PEER_V6], PeerState::MULTI_RAIL);
    let only = |local: &str, remote: &str| BTreeSet::from([(local.to_owned(), remote.to_owned())]);
    let (v4, v6) = (nets.ni(nid(V4)).unwrap(), nets.ni(nid(V6)).unwrap());
    peer_nis[0].set_health(500);
    assert_eq!(paths(&nets, &peer_nis[0]), only(V6, PEER_V6), "the peer's IPv4 rail has less health");
    peer_nis[0].set_health(1000);
    v6.set_fatal(FatalReporter::Host, true);
    assert_eq!(paths(&nets, &peer_nis[0]), only(V4, PEER_V4), "the own IPv6 rail is broken");
    peer_nis[0].set_health(0);
    assert_eq!(paths(&nets, &peer_nis[0]), only(V4, PEER_V6), "the peer's IPv4 rail is down, too");
    v4.set_fatal(FatalReporter::Host, true);
    assert_eq!(paths(&nets, &peer_nis[0]), only(V6, PEER_V6), "both own rails are broken");
}

/// An interface of this node: family, whether it reaches both, whether it is broken, health.
type Own = (bool, bool, bool, u32);
/// An interface of the peer: family, health, and the own interfaces on which it was heard, by their numbers.
type Its = (bool, u32, Vec<bool>);

fn family() -> impl Strategy<Value = bool> {
    any::<bool>()
}

fn health() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![0, 700, 1000])
}

/// The value by which the model compares a pair: the lowest is the best.
type Key = (bool, bool, bool, u32, u32);

/// The naive model: every pair of interfaces, one by one.
struct Model<'a> {
    own: &'a [Own],
    its: &'a [Its],
}

impl Model<'_> {
    fn is_path(&self, ni: usize, to: usize) -> bool {
        let (own, its) = (&self.own[ni], &self.its[to]);
        own.0 == its.0 || own.1 || its.2.get(ni).copied().unwrap_or(false)
    }

    /// The paths from `ni` to NIDs of one family.
    fn group(&self, ni: usize, long: bool) -> Vec<usize> {
        (0..self.its.len()).filter(|to| self.its[*to].0 == long && self.is_path(ni, *to)).collect()
    }

    fn key(&self, ni: usize, long: bool) -> Option<Key> {
        let own = &self.own[ni];
        if self.group(ni, long).is_empty() {
            return None;
        }
        // The health of all peer NIs of the family counts.
        let health = self.its.iter().filter(|its| its.0 == long).map(|its| its.1).max()?;
        Some((own.2, health == 0, own.0 != long, 1000 - health, 1000 - own.3))
    }

    fn best(&self) -> Option<Key> {
        let pairs = (0..self.own.len()).flat_map(|ni| [false, true].map(|long| (ni, long)));
        pairs.filter_map(|(ni, long)| self.key(ni, long)).min()
    }
}

proptest! {
    /// Fails if a message leaves by a path that does not exist for its families, by an interface of another family than the NID's
    /// while one of that family works, or by a worse interface than a comparison of all pairs finds.
    #[test]
    fn the_path_on_a_mixed_net_is_the_best_of_all_pairs(
        own_nis in prop::collection::vec((family(), any::<bool>(), prop::bool::weighted(0.2), health()), 1..5),
        its_nis in prop::collection::vec((family(), health(), prop::collection::vec(prop::bool::weighted(0.2), 5)), 1..5),
        messages in 1_usize..8,
    ) {
        let text = |long: bool, host: usize| match long {
            true => format!("fd99::{host}@tcp"),
            false => format!("10.0.0.{host}@tcp"),
        };
        let own_nids: Vec<String> = own_nis.iter().enumerate().map(|(at, its)| text(its.0, at + 1)).collect();
        let its_nids: Vec<String> = its_nis.iter().enumerate().map(|(at, its)| text(its.0, at + 21)).collect();
        let names = |nids: &[String]| nids.iter().map(|nid| nid.clone().leak() as &str).collect::<Vec<_>>();
        let nets = own(&names(&own_nids));
        let (_table, peer_nis): (PeerTable, _) = peer(&names(&its_nids), PeerState::MULTI_RAIL);
        for (ni, (_, both, fatal, health)) in nets.nis().zip(&own_nis) {
            ni.add_families(if *both { AddressFamilies::of([nid(V4), nid(V6)]) } else { AddressFamilies::NONE });
            ni.set_fatal(FatalReporter::Host, *fatal);
            ni.set_health(*health);
        }
        for (peer_ni, (_, health, heard)) in peer_nis.iter().zip(&its_nis) {
            peer_ni.set_health(*health);
            nets.nis().zip(heard).filter(|(_, heard)| **heard).for_each(|(ni, _)| {
                peer_ni.note_heard_by(ni);
            });
        }
        let model = Model { own: &own_nis, its: &its_nis };
        let peer_net = &peer_nis[0].peer();
        let is_mixed = are_mixed(nets.iter().next().unwrap(), peer_net.net(nid(V4).net()).unwrap());
        for _ in 0..messages {
            let chosen = select(&nets, &peer_nis[0], None);
            let Ok((local, remote)) = chosen else {
                prop_assert_eq!(chosen, Err(Errno::HostUnreachable));
                prop_assert_eq!(model.best(), None);
                continue;
            };
            let ni = own_nids.iter().position(|its| nid(its) == local).unwrap();
            let to = its_nids.iter().position(|its| nid(its) == remote).unwrap();
            prop_assert!(model.is_path(ni, to), "{} -> {}", local, remote);
            if is_mixed {
                let long = its_nis[to].0;
                prop_assert_eq!(model.key(ni, long), model.best());
                let best_health = model.group(ni, long).into_iter().map(|to| its_nis[to].1).max();
                prop_assert_eq!(Some(its_nis[to].1), best_health);
            }
        }
    }
}

#[test]
fn an_explanation_names_the_interfaces_that_are_no_paths_for_their_family() {
    let nets = own(&[V4, V6]);
    let paths = Paths { nets: &nets, routes: &Routes::default() };
    let why =
        |losers: &[Loser<Nid>]| losers.iter().map(|(nid, why)| (*nid, why.criterion)).collect::<Vec<_>>();
    let (_table, v4_only) = peer(&[PEER_V4], PeerState::MULTI_RAIL);
    let explained = explain(paths, Some(&v4_only[0]), path_request(None, PEER_V4)).unwrap();
    assert_eq!(explained.chosen.ni.nid(), nid(V4));
    assert_eq!(why(&explained.local_nis), [(nid(V6), Criterion::Unreachable)]);
    let (_table, both) = peer(&[PEER_V4, PEER_V6], PeerState::MULTI_RAIL);
    let explained = explain(paths, Some(&both[0]), path_request(None, PEER_V4)).unwrap();
    assert_eq!(
        AddressFamily::of(explained.chosen.ni.nid()),
        AddressFamily::of(explained.chosen.destination())
    );
    let (local, remote) = (why(&explained.local_nis), why(&explained.peer_nis));
    assert_eq!(local.len(), 1);
    assert_eq!(local[0].1, Criterion::Order);
    assert_eq!(remote.iter().map(|(_, why)| *why).collect::<Vec<_>>(), [Criterion::Unreachable]);
    let one = own(&["10.0.0.1@tcp+"]);
    let paths = Paths { nets: &one, routes: &Routes::default() };
    let explained = explain(paths, Some(&both[0]), path_request(None, PEER_V6)).unwrap();
    assert_eq!(explained.chosen.destination(), nid(PEER_V4));
    assert_eq!(why(&explained.peer_nis), [(nid(PEER_V6), Criterion::Family)]);
}

#[test]
fn a_nid_is_tried_from_interfaces_of_its_own_family_if_one_works_and_otherwise_from_all_that_reach_it() {
    const V4_BOTH: &str = "10.0.0.1@tcp+";
    type Case<'a> = (&'a [&'a str], Option<&'a str>, &'a [&'a str], &'a [&'a str]);
    let table: &[Case<'_>] = &[
        (&[V4_BOTH, V6], None, &[V6, V4], &[V6]),
        (&[V4_BOTH, V6], Some(V6), &[V6, V4], &[V6, V4]),
        (&[V4_BOTH, V6], Some(V4), &[V6, V4], &[V6]),
        (&[V4, V6], Some(V6), &[V6], &[V6]),
        (&[V4_BOTH], None, &[V4], &[V4]),
        (&[V4], None, &[], &[]),
    ];
    for (locals, failed, paths, tried) in table {
        let nets = own(locals);
        if let Some(failed) = failed {
            nets.ni(nid(failed)).unwrap().set_fatal(FatalReporter::Host, true);
        }
        let (_table, peer_nis) = peer(&[PEER_V6], PeerState::MULTI_RAIL);
        let nids = |nis: Vec<&Arc<Ni>>| nis.iter().map(|ni| ni.nid().to_string()).collect::<Vec<_>>();
        assert_eq!(nids(local_nis_to(&nets, Some(&peer_nis[0]))), *paths, "{locals:?} without {failed:?}");
        assert_eq!(
            nids(local_nis_to_try(&nets, Some(&peer_nis[0]))),
            *tried,
            "{locals:?} without {failed:?}"
        );
    }
}
