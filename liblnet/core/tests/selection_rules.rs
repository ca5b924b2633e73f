//! The effects of selection rules on traffic: the pairs of NIDs by which PUTs go to a peer.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod support;

use lnet_core::policy::{Action, Rule};
use lnet_core::{Core, Target};
use lnet_wire::{Nid, Pid};
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use support::{FakeDriver, OnSend, nid};

/// The last numbers of the addresses of a pair of NIDs: 1 to 3 are this node's, from 11 on the peer's.
type Pair = (u8, u8);

struct Rig {
    node: support::Rig,
    core: Arc<Core>,
    peer: Nid,
}

/// A node with the NIDs `own`, and a peer with the NIDs `its`.
fn rig(own: &[&str], its: &[&str]) -> Rig {
    let driver = FakeDriver::new(OnSend::Complete).recording();
    let node = support::Rig::builder(driver).nids(own.iter().map(|own| nid(own))).build();
    let (core, peer) = (Arc::clone(&node.core), nid(its[0]));
    core.admin().make_peer(peer, true, false).unwrap();
    its[1..].iter().for_each(|its| core.admin().add_peer_nid(peer, nid(its), true).unwrap());
    Rig { node, core, peer }
}

impl Rig {
    /// Adds a rule as `lnetctl udsp add --src SRC --dst DST` does; an empty text is no option. 0 is the highest priority.
    fn rule(&self, src: &str, dst: &str, action: Action, index: Option<usize>) {
        let selector = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
        self.core.admin().add_rule(Rule::new(selector(src), selector(dst), None, action), index).unwrap();
    }

    /// [`Rig::rule`] with a priority, and a number of messages for its turn.
    fn counting(&self, src: &str, dst: &str, priority: u32, messages: u32) {
        let selector = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
        let rule = Rule::new(selector(src), selector(dst), None, Action::Priority(priority));
        self.core.admin().add_rule(Rule { messages: NonZeroU32::new(messages), ..rule }, None).unwrap();
    }

    /// The pairs that some PUTs use.
    fn pairs(&self) -> BTreeSet<Pair> {
        self.path_of_each(24).into_iter().collect()
    }

    /// The pair that each of `puts` PUTs uses, in order.
    fn path_of_each(&self, puts: usize) -> Vec<Pair> {
        let last = |nid: Nid| (nid.to_u64().unwrap() & 0xff) as u8;
        let md = self.node.bind(-1);
        self.node.driver.recorded();
        (0..puts).for_each(|_| self.node.put(md, self.peer));
        self.core.data_path().md_unlink(md).unwrap();
        let headers = self.node.driver.recorded();
        headers.iter().map(|header| (last(header.src_nid), last(header.dest_nid))).collect()
    }

    fn set_health(&self, text: &str, health: u32) {
        match self.core.nets().ni(nid(text)) {
            Some(_) => self.core.admin().set_ni_health(Some(nid(text)), health),
            None => self.core.admin().set_peer_ni_health(Some(nid(text)), health),
        }
    }
}

const THREE: [&str; 3] = ["10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.0.3@tcp"];
const ITS_TWO: [&str; 2] = ["10.0.0.11@tcp", "10.0.0.12@tcp"];
const ITS_THREE: [&str; 3] = ["10.0.0.11@tcp", "10.0.0.12@tcp", "10.0.0.13@tcp"];

/// The peer's NIDs that messages from the local NIDs `own` go to.
fn from(own: &[u8], pairs: &BTreeSet<Pair>) -> Vec<u8> {
    let its: BTreeSet<u8> = pairs.iter().filter(|pair| own.contains(&pair.0)).map(|pair| pair.1).collect();
    its.into_iter().collect()
}

/// cfg-110: fails if the net with the highest priority does not carry all messages, or if the others carry none once the
/// rule is gone.
#[test]
fn the_net_with_the_highest_priority_carries_all_messages() {
    let own = ["10.0.0.1@tcp", "10.0.0.2@tcp1", "10.0.0.3@tcp2"];
    let its = ["10.0.0.11@tcp", "10.0.0.12@tcp1", "10.0.0.13@tcp2"];
    for side in ["src", "dst"] {
        let rig = rig(&own, &its);
        assert_eq!(rig.pairs(), [(1, 11), (2, 12), (3, 13)].into(), "{side}");
        let rule = |net, priority| match side {
            "src" => rig.rule(net, "", Action::Priority(priority), None),
            _ => rig.rule("", net, Action::Priority(priority), None),
        };
        rule("tcp2", 5);
        rule("tcp1", 2);
        assert_eq!(rig.pairs(), [(2, 12)].into(), "{side}");
        rig.core.admin().delete_rule(Some(1)).unwrap();
        assert_eq!(rig.pairs(), [(3, 13)].into(), "{side}");
        rig.core.admin().delete_rule(None).unwrap();
        assert!(rig.pairs().contains(&(1, 11)), "{side}");
    }
}

