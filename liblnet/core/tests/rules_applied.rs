//! The effects of selection rules stored with the nets, NIs and peer NIs, which follow every change of the configuration.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use lnet_core::Core;
use lnet_core::policy::{Action, Applied, GatewayNids, LOWEST_PRIORITY, Rule, RuleEffect, RuleIndex};
use lnet_core::topology::{NiTunables, Partner, Peer, Route};
use lnet_wire::{NetId, Nid};
use proptest::prelude::*;
use std::num::NonZeroU32;
use support::{FakeDriver, OnSend, Rig, nid};

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a few of them")]
enum Change {
    Add(Rule, Option<usize>),
    Delete(Option<usize>),
    AddNi(u8),
    RemoveNi(u8),
    AddPeer(u8),
    AddPeerNid(u8, u8),
    DeletePeer(u8, Option<u8>),
    AddRoute(u8),
    DeleteRoute(u8),
    /// A message to a peer that may be unknown.
    Send(u8),
    /// A call of a program that names the NIDs of one peer.
    Name(Vec<u8>),
    /// A push of a peer with its NIDs; the first of them is the sender.
    Merge(u32, Vec<u8>),
}

/// The NID of this node with this last number, below 10; gateways' numbers begin at 20, other peers' at 30.
fn own(last: u8) -> Nid {
    nid(&format!("10.0.0.{last}@tcp{}", last % 2))
}

fn its(last: u8) -> Nid {
    nid(&format!("10.0.0.{last}@tcp{}", last % 3))
}

fn a_rule() -> impl Strategy<Value = Rule> {
    let src =
        prop::sample::select(vec!["tcp", "tcp1", "10.0.0.[1-3]@tcp1", "10.0.*.[1-9/2]@tcp*", "10.0.0.2@tcp"]);
    let dst =
        prop::sample::select(vec!["tcp", "tcp2", "*.*.*.*@tcp", "10.0.0.[30-32]@tcp*", "10.0.0.31@tcp1"]);
    let rte = prop::sample::select(vec!["10.0.0.2[0-1]@tcp*", "*.*.*.*@tcp", "10.0.0.[20-29]@tcp*"]);
    let rte = rte.prop_map(|rte| rte.replace("2[0-1]", "[20-21]"));
    let action = prop_oneof![
        (0_u32..4).prop_map(Action::Priority),
        Just(Action::Priority(LOWEST_PRIORITY)),
        Just(Action::PreferredList)
    ];
    let messages = prop_oneof![3 => Just(None), 1 => (1_u32..4).prop_map(NonZeroU32::new)];
    (0..4, src, dst, rte, action, messages).prop_map(|(kind, src, dst, rte, action, messages)| {
        let (src, dst, rte) = (src.parse().ok(), dst.parse().ok(), rte.parse().ok());
        let (src, dst, rte) = match kind {
            0 => (src, None, None),
            1 => (None, dst, None),
            2 => (src, dst, None),
            _ => (None, dst, rte),
        };
        Rule { messages, ..Rule::new(src, dst, rte, action) }
    })
}

/// The NIDs of one peer; sometimes one of them is this node's.
fn nids_of_one() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![9 => 20_u8..28, 1 => 1_u8..7], 1..5)
}

fn a_change() -> impl Strategy<Value = Change> {
    let index = prop_oneof![1 => Just(None), 5 => (0_usize..6).prop_map(Some)];
    prop_oneof![
        6 => (a_rule(), index.clone()).prop_map(|(rule, index)| Change::Add(rule, index)),
        2 => index.prop_map(Change::Delete),
        1 => (1_u8..7).prop_map(Change::AddNi),
        1 => (1_u8..7).prop_map(Change::RemoveNi),
        1 => (20_u8..36).prop_map(Change::AddPeer),
        2 => (20_u8..36, 20_u8..36).prop_map(|(peer, nid)| Change::AddPeerNid(peer, nid)),
        1 => (20_u8..36, prop::option::of(20_u8..36)).prop_map(|(peer, nid)| Change::DeletePeer(peer, nid)),
        1 => (20_u8..24).prop_map(Change::AddRoute),
        1 => (20_u8..24).prop_map(Change::DeleteRoute),
        1 => (20_u8..36).prop_map(Change::Send),
        2 => nids_of_one().prop_map(Change::Name),
        4 => (2_u32..99, nids_of_one()).prop_map(|(sequence, nids)| Change::Merge(sequence, nids)),
    ]
}

