//! Tests of the shortcuts to the best candidate, which do not compare all of them, or not by all criteria, against a naive
//! walk over the criteria.

use super::compare::{Scope, best};
use super::criteria::{LocalNiCandidate, PeerNiCandidate};
use super::criteria_tests::{Listed, Row, naive};
use super::direct::{best_local_ni, local_nis};
use super::peer_nis::{best_by_rank, best_peer_ni, held_peer_nis};
use super::preferring::Preferences;
use super::rank::Ranked;
use super::tests::{nets, nid, path_request, peer};
use super::*;
use crate::environment::ConfigLock;
use crate::environment::time::Time;
use crate::model::FatalReporter;
use crate::model::message::{MessagePool, OutgoingMessage, Pooled};
use crate::model::{NetUsage, Partner, PeerState, TurnClock};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::num::NonZeroU32;

fn header() -> lnet_wire::Header {
    let handle = lnet_wire::WireHandle { interface_cookie: 0, object_cookie: 0 };
    lnet_wire::Header {
        dest_nid: nid("10.0.0.1@tcp"),
        src_nid: nid("10.0.1.1@tcp"),
        dest_pid: lnet_wire::Pid::LUSTRE,
        src_pid: lnet_wire::Pid::LUSTRE,
        payload_length: 0,
        body: lnet_wire::Body::Reply { handle },
    }
}

/// The values that decide about an interface of either end: health, whether no path works there, priority, messages in
/// flight, the priority as a partner, the messages of a turn, whether it is unresponsive.
type Interface = (u32, bool, u32, usize, Option<u32>, Option<u32>, bool);

fn any_interface() -> impl Strategy<Value = Interface> {
    let priority = || prop_oneof![Just(u32::MAX), any::<u32>(), 0_u32..3];
    let health = prop_oneof![Just(1000), Just(1000), 0_u32..=1000];
    let turn = prop::option::of(1_u32..3);
    (
        health,
        prop::bool::weighted(0.2),
        priority(),
        0_usize..3,
        prop::option::of(0_u32..3),
        turn,
        any::<bool>(),
    )
}

/// Whether there are rules, turns of messages, and unresponsive paths at all.
fn any_world() -> impl Strategy<Value = (bool, bool, bool)> {
    (any::<bool>(), any::<bool>(), any::<bool>())
}

/// The first of the best by a walk over the criteria for which `counts` holds; of equals the one for which `is_first` holds.
fn first<C: Listed, T>(
    candidates: impl Iterator<Item = (C, T)>,
    counts: impl Fn(&Row<C>) -> bool,
    is_first: impl Fn(&T) -> bool,
) -> Option<T> {
    let order = |(one, it): &(C, T), (other, its): &(C, T)| -> Ordering {
        naive(one, other, &counts).then(is_first(its).cmp(&is_first(it)))
    };
    candidates.min_by(order).map(|(_, it)| it)
}

fn names(nids: &[String]) -> Vec<&str> {
    nids.iter().map(String::as_str).collect()
}

fn take_credits(count: usize, take: impl Fn(Pooled<OutgoingMessage>)) {
    (0..count).for_each(|_| take(MessagePool::default().take(header())));
}

