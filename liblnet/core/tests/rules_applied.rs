//! What selection rules come to is stored with the nets, NIs and peer NIs, and is renewed with every change.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use lnet_core::Core;
use lnet_core::policy::{Action, LOWEST_PRIORITY, PartnerByRule, Rule};
use lnet_core::topology::{NiTunables, Partner, Route};
use lnet_wire::Nid;
use proptest::prelude::*;
use std::num::NonZeroU32;
use support::{FakeDriver, OnSend, Rig, nid};

#[derive(Clone, Debug)]
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
}

/// This node's NIDs have last numbers below 10, gateways' from 20, others' from 30; `net` is that of the first number.
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
    ]
}

/// Whether it can be done depends on the ones before.
fn make(rig: &Rig, change: &Change) {
    let core = &rig.core;
    let _ = match change {
        Change::Add(rule, index) => core.add_rule(rule.clone(), *index),
        Change::Delete(index) => core.delete_rule(*index),
        Change::AddNi(last) => {
            core.add_ni(own(*last), NiTunables::default(), &FakeDriver::new(OnSend::Complete)).map(|_| ())
        }
        Change::RemoveNi(last) => core.remove_ni(own(*last)),
        Change::AddPeer(last) => core.make_peer(its(*last), true, false),
        Change::AddPeerNid(peer, last) => core.add_peer_nid(its(*peer), its(*last), true),
        Change::DeletePeer(peer, last) => core.delete_peer(its(*peer), last.map(its), true),
        Change::AddRoute(last) => {
            let net = nid("10.0.0.1@tcp2").net();
            core.add_route(Route { net, gateway: its(*last), hops: None, priority: 0, health_sensitivity: 1 })
        }
        Change::DeleteRoute(last) => core.delete_routes(None, Some(its(*last))),
        Change::Send(last) => {
            rig.put(rig.bind(1), its(*last));
            Ok(())
        }
    };
}

/// What is stored is what the rules come to now.
fn check(core: &Core) {
    for ni in core.nets().nis() {
        let applied = core.applied_to_ni(ni.nid());
        assert_eq!(ni.priority(), applied.nid_priority(), "{}", ni.nid());
        assert_eq!(core.nets().net(ni.nid().net()).unwrap().usage().priority(), applied.net_priority());
    }
    for peer_ni in core.peer_nis() {
        let applied = core.applied_to_peer_ni(peer_ni.nid());
        assert_eq!(peer_ni.priority(), applied.nid_priority(), "{}", peer_ni.nid());
        let partners = peer_ni.partners();
        let stored = |of: fn(&lnet_core::topology::Partners) -> &Vec<Partner>| {
            let list = partners.iter().flat_map(|partners| of(partners));
            list.map(|partner| (partner.nid, partner.priority)).collect::<Vec<_>>()
        };
        let expected = |list: &[PartnerByRule]| {
            list.iter().map(|partner| (partner.nid, partner.given.priority)).collect::<Vec<_>>()
        };
        assert_eq!(stored(|partners| &partners.nids), expected(&applied.local_nids), "{}", peer_ni.nid());
        assert_eq!(stored(|partners| &partners.gateways), expected(&applied.gateways), "{}", peer_ni.nid());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// UD-10, UD-12: fails if a change of the rules, or of what they are about, leaves something as it was before.
    #[test]
    fn after_every_change_the_rules_are_stored_with_what_they_match(
        changes in prop::collection::vec(a_change(), 1..40),
    ) {
        let rig = Rig::builder(FakeDriver::new(OnSend::Complete)).nids([own(1), own(2)].into_iter()).build();
        for change in &changes {
            make(&rig, change);
            check(&rig.core);
        }
    }
}