/// cfg-115: fails if the interface, or the peer's NID, with the highest priority does not carry all messages.
#[test]
fn the_interface_with_the_highest_priority_carries_all_messages() {
    let rig = rig(&THREE, &ITS_THREE);
    rig.rule("10.0.0.2@tcp", "", Action::Priority(1), None);
    rig.rule("10.0.0.3@tcp", "", Action::Priority(2), None);
    assert_eq!(rig.pairs(), [(2, 11), (2, 12), (2, 13)].into());
    rig.rule("", "10.0.0.13@tcp", Action::Priority(0), None);
    assert_eq!(rig.pairs(), [(2, 13)].into());
}

/// cfg-120: fails if a message that leaves by the interface of a rule goes to another NID than the rule's (1:1).
/// cfg-130: fails if, with several interfaces and several NIDs (N:N), a message goes to a NID that the rule does not name.
/// cfg-135: fails if, with several interfaces and one NID (N:1), a message goes to a NID that the rule does not name.
/// cfg-140: fails if, with one interface and several NIDs (1:N), a message goes to a NID that the rule does not name.
#[test]
fn messages_from_the_interfaces_of_a_nid_pair_rule_go_to_its_nids() {
    type Mapping<'a> = (&'a str, &'a str, &'a [u8], &'a [u8]);
    let table: [Mapping<'_>; 5] = [
        ("10.0.0.1@tcp", "10.0.0.13@tcp", &[1], &[13]),
        ("10.0.0.2@tcp", "10.0.0.11@tcp", &[2], &[11]),
        ("10.0.0.[1-2]@tcp", "10.0.0.[12-13]@tcp", &[1, 2], &[12, 13]),
        ("10.0.0.[2-3]@tcp", "10.0.0.12@tcp", &[2, 3], &[12]),
        ("10.0.0.3@tcp", "10.0.0.[11-12]@tcp", &[3], &[11, 12]),
    ];
    for (src, dst, own, its) in table {
        // Three by four: if the turns were in step, only some of the pairs would occur.
        let nids = ["10.0.0.11@tcp", "10.0.0.12@tcp", "10.0.0.13@tcp", "10.0.0.14@tcp"];
        let rig = rig(&THREE, &nids);
        assert_eq!(from(own, &rig.pairs()), [11, 12, 13, 14], "{src} without a rule");
        rig.rule(src, dst, Action::PreferredList, None);
        assert_eq!(from(own, &rig.pairs()), its, "{src} to {dst}");
        rig.core.admin().delete_rule(None).unwrap();
        assert_eq!(from(own, &rig.pairs()), [11, 12, 13, 14], "{src} without the rule again");
    }
}

/// cfg-125: fails if the first of two mappings of one NID does not apply, or if a mapping inserted before it does not
/// become the first.
#[test]
fn of_two_rules_for_one_nid_pair_the_first_applies() {
    let rig = rig(&THREE, &ITS_TWO);
    rig.rule("10.0.0.1@tcp", "10.0.0.11@tcp", Action::PreferredList, None);
    rig.rule("10.0.0.2@tcp", "10.0.0.[11-11]@tcp", Action::PreferredList, None);
    assert_eq!(rig.pairs(), [(1, 11)].into());
    rig.core.admin().delete_rule(Some(1)).unwrap();
    rig.rule("10.0.0.2@tcp", "10.0.0.[11-11]@tcp", Action::PreferredList, Some(0));
    assert_eq!(rig.pairs(), [(2, 11)].into());
}