proptest! {
    /// cfg-145, PS-30, UD-10: fails if the local NI that is chosen, or the one to a peer that is not multi-rail, is another than the
    /// criteria say, whatever rules, turns and unresponsive paths there are.
    #[test]
    fn the_best_local_ni_and_partner_are_the_first_by_a_walk_over_the_criteria(
        own in prop::collection::vec(any_interface(), 1..6),
        (has_rules, counts_messages, any_suspect) in any_world(),
        sticky in any::<prop::sample::Index>(),
        uses in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
    ) {
        let nids: Vec<String> = (1..=own.len()).map(|i| format!("10.0.0.{i}@tcp")).collect();
        let nets = nets(&names(&nids));
        let (_table, peer_nis) = peer(&["10.0.0.99@tcp"], PeerState::default());
        let named = &peer_nis[0];
        let net = nets.net(named.nid().net()).unwrap();
        let mut partners = Vec::new();
        for (number, (ni, its)) in net.nis().iter().zip(&own).enumerate() {
            let (health, fatal, priority, messages, partner, turn, unresponsive) = *its;
            ni.set_number(number as u32);
            ni.set_health(health);
            ni.set_fatal(FatalReporter::Host, fatal);
            take_credits(messages, |message| drop(ni.tx(&named.nid()).take(message)));
            if has_rules {
                ni.set_priority(priority);
                partners.extend(partner.map(|priority| Partner::new(ni.nid(), priority, turn.and_then(NonZeroU32::new))));
            }
            if counts_messages {
                ni.turn().set(NonZeroU32::new(turn.unwrap_or(1)));
            }
            if any_suspect && unresponsive {
                named.unresponsive().add(ni.nid(), Time::START);
            }
        }
        named.set_preferred_nids(partners);
        named.set_sticky(Some(net.nis()[sticky.index(own.len())].nid()));
        net.usage().set_count_messages_of_nis(counts_messages);
        net.usage().set_nis_differ(do_rules_distinguish_local(net));
        let clock = TurnClock::default();
        let request = PathRequest { any_suspect, ..path_request(None, "10.0.0.99@tcp") };
        let its = [Arc::downgrade(named)];
        for used in uses {
            let preferring = Preferring::one(named);
            let chosen = best_local_ni(net, &its, preferring, &request).unwrap();
            let candidates = || local_nis(net, &its, &preferring.local_nis(net.nis()), request).collect::<Vec<_>>().into_iter();
            let expected = first(candidates(), |_| true, |_| false).unwrap();
            prop_assert_eq!(chosen.nid(), expected.nid());

            let partner = partner_of(net, named, request).unwrap();
            let is_bound = |ni: &&Arc<Ni>| Some(ni.nid()) == named.sticky();
            let expected = first(candidates(), |row| !row.scope.is_passing(), is_bound).unwrap();
            prop_assert_eq!(partner.nid(), expected.nid());

            let ni = &net.nis()[used.index(own.len())];
            answered(&nets, ni, named);
            ni.turn().note_message(&clock);
            named.criteria().with_partners(|partners| partners.note_message_by(ni.nid(), &clock));
        }
    }

    /// cfg-145, snd-035, UD-10: fails if the peer NI that is chosen is another than the criteria say, or if the partners of others
    /// count than of those that may be chosen.
    #[test]
    fn the_best_peer_ni_is_the_first_by_a_walk_over_the_criteria(
        its in prop_oneof![prop::collection::vec(any_interface(), 1..6), prop::collection::vec(any_interface(), 17..30)],
        (has_rules, counts_messages, any_suspect) in any_world(),
        compare_queued_bytes in any::<bool>(),
        uses in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
    ) {
        let nids: Vec<String> = (1..=its.len()).map(|i| format!("10.0.0.{i}@tcp")).collect();
        let (_table, peer_nis) = peer(&names(&nids), PeerState::MULTI_RAIL);
        let nets = nets(&["10.0.1.1@tcp"]);
        let ni = nets.ni(nid("10.0.1.1@tcp")).unwrap();
        for (peer_ni, its) in peer_nis.iter().zip(&its) {
            let (health, down, priority, messages, partner, turn, unresponsive) = *its;
            peer_ni.set_health(health);
            peer_ni.set_reported_down(down);
            take_credits(messages, |message| drop(peer_ni.tx().take(message, u64::from(priority & 1))));
            if has_rules {
                peer_ni.set_priority(priority);
                peer_ni.set_preferred_nids(partner.map(|priority| Partner::new(ni.nid(), priority, None)).into_iter().collect());
            }
            if counts_messages {
                peer_ni.criteria().turn().set(turn.and_then(NonZeroU32::new));
            }
            if any_suspect && unresponsive {
                peer_ni.unresponsive().add(ni.nid(), Time::START);
            }
        }
        let peer = peer_nis[0].peer();
        let peer_net = &peer.nets[0];
        let usage: &NetUsage = &peer_net.usage;
        usage.set_nis_differ(do_rules_distinguish(&peer_nis));
        let request = PathRequest { any_suspect, compare_queued_bytes, ..path_request(None, &nids[0]) };
        let clock = TurnClock::default();
        for used in uses {
            let chosen = best_peer_ni(peer_net, ni, None, &request).unwrap();
            let expected = first(held_peer_nis(peer_net, ni, None, request), |_| true, |_| false).unwrap();
            prop_assert_eq!(chosen.nid(), expected.nid());

            let listed = PeerNiCandidate::CRITERIA;
            let before_partners = |row: &Row<PeerNiCandidate>| {
                matches!(row.scope, Scope::Standing | Scope::Ruled)
                    && listed.iter().take_while(|its| its.name != "preference").any(|its| its.name == row.name)
            };
            let candidates = || held_peer_nis(peer_net, ni, None, request);
            let best = peer_nis.iter().map(|its| PeerNiCandidate::standing(its.criteria())).max().unwrap();
            let expected = first(candidates(), before_partners, |_| false).unwrap();
            let (expected, _) = candidates().find(|(_, its)| its.nid() == expected.nid()).unwrap();
            for (candidate, its) in candidates() {
                let is_best = naive(&candidate, &expected, before_partners).is_eq();
                prop_assert_eq!(PeerNiCandidate::standing(its.criteria()) == best, is_best);
            }

            let its = &peer_nis[used.index(peer_nis.len())];
            answered(&nets, ni, its);
            its.criteria().turn().note_message(&clock);
        }
    }

    /// UD-10: reading each list of partners once gives the same preferences as a look-up for each local NI, whether or not
    /// the lists are equal.
    #[test]
    fn of_several_nids_of_a_peer_the_partners_of_the_best_ones_count(
        its in prop::collection::vec((prop_oneof![Just(1000_u32), Just(900)], prop::collection::vec((1_u8..20, 0_u32..3), 0..4)), 1..6),
        same in any::<bool>(),
        own in 1_u8..20,
    ) {
        let own: Vec<String> = (1..=own).map(|last| format!("10.0.0.{last}@tcp")).collect();
        let nets = nets(&own.iter().map(String::as_str).collect::<Vec<_>>());
        let texts: Vec<String> = (0..its.len()).map(|i| format!("10.0.1.{i}@tcp")).collect();
        let (_table, peer_nis) =
            peer(&texts.iter().map(String::as_str).collect::<Vec<_>>(), PeerState::MULTI_RAIL);
        for (peer_ni, (health, partners)) in peer_nis.iter().zip(&its) {
            let partners = if same { &its[0].1 } else { partners };
            let partner = |(last, priority): &(u8, u32)| Partner::new(nid(&format!("10.0.0.{last}@tcp")), *priority, None);
            peer_ni.set_health(*health);
            peer_ni.set_preferred_nids(partners.iter().map(partner).collect());
        }
        let peer = peer_nis[0].peer();
        let peer_net = &peer.nets[0];
        peer_net.usage.set_has_partners(peer_nis.iter().any(|its| its.criteria().has_partners()));
        peer_net.usage.set_has_same_partners(same);
        let best = peer_nis.iter().map(|its| its.health()).max();
        let preferring = Preferring::best_of(peer_net);
        let nis = nets.net(nid("10.0.0.1@tcp").net()).unwrap().nis();
        let preferences = preferring.local_nis(nis);
        for (position, ni) in nis.iter().enumerate() {
            let best = peer_nis.iter().filter(|its| Some(its.health()) == best);
            let expected = best.map(|its| its.criteria().preference_of_local(ni.nid())).min().unwrap();
            prop_assert_eq!(preferences.of(position, ni.nid()), expected);
            prop_assert_eq!(preferring.local_ni(ni.nid()), expected);
        }
    }

    /// The shortcut to the best local NI selects the NI that the comparison criterion by criterion selects.
    #[test]
    fn the_rank_of_local_nis_is_the_order_of_their_criteria(
        own in prop::collection::vec((any::<bool>(), 0_u32..=1000, prop_oneof![Just(u32::MAX), 0_u32..3], 0_usize..4), 1..6),
        equal_health in any::<bool>(),
        uses in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
    ) {
        let texts: Vec<String> = (1..=own.len()).map(|i| format!("10.0.0.{i}@tcp")).collect();
        let nets = nets(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let (_table, peer_nis) = peer(&["10.0.0.99@tcp"], PeerState::MULTI_RAIL);
        let net = nets.net(nid("10.0.0.1@tcp").net()).unwrap();
        for (ni, (fatal, health, priority, messages)) in net.nis().iter().zip(&own) {
            if !equal_health {
                ni.set_fatal(FatalReporter::Host, *fatal);
                ni.set_health(*health);
            }
            ni.set_priority(*priority);
            for _ in 0..*messages {
                let message = MessagePool::default().take(header());
                let _ = ni.tx(&peer_nis[0].nid()).take(message);
            }
        }
        for position in uses {
            let request = path_request(None, "10.0.0.99@tcp");
            let all = net.nis().iter().map(|ni| (&**ni, ni));
            let short = LocalNiCandidate::best_by_rank(all).unwrap();
            let (_, long) = best(local_nis(net, &[], &Preferences::NoPreference, request)).unwrap();
            prop_assert_eq!(short.nid(), long.nid());
            answered(&nets, &net.nis()[position.index(own.len())], &peer_nis[0]);
        }
    }

    /// PS-31: the shortcuts to the best peer NI select the one that the comparison criterion by criterion selects.
    #[test]
    fn the_rank_of_peer_nis_is_the_order_of_their_criteria(
        its in prop_oneof![prop::collection::vec(any_peer_ni(), 1..6), prop::collection::vec(any_peer_ni(), 17..40)],
        equal_priorities in any::<bool>(),
        equal_health in any::<bool>(),
        uses in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        let texts: Vec<String> = (1..=its.len()).map(|i| format!("10.0.0.{i}@tcp")).collect();
        let (table, peer_nis) =
            peer(&texts.iter().map(String::as_str).collect::<Vec<_>>(), PeerState::MULTI_RAIL);
        let net = || peer_nis[0].peer().nets[0].clone();
        net().usage.set_nis_differ(!equal_priorities);
        for (peer_ni, (health, down, priority, credits, messages)) in peer_nis.iter().zip(&its) {
            if !equal_health {
                peer_ni.set_health(*health);
                peer_ni.set_reported_down(*down);
            }
            if !equal_priorities {
                peer_ni.set_priority(*priority);
            }
            let _ = peer_ni.tx().resize(*credits);
            net().note_credits();
            for _ in 0..*messages {
                let message = MessagePool::default().take(header());
                let _ = peer_ni.tx().take(message, 0);
            }
        }
        let nets = nets(&["10.0.1.1@tcp"]);
        let ni = nets.ni(nid("10.0.1.1@tcp")).unwrap();
        let half = uses.len() / 2;
        for (i, position) in uses.iter().enumerate() {
            if i == half {
                // The values that a peer stores are built again when its NIDs change.
                let peer = peer_nis[0].peer();
                table.reshape(&ConfigLock::default().lock(), &peer, peer.primary, peer.nids.clone(), |_| 8);
            }
            let net = net();
            let short = best_by_rank(&net).unwrap().upgrade().unwrap();
            let (_, long) = best(held_peer_nis(&net, ni, None, path_request(None, &texts[0]))).unwrap();
            prop_assert_eq!(short.nid(), long.nid());
            // In a round robin, or out of turn.
            let used = if i % 3 == 0 { &peer_nis[position.index(peer_nis.len())] } else { &short };
            answered(&nets, ni, used);
            let latest = net.criteria.iter().max_by_key(|its| its.last_use().get()).unwrap();
            prop_assert_eq!(latest.last_use().get(), used.last_use().get());
            prop_assert_eq!(net.last_use(), used.last_use().get());
        }
    }
}

/// Health, whether it is reported as down, priority, credits, messages in flight.
fn any_peer_ni() -> impl Strategy<Value = (u32, bool, u32, u32, usize)> {
    let health = prop_oneof![Just(0_u32), Just(1000), Just(1000), 0_u32..=1000];
    let priority = prop_oneof![Just(u32::MAX), any::<u32>(), 0_u32..3];
    (health, any::<bool>(), priority, 0_u32..4, 0_usize..3)
}

proptest! {
    /// PS-31: fails if a use of a local NI gets another number than one above those of all others on the nets of the peer, or if
    /// the most recently used one gets a new number, whatever nets peers have in common, and whichever interfaces are removed.
    #[test]
    fn the_use_of_a_local_ni_is_after_those_of_the_others_on_the_nets_of_the_peer(
        steps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_u8..10), 1..100),
    ) {
        let own = ["10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.1.1@tcp1", "10.0.1.2@tcp1", "10.0.1.3@tcp1", "10.0.2.1@tcp2"];
        let mut nets = nets(&own);
        let its = [
            &["10.0.0.9@tcp"][..],
            &["10.0.0.8@tcp", "10.0.1.8@tcp1"],
            &["10.0.1.7@tcp1", "10.0.2.7@tcp2", "10.0.9.7@tcp9"],
            &["10.0.2.6@tcp2", "10.0.1.6@tcp1", "10.0.0.6@tcp"],
        ];
        let peers = its.map(|nids| peer(nids, PeerState::MULTI_RAIL).1);
        let mut naive: Vec<(Nid, u64)> = nets.nis().map(|ni| (ni.nid(), 0)).collect();
        for (peer, ni, change) in steps {
            let all: Vec<Arc<Ni>> = nets.nis().cloned().collect();
            if change == 0 && all.len() > 1 {
                nets = nets.without(all[ni.index(all.len())].nid());
                naive.retain(|(nid, _)| nets.ni(*nid).is_some());
                continue;
            }
            let peer = &peers[peer.index(peers.len())];
            let path = |ni: &Arc<Ni>| peer.iter().find(|its| its.nid().net() == ni.nid().net()).map(|its| (Arc::clone(ni), its));
            let paths: Vec<_> = all.iter().filter_map(path).collect();
            let Some((ni, peer_ni)) = paths.get(ni.index(paths.len().max(1))) else { continue };
            let is_in_turn = |(nid, _): &&(Nid, u64)| *nid != ni.nid() && paths.iter().any(|(ni, _)| ni.nid() == *nid);
            let others = naive.iter().filter(is_in_turn).map(|(_, number)| *number).max().unwrap_or(0);
            let this = naive.iter_mut().find(|(nid, _)| *nid == ni.nid()).unwrap();
            if this.1 <= others {
                this.1 = others + 1;
            }
            answered(&nets, ni, peer_ni);
            let numbers: Vec<(Nid, u64)> = nets.nis().map(|ni| (ni.nid(), ni.last_use().get())).collect();
            prop_assert_eq!(&numbers, &naive);
        }
    }
}
