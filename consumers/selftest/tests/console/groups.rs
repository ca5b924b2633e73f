//! Tests of groups, which nodes are added to and removed from.

use super::console_rig::NodeBehaviour;
use super::support::*;
use lnet_selftest::console::call::{NodeState, Target};
use lnet_selftest::console::{Command, Refusal, Response, RpcBody};

#[test]
fn nodes_that_are_added_get_the_session_and_those_that_have_it_are_not_asked_again() {
    let mut console_rig = with_session(&[ONE, TWO]);
    assert_eq!(results(&add_group(&mut console_rig, "a", &[ONE, ONE, TWO])), [0, 0]);
    assert_eq!(nodes(&mut console_rig, "a"), [NodeState::Active; 2]);
    assert!(add_group(&mut console_rig, "b", &[TWO]).nodes.is_empty());
    assert_eq!(nodes(&mut console_rig, "b"), [NodeState::Active]);
    assert!(matches!(
        console_rig.call(KEY, Command::AddGroup { group: name("a") }),
        Err(Refusal::Exists(..))
    ));
}

/// Fails if nodes that refuse the session, or do not answer, are left out of the group.
#[test]
fn nodes_that_refuse_or_do_not_answer_are_in_the_group_with_their_state() {
    let mut console_rig = with_session(&[ONE, TWO, THREE]);
    console_rig.node(TWO).occupy("other");
    console_rig.node(THREE).is = NodeBehaviour::Unresponsive;
    let added = add_group(&mut console_rig, "a", &[ONE, TWO, THREE, "10.99.0.14@tcp"]);
    assert_eq!(results(&added), [0, libc::EBUSY, -libc::ETIMEDOUT, -libc::EHOSTUNREACH]);
    assert_eq!((added.failed_rpcs(), added.refusals()), (2, 1));
    let states = [NodeState::Active, NodeState::Busy, NodeState::Down, NodeState::Unknown];
    assert_eq!(nodes(&mut console_rig, "a"), states);
}

#[test]
fn a_forced_session_takes_nodes_from_others() {
    let mut console_rig = super::console_rig::ConsoleRig::new(&[ONE]);
    console_rig.node(ONE).occupy("other");
    console_rig.call(KEY, new_session(true)).unwrap();
    assert_eq!(results(&add_group(&mut console_rig, "a", &[ONE])), [0]);
    assert_eq!(nodes(&mut console_rig, "a"), [NodeState::Active]);
}

#[test]
fn the_first_nodes_settle_the_features_and_others_that_differ_are_refused() {
    let mut console_rig = with_session(&[ONE, TWO]);
    console_rig.node(ONE).features = 0;
    assert_eq!(add_group(&mut console_rig, "a", &[ONE]).features, 0);
    // Asked for no features, it has none.
    assert_eq!(results(&add_group(&mut console_rig, "b", &[TWO])), [0]);

    let mut console_rig = with_session(&[ONE, TWO, THREE]);
    assert_eq!(add_group(&mut console_rig, "a", &[ONE]).features, 1);
    console_rig.node(TWO).features = 0;
    assert_eq!(results(&add_group(&mut console_rig, "b", &[TWO, THREE])), [libc::EPROTO, 0]);
}

#[test]
fn refreshing_asks_those_that_are_not_active() {
    let mut console_rig = with_session(&[ONE, TWO]);
    console_rig.node(TWO).occupy("other");
    add_group(&mut console_rig, "a", &[ONE, TWO]);
    console_rig.node(TWO).session = None;
    console_rig.sent.clear();
    let refreshed = outcome(console_rig.call(KEY, Command::RefreshGroup { group: name("a") }));
    assert_eq!(results(&refreshed), [0]);
    assert_eq!(console_rig.sent.len(), 1);
    assert_eq!(nodes(&mut console_rig, "a"), [NodeState::Active; 2]);
}

#[test]
fn cleaning_asks_nobody_and_an_emptied_group_disappears() {
    let mut console_rig = with_session(&[ONE, TWO]);
    console_rig.node(TWO).occupy("other");
    add_group(&mut console_rig, "a", &[ONE, TWO]);
    console_rig.sent.clear();
    let clean = |states: &[NodeState]| Command::CleanGroup { group: name("a"), states: states.to_vec() };
    console_rig.call(KEY, clean(&[NodeState::Busy, NodeState::Down])).unwrap();
    assert_eq!(nodes(&mut console_rig, "a"), [NodeState::Active]);
    console_rig.call(KEY, clean(&[NodeState::Active])).unwrap();
    assert_eq!(console_rig.call(KEY, Command::ListGroups), Ok(Response::Names(Vec::new())));
    assert!(console_rig.sent.is_empty());
}

#[test]
fn a_node_that_leaves_gives_the_session_up_unless_it_is_in_another_group() {
    let mut console_rig = with_session(&[ONE, TWO]);
    add_group(&mut console_rig, "a", &[ONE, TWO]);
    add_group(&mut console_rig, "b", &[TWO]);
    console_rig.sent.clear();
    let nids = vec![ONE.parse().unwrap(), TWO.parse().unwrap(), THREE.parse().unwrap()];
    console_rig.call(KEY, Command::RemoveNodes { group: name("a"), nids }).unwrap();
    assert_eq!(console_rig.sent.len(), 1);
    assert_eq!(
        (console_rig.sent[0].to.nid.to_string(), &console_rig.sent[0].body),
        (ONE.to_owned(), &RpcBody::RemoveSession)
    );
    assert_eq!(console_rig.call(KEY, Command::ListGroups), Ok(Response::Names(vec![name("b")])));
    let target = Target::Nodes(vec![ONE.parse().unwrap()]);
    let unknown = console_rig.call(KEY, Command::Stat { target, timeout: 5 });
    assert!(matches!(unknown, Err(Refusal::NotFound(..))), "{unknown:?}");
    console_rig.call(KEY, Command::DeleteGroup { group: name("b") }).unwrap();
    assert!(console_rig.nodes.values().all(|node| node.session.is_none()));
}

#[test]
fn two_commands_do_not_change_the_same_group_at_once_and_questions_may_be_asked() {
    let mut console_rig = with_session(&[ONE, TWO]);
    add_group(&mut console_rig, "a", &[ONE]);
    console_rig.node(TWO).is = NodeBehaviour::Unresponsive;
    let nids = vec![TWO.parse().unwrap()];
    let adding = console_rig.begin(KEY, Command::AddNodes { group: name("a"), nids: nids.clone() });
    for command in [
        Command::AddNodes { group: name("a"), nids: nids.clone() },
        Command::RemoveNodes { group: name("a"), nids },
        Command::DeleteGroup { group: name("a") },
        Command::RefreshGroup { group: name("a") },
    ] {
        assert!(matches!(console_rig.call(KEY, command), Err(Refusal::Changing(..))));
    }
    assert_eq!(nodes(&mut console_rig, "a").len(), 2);
    console_rig.pass(std::time::Duration::from_secs(30));
    assert!(console_rig.response_of(adding).is_some());
}

#[test]
fn nids_of_more_than_four_bytes_are_refused() {
    let mut console_rig = with_session(&[ONE]);
    console_rig.call(KEY, Command::AddGroup { group: name("a") }).unwrap();
    let nids = vec!["fe80::1@tcp".parse().unwrap()];
    let refused = console_rig.call(KEY, Command::AddNodes { group: name("a"), nids });
    assert!(matches!(refused, Err(Refusal::Invalid(_))), "{refused:?}");
}