/// cfg-150: fails if the first of two rules for one interface does not apply, or if a rule inserted before it does not
/// become the first.
#[test]
fn of_two_priority_rules_for_one_interface_the_first_applies() {
    let rig = rig(&THREE, &ITS_TWO[..1]);
    rig.rule("10.0.0.1@tcp", "", Action::Priority(5), None);
    rig.rule("10.0.0.2@tcp", "", Action::Priority(1), None);
    rig.rule("10.0.0.[1-3]@tcp", "", Action::Priority(9), None);
    assert_eq!(rig.pairs(), [(2, 11)].into());
    rig.rule("10.0.0.[2-3]@tcp", "", Action::Priority(9), Some(0));
    assert_eq!(rig.pairs(), [(1, 11)].into());
}

/// cfg-100: fails if one of three rules present together does not apply.
#[test]
fn all_selection_rules_apply_together() {
    let own = ["10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.0.3@tcp1"];
    let its = ["10.0.0.11@tcp", "10.0.0.12@tcp", "10.0.0.13@tcp1"];
    let (net, interface, mapping) = ("tcp", "10.0.0.2@tcp", ("10.0.0.[1-2]@tcp", "10.0.0.12@tcp"));
    let with = |rules: [bool; 3]| {
        let rig = rig(&own, &its);
        if rules[0] {
            rig.rule(net, "", Action::Priority(0), None);
        }
        if rules[1] {
            rig.rule(interface, "", Action::Priority(0), None);
        }
        if rules[2] {
            rig.rule(mapping.0, mapping.1, Action::PreferredList, None);
        }
        rig.pairs()
    };
    assert_eq!(with([true, true, true]), [(2, 12)].into());
    assert_eq!(with([false, true, true]), [(2, 12), (3, 13)].into());
    assert_eq!(with([true, false, true]), [(1, 12), (2, 12)].into());
    assert_eq!(with([true, true, false]), [(2, 11), (2, 12)].into());
}

/// UD-42: fails if a lower priority is used while a higher one works, or not used when none does.
#[test]
fn the_next_priority_is_used_while_the_highest_is_ill() {
    let own = ["10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.0.3@tcp1"];
    let its = ["10.0.0.11@tcp", "10.0.0.12@tcp", "10.0.0.13@tcp1"];
    type Case = ([(&'static str, &'static str); 2], &'static [&'static str], Pair, Pair);
    let table: [Case; 5] = [
        ([("tcp1", ""), ("tcp", "")], &["10.0.0.3@tcp1"], (3, 13), (1, 11)),
        ([("", "tcp1"), ("", "tcp")], &["10.0.0.13@tcp1"], (3, 13), (1, 11)),
        ([("tcp", ""), ("10.0.0.2@tcp", "")], &["10.0.0.2@tcp"], (2, 11), (1, 11)),
        ([("tcp", ""), ("", "10.0.0.12@tcp")], &["10.0.0.12@tcp"], (1, 12), (1, 11)),
        ([("tcp", ""), ("10.0.0.2@tcp", "10.0.0.12@tcp")], &["10.0.0.2@tcp"], (2, 12), (1, 12)),
    ];
    for (rules, ill, healthy_path, next_path) in table {
        let rig = rig(&own, &its);
        for (priority, (src, dst)) in (1..).zip(rules) {
            rig.rule(src, dst, Action::Priority(priority), None);
        }
        assert!(rig.pairs().contains(&healthy_path), "{rules:?}: {:?}", rig.pairs());
        ill.iter().for_each(|nid| rig.set_health(nid, 900));
        let pairs = rig.pairs();
        assert!(pairs.contains(&next_path) && !pairs.contains(&healthy_path), "{rules:?}: {pairs:?}");
        ill.iter().for_each(|nid| rig.set_health(nid, 1000));
        assert!(rig.pairs().contains(&healthy_path), "{rules:?} again: {:?}", rig.pairs());
    }
}

/// Fails if the priority of a peer's net outweighs the health of the local NIs.
#[test]
fn health_of_either_end_comes_before_every_rule() {
    let own = ["10.0.0.1@tcp", "10.0.0.2@tcp1"];
    let its = ["10.0.0.11@tcp", "10.0.0.12@tcp1"];
    for (src, dst) in [("tcp", ""), ("", "tcp")] {
        for ill in ["10.0.0.1@tcp", "10.0.0.11@tcp"] {
            let rig = rig(&own, &its);
            rig.rule(src, dst, Action::Priority(0), None);
            assert_eq!(rig.pairs(), [(1, 11)].into(), "{src} {dst}");
            rig.set_health(ill, 999);
            assert_eq!(rig.pairs(), [(2, 12)].into(), "{src} {dst} with {ill} ill");
        }
    }
}

