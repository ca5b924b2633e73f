//! Tests of groups, which nodes are added to and removed from.

use super::desk::Mood;
use super::support::*;
use lnet_selftest::console::call::{NodeState, Target};
use lnet_selftest::console::{Command, Refusal, Response, RpcBody};

#[test]
fn nodes_that_are_added_get_the_session_and_those_that_have_it_are_not_asked_again() {
    let mut desk = with_session(&[ONE, TWO]);
    assert_eq!(results(&add_group(&mut desk, "a", &[ONE, ONE, TWO])), [0, 0]);
    assert_eq!(nodes(&mut desk, "a"), [NodeState::Active; 2]);
    assert!(add_group(&mut desk, "b", &[TWO]).nodes.is_empty());
    assert_eq!(nodes(&mut desk, "b"), [NodeState::Active]);
    assert!(matches!(desk.call(KEY, Command::AddGroup { group: name("a") }), Err(Refusal::Exists(..))));
}

/// Fails if nodes that refuse the session, or do not answer, are left out of the group.
#[test]
fn nodes_that_refuse_or_do_not_answer_are_in_the_group_with_their_state() {
    let mut desk = with_session(&[ONE, TWO, THREE]);
    desk.node(TWO).occupy("other");
    desk.node(THREE).is = Mood::Unresponsive;
    let added = add_group(&mut desk, "a", &[ONE, TWO, THREE, "10.99.0.14@tcp"]);
    assert_eq!(results(&added), [0, libc::EBUSY, -libc::ETIMEDOUT, -libc::EHOSTUNREACH]);
    assert_eq!((added.failed_rpcs(), added.refusals()), (2, 1));
    let states = [NodeState::Active, NodeState::Busy, NodeState::Down, NodeState::Unknown];
    assert_eq!(nodes(&mut desk, "a"), states);
}

#[test]
fn a_forced_session_takes_nodes_from_others() {
    let mut desk = super::desk::Desk::new(&[ONE]);
    desk.node(ONE).occupy("other");
    desk.call(KEY, new_session(true)).unwrap();
    assert_eq!(results(&add_group(&mut desk, "a", &[ONE])), [0]);
    assert_eq!(nodes(&mut desk, "a"), [NodeState::Active]);
}

#[test]
fn the_first_nodes_settle_the_features_and_others_that_differ_are_refused() {
    let mut desk = with_session(&[ONE, TWO]);
    desk.node(ONE).features = 0;
    assert_eq!(add_group(&mut desk, "a", &[ONE]).features, 0);
    // Asked for no features, it has none.
    assert_eq!(results(&add_group(&mut desk, "b", &[TWO])), [0]);

    let mut desk = with_session(&[ONE, TWO, THREE]);
    assert_eq!(add_group(&mut desk, "a", &[ONE]).features, 1);
    desk.node(TWO).features = 0;
    assert_eq!(results(&add_group(&mut desk, "b", &[TWO, THREE])), [libc::EPROTO, 0]);
}

#[test]
fn refreshing_asks_those_that_are_not_active() {
    let mut desk = with_session(&[ONE, TWO]);
    desk.node(TWO).occupy("other");
    add_group(&mut desk, "a", &[ONE, TWO]);
    desk.node(TWO).session = None;
    desk.sent.clear();
    let refreshed = outcome(desk.call(KEY, Command::RefreshGroup { group: name("a") }));
    assert_eq!(results(&refreshed), [0]);
    assert_eq!(desk.sent.len(), 1);
    assert_eq!(nodes(&mut desk, "a"), [NodeState::Active; 2]);
}

#[test]
fn cleaning_asks_nobody_and_an_emptied_group_disappears() {
    let mut desk = with_session(&[ONE, TWO]);
    desk.node(TWO).occupy("other");
    add_group(&mut desk, "a", &[ONE, TWO]);
    desk.sent.clear();
    let clean = |states: &[NodeState]| Command::CleanGroup { group: name("a"), states: states.to_vec() };
    desk.call(KEY, clean(&[NodeState::Busy, NodeState::Down])).unwrap();
    assert_eq!(nodes(&mut desk, "a"), [NodeState::Active]);
    desk.call(KEY, clean(&[NodeState::Active])).unwrap();
    assert_eq!(desk.call(KEY, Command::ListGroups), Ok(Response::Names(Vec::new())));
    assert!(desk.sent.is_empty());
}

#[test]
fn a_node_that_leaves_gives_the_session_up_unless_it_is_in_another_group() {
    let mut desk = with_session(&[ONE, TWO]);
    add_group(&mut desk, "a", &[ONE, TWO]);
    add_group(&mut desk, "b", &[TWO]);
    desk.sent.clear();
    let nids = vec![ONE.parse().unwrap(), TWO.parse().unwrap(), THREE.parse().unwrap()];
    desk.call(KEY, Command::RemoveNodes { group: name("a"), nids }).unwrap();
    assert_eq!(desk.sent.len(), 1);
    assert_eq!(
        (desk.sent[0].to.nid.to_string(), &desk.sent[0].body),
        (ONE.to_owned(), &RpcBody::RemoveSession)
    );
    assert_eq!(desk.call(KEY, Command::ListGroups), Ok(Response::Names(vec![name("b")])));
    let target = Target::Nodes(vec![ONE.parse().unwrap()]);
    let unknown = desk.call(KEY, Command::Stat { target, timeout: 5 });
    assert!(matches!(unknown, Err(Refusal::NotFound(..))), "{unknown:?}");
    desk.call(KEY, Command::DeleteGroup { group: name("b") }).unwrap();
    assert!(desk.nodes.values().all(|node| node.session.is_none()));
}

#[test]
fn two_commands_do_not_change_the_same_group_at_once_and_questions_may_be_asked() {
    let mut desk = with_session(&[ONE, TWO]);
    add_group(&mut desk, "a", &[ONE]);
    desk.node(TWO).is = Mood::Unresponsive;
    let nids = vec![TWO.parse().unwrap()];
    let adding = desk.begin(KEY, Command::AddNodes { group: name("a"), nids: nids.clone() });
    for command in [
        Command::AddNodes { group: name("a"), nids: nids.clone() },
        Command::RemoveNodes { group: name("a"), nids },
        Command::DeleteGroup { group: name("a") },
        Command::RefreshGroup { group: name("a") },
    ] {
        assert!(matches!(desk.call(KEY, command), Err(Refusal::Changing(..))));
    }
    assert_eq!(nodes(&mut desk, "a").len(), 2);
    desk.pass(std::time::Duration::from_secs(30));
    assert!(desk.response_of(adding).is_some());
}

#[test]
fn nids_of_more_than_four_bytes_are_refused() {
    let mut desk = with_session(&[ONE]);
    desk.call(KEY, Command::AddGroup { group: name("a") }).unwrap();
    let nids = vec!["fe80::1@tcp".parse().unwrap()];
    let refused = desk.call(KEY, Command::AddNodes { group: name("a"), nids });
    assert!(matches!(refused, Err(Refusal::Invalid(_))), "{refused:?}");
}