/// Makes the change. It may fail, which depends on those before.
fn make(rig: &Rig, change: &Change) {
    let core = &rig.core;
    let _ = match change {
        Change::Add(rule, index) => core.admin().add_rule(rule.clone(), *index),
        Change::Delete(index) => core.admin().delete_rule(*index),
        Change::AddNi(last) => {
            let added =
                core.admin().add_ni(own(*last), NiTunables::default(), &FakeDriver::new(OnSend::Complete));
            added.map(drop).map_err(lnet_wire::Errno::from)
        }
        Change::RemoveNi(last) => core.admin().remove_ni(own(*last)),
        Change::AddPeer(last) => core.admin().make_peer(its(*last), true, false),
        Change::AddPeerNid(peer, last) => core.admin().add_peer_nid(its(*peer), its(*last), true),
        Change::DeletePeer(peer, last) => core.admin().delete_peer(its(*peer), last.map(its), true),
        Change::AddRoute(last) => {
            let net = nid("10.0.0.1@tcp2").net();
            core.admin().add_route(Route {
                net,
                gateway: its(*last),
                hops: None,
                priority: 0,
                health_sensitivity: 1,
            })
        }
        Change::DeleteRoute(last) => core.admin().delete_routes(None, Some(its(*last))),
        Change::Send(last) => {
            rig.put(rig.bind(1), its(*last));
            Ok(())
        }
        Change::Name(nids) => core.admin().add_peer(&nids.iter().copied().map(its).collect::<Vec<_>>()),
        Change::Merge(sequence, nids) => {
            rig.is_pushed(*sequence, &nids.iter().copied().map(its).collect::<Vec<_>>());
            Ok(())
        }
    };
}

type Effect = (u32, Option<NonZeroU32>);

/// The stored effects on several candidates that are compared: where a rule counts the messages of one, those of equal priority
/// have turns of one message.
fn effects(given: &[Option<RuleEffect>]) -> Vec<Effect> {
    let effect = |its: &Option<RuleEffect>| -> Effect {
        let priority = its.map_or(LOWEST_PRIORITY, |given| given.priority);
        let counts = |other: &RuleEffect| other.priority == priority && other.messages.is_some();
        let counted = given.iter().flatten().any(counts);
        (priority, its.and_then(|its| its.messages).or_else(|| counted.then_some(NonZeroU32::MIN)))
    };
    given.iter().map(effect).collect()
}

/// The index of the present rules for the present nets and gateways.
fn rules_now(core: &Core) -> RuleIndex {
    let own: Vec<Nid> = core.nets().nis().map(|ni| ni.nid()).collect();
    let mut named: Vec<Nid> = core.admin().routes().iter().map(|route| route.gateway).collect();
    named.sort();
    named.dedup();
    let nids = |nid| core.admin().peer(nid).map_or_else(|| vec![nid], |(peer, _)| peer.nids.clone());
    let gateways: Vec<_> = named.into_iter().map(|nid| GatewayNids { nid, nids: nids(nid) }).collect();
    RuleIndex::new(&core.admin().rules(), &own, &gateways)
}