/// cfg-125: fails if a mapping of lower priority is used while one of a higher priority works, or if equal ones do not take
/// turns.
#[test]
fn mappings_are_used_in_the_order_of_their_priorities() {
    let rig = rig(&THREE, &ITS_TWO[..1]);
    rig.rule("10.0.0.1@tcp", "10.0.0.11@tcp", Action::Priority(2), None);
    rig.rule("10.0.0.2@tcp", "10.0.0.*@tcp", Action::Priority(1), None);
    assert_eq!(rig.pairs(), [(2, 11)].into());
    rig.rule("10.0.0.3@tcp", "tcp", Action::Priority(1), None);
    assert_eq!(rig.pairs(), [(2, 11), (3, 11)].into());
    rig.set_health("10.0.0.2@tcp", 0);
    rig.set_health("10.0.0.3@tcp", 0);
    assert_eq!(rig.pairs(), [(1, 11)].into());
    rig.set_health("10.0.0.3@tcp", 1000);
    assert_eq!(rig.pairs(), [(3, 11)].into());
    // cfg-155: a rule without a priority has the highest.
    rig.rule("10.0.0.1@tcp", "10.*.*.11@tcp", Action::PreferredList, None);
    rig.core.admin().delete_rule(Some(0)).unwrap();
    assert_eq!(rig.pairs(), [(1, 11)].into());
}

/// cfg-145: fails if messages are not divided as the rules count them.
#[test]
fn rules_that_count_messages_divide_them() {
    type Side = (&'static str, &'static str);
    let own = ["10.0.0.1@tcp", "10.0.0.2@tcp1"];
    let its = ["10.0.0.11@tcp", "10.0.0.12@tcp1"];
    let one_net = ["10.0.0.1@tcp", "10.0.0.2@tcp"];
    let table: [(&[&str], &[&str], [Side; 2]); 5] = [
        (&own, &its, [("tcp", ""), ("tcp1", "")]),
        (&own, &its, [("", "tcp"), ("", "tcp1")]),
        (&one_net, &ITS_TWO[..1], [("10.0.0.1@tcp", ""), ("10.0.0.2@tcp", "")]),
        (&one_net[..1], &ITS_TWO, [("", "10.0.0.11@tcp"), ("", "10.0.0.12@tcp")]),
        (&one_net, &ITS_TWO[..1], [("10.0.0.1@tcp", "10.0.0.*@tcp"), ("10.0.0.2@tcp", "10.0.0.*@tcp")]),
    ];
    for (own, its, sides) in table {
        let rig = rig(own, its);
        for ((src, dst), messages) in sides.into_iter().zip([3, 2]) {
            rig.counting(src, dst, 1, messages);
        }
        let paths = rig.path_of_each(20);
        let first = paths[0];
        let is_first: Vec<bool> = paths.iter().map(|path| *path == first).collect();
        for turns in is_first.chunks(5) {
            assert_eq!(turns, [true, true, true, false, false], "{sides:?}: {paths:?}");
        }
        // A candidate that no rule counts has a turn of one message.
        rig.core.admin().delete_rule(Some(1)).unwrap();
        rig.rule(sides[1].0, sides[1].1, Action::Priority(1), None);
        let paths = rig.path_of_each(40);
        let others = paths.iter().filter(|path| **path != first).count();
        assert!((9..=11).contains(&others), "{sides:?}: {paths:?}");
        rig.core.admin().delete_rule(None).unwrap();
        let paths = rig.path_of_each(40);
        let others = paths.iter().filter(|path| **path != first).count();
        assert!((19..=21).contains(&others), "{sides:?} without rules: {paths:?}");
    }
}