/// Asserts that the stored effects are those of the present rules.
fn check(core: &Core) {
    let rules = rules_now(core);
    let nets = core.nets();
    let of_nets: Vec<_> = nets.iter().map(|net| rules.applied_to_ni(net.nis()[0].nid()).net).collect();
    let stored: Vec<Effect> =
        nets.iter().map(|net| (net.usage().priority(), net.usage().messages_of_turn())).collect();
    assert_eq!(stored, effects(&of_nets), "local nets");
    for net in nets.iter() {
        let given: Vec<_> = net.nis().iter().map(|ni| rules.applied_to_ni(ni.nid()).nid).collect();
        let stored: Vec<Effect> = net.nis().iter().map(|ni| (ni.priority(), ni.messages_of_turn())).collect();
        assert_eq!(stored, effects(&given), "{}", net.id());
        let counts = given.iter().flatten().any(|its| its.messages.is_some());
        assert_eq!(net.usage().count_messages_of_nis(), counts, "{}", net.id());
    }
    let mut primaries: Vec<Nid> = core.peer_nis().iter().map(|peer_ni| peer_ni.primary()).collect();
    primaries.sort();
    primaries.dedup();
    primaries
        .into_iter()
        .for_each(|primary| check_peer(core, &rules, &core.admin().peer(primary).unwrap().0));
}

fn check_peer(core: &Core, rules: &RuleIndex, peer: &Peer) {
    let mut ids: Vec<NetId> = peer.nids.iter().map(|nid| nid.net()).collect();
    ids.dedup();
    let of_net = |net: &NetId| rules.applied_to_peer_ni(peer.nids_on(*net).next().unwrap()).net;
    let usage = |net: &NetId| peer.usage(*net).unwrap();
    let stored: Vec<Effect> =
        ids.iter().map(|net| (usage(net).priority(), usage(net).messages_of_turn())).collect();
    assert_eq!(stored, effects(&ids.iter().map(of_net).collect::<Vec<_>>()), "nets of {}", peer.primary);
    for net in &ids {
        let nis: Vec<_> = core
            .admin()
            .peer(peer.primary)
            .unwrap()
            .1
            .into_iter()
            .filter(|its| its.nid().net() == *net)
            .collect();
        let applied: Vec<Applied> = nis.iter().map(|its| rules.applied_to_peer_ni(its.nid())).collect();
        let stored: Vec<Effect> = nis.iter().map(|its| (its.priority(), its.messages_of_turn())).collect();
        let expected = effects(&applied.iter().map(|its| its.nid).collect::<Vec<_>>());
        assert_eq!(stored, expected, "{net} of {}", peer.primary);
        let mut has_partners = Vec::new();
        for (peer_ni, applied) in nis.iter().zip(&applied) {
            let partners = peer_ni.partners();
            has_partners.push(partners.is_some());
            let told = |list: &[Partner]| {
                list.iter().map(|its| (its.nid, its.priority, its.messages)).collect::<Vec<_>>()
            };
            let stored = partners.map_or_else(Default::default, |its| (told(&its.nids), told(&its.gateways)));
            let expected = [&applied.local_nids, &applied.gateways].map(|list| {
                let effects = effects(&list.iter().map(|its| Some(its.given)).collect::<Vec<_>>());
                list.iter()
                    .zip(effects)
                    .map(|(its, effect)| (its.nid, effect.0, effect.1))
                    .collect::<Vec<_>>()
            });
            assert_eq!(stored, expected.into(), "{}", peer_ni.nid());
        }
        let any_has_partners = has_partners.contains(&true);
        let differ = any_has_partners || expected.iter().any(|its| its.0 != expected[0].0 || its.1.is_some());
        assert_eq!((usage(net).has_partners(), usage(net).nis_differ()), (any_has_partners, differ), "{net}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// UD-10, UD-12: fails if a change of the rules, or of the objects that they match, leaves a stored effect as it was.
    #[test]
    fn after_every_change_the_rules_are_stored_with_what_they_match(
        changes in prop::collection::vec(a_change(), 1..40),
    ) {
        let driver = FakeDriver::new(OnSend::Complete);
        let rig = Rig::builder(driver).with_discovery().nids([own(1), own(2)].into_iter()).build();
        for change in &changes {
            make(&rig, change);
            check(&rig.core);
        }
    }
}