/// cfg-145: fails if a rule that counts messages has an effect although it matches nothing, or only another net.
#[test]
fn rules_that_count_messages_change_nothing_but_what_they_match() {
    let own = ["10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.0.3@tcp1", "10.0.0.4@tcp1"];
    let its = ["10.0.0.11@tcp", "10.0.0.12@tcp", "10.0.0.13@tcp1"];
    let of_no_interest = [
        ("10.99.0.1@tcp", ""),
        ("10.0.0.[1-4]@tcp7", ""),
        ("", "10.99.0.1@tcp"),
        ("10.0.0.[3-4]@tcp1", ""),
        ("", "10.0.0.13@tcp1"),
        ("tcp7", ""),
        ("", "tcp7"),
    ];
    for (src, dst) in of_no_interest {
        let rig = rig(&own, &its);
        rig.rule("tcp", "", Action::Priority(0), None);
        rig.rule("10.0.0.1@tcp", "10.0.0.12@tcp", Action::PreferredList, None);
        assert_eq!(rig.pairs(), [(1, 12)].into());
        rig.counting(src, dst, 0, 3);
        assert_eq!(rig.pairs(), [(1, 12)].into(), "{src} {dst}");
    }
}

/// cfg-145: fails if messages count that had no choice of net, interface or NID.
#[test]
fn only_messages_that_had_a_choice_count() {
    let own = ["10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.0.3@tcp1"];
    let its = ["10.0.0.11@tcp", "10.0.0.12@tcp", "10.0.0.13@tcp1"];
    let sides = [
        [("tcp", ""), ("tcp1", "")],
        [("", "tcp"), ("", "tcp1")],
        [("10.0.0.1@tcp", ""), ("10.0.0.2@tcp", "")],
        [("", "10.0.0.11@tcp"), ("", "10.0.0.12@tcp")],
    ];
    for sides in sides {
        let rig = rig(&own, &its);
        if sides[0].0.contains('.') || sides[0].1.contains('.') {
            rig.rule("tcp", "", Action::Priority(0), None);
        }
        for ((src, dst), messages) in sides.into_iter().zip([3, 2]) {
            rig.counting(src, dst, 1, messages);
        }
        // The candidates are one NID, or one of several that a message from a given NID names.
        let md = rig.node.bind(-1);
        let without_a_choice = || {
            rig.node.put(md, nid("10.0.0.21@tcp1"));
            let target =
                Target { nid: Some(rig.peer), pid: Pid::LUSTRE, portal: 9, match_bits: 0, offset: 0 };
            rig.core.data_path().put(Some(nid("10.0.0.1@tcp")), md, false, target, 0).unwrap();
        };
        without_a_choice();
        let paths: Vec<Pair> = std::iter::repeat_with(|| {
            let path = rig.path_of_each(1)[0];
            without_a_choice();
            path
        })
        .take(10)
        .collect();
        let is_first: Vec<bool> = match (sides[0].0, sides[0].1) {
            ("tcp", _) | (_, "tcp") => paths.iter().map(|path| path.1 != 13).collect(),
            ("", _) => paths.iter().map(|path| path.1 == 11).collect(),
            _ => paths.iter().map(|path| path.0 == 1).collect(),
        };
        // Either turn may come first.
        let turns = [[true, true, true, false, false], [false, false, true, true, true]];
        assert!(turns.iter().any(|turns| is_first == [*turns, *turns].concat()), "{sides:?}: {paths:?}");
    }
}

/// PS-30, UD-14: fails if a message to a peer of one NID leaves by another interface than a rule says, if the interface changes
/// without need, or if the peer is not bound as before when the rule has gone.
#[test]
fn a_peer_that_is_not_multi_rail_is_sent_to_by_the_interface_of_its_rule() {
    let driver = FakeDriver::new(OnSend::Complete).recording();
    let node = support::Rig::builder(driver).nids(THREE.iter().map(|own| nid(own))).build();
    let (core, peer) = (Arc::clone(&node.core), nid("10.0.0.11@tcp"));
    let rig = Rig { node, core, peer };
    let bound = rig.pairs();
    assert_eq!(bound.len(), 1);
    rig.rule("10.0.0.[2-3]@tcp", "10.0.0.11@tcp", Action::PreferredList, None);
    let by_rule = rig.pairs();
    assert!(by_rule.len() == 1 && bound.is_disjoint(&by_rule), "{by_rule:?}");
    rig.set_health(&format!("10.0.0.{}@tcp", by_rule.first().unwrap().0), 500);
    let next = rig.pairs();
    assert!(next.len() == 1 && bound.is_disjoint(&next) && by_rule.is_disjoint(&next), "{next:?}");
    rig.core.admin().set_ni_health(None, 1000);
    assert_eq!(rig.pairs(), by_rule);
    rig.core.admin().delete_rule(None).unwrap();
    assert_eq!(rig.pairs(), bound);
}
