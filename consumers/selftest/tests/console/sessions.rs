//! Tests of the begin, life and end of sessions.

use super::console_rig::{ConsoleRig, NodeBehaviour};
use super::support::*;
use lnet_selftest::console::call::{NodeState, ReplyContent, RpcResult, SessionNumber};
use lnet_selftest::console::{Command, Refusal, Response, RpcBody};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn without_a_session_every_command_but_new_session_is_refused() {
    let mut console_rig = ConsoleRig::new(&[ONE]);
    for command in [Command::EndSession, Command::ListGroups, Command::ShowSession, ping_session(5)] {
        assert_eq!(console_rig.call(KEY, command), Err(Refusal::NoSession));
    }
}

#[test]
fn a_command_needs_the_key_of_the_session_and_showing_it_does_not() {
    let mut console_rig = with_session(&[ONE]);
    assert_eq!(console_rig.call(KEY + 1, Command::ListGroups), Err(Refusal::WrongKey));
    let Ok(Response::Session(info)) = console_rig.call(0, Command::ShowSession) else { panic!() };
    assert_eq!((info.key, info.idle_timeout, info.features), (KEY, 300, 1));
    assert_eq!(info.id, SessionNumber { nid: Some(ONE.parse().unwrap()), stamp: 212_198 });
}

#[test]
fn a_second_session_is_refused_unless_it_is_forced_which_ends_the_first_one_everywhere() {
    let mut console_rig = with_session(&[ONE, TWO]);
    add_group(&mut console_rig, "all", &[ONE, TWO]);
    assert!(matches!(console_rig.call(7, new_session(false)), Err(Refusal::Exists(..))));
    let Ok(Response::Session(info)) = console_rig.call(7, new_session(true)) else { panic!() };
    assert!(info.force && info.key == 7 && info.id.stamp > 212_198);
    assert!(console_rig.nodes.values().all(|node| node.session.is_none()));
    assert_eq!(console_rig.call(KEY, Command::ListGroups), Err(Refusal::WrongKey));
    assert_eq!(console_rig.call(7, Command::ListGroups), Ok(Response::Names(Vec::new())));
}

#[test]
fn a_console_on_no_net_makes_no_session() {
    let mut console_rig = ConsoleRig::new(&[]);
    console_rig.console.set_own_nid(None);
    assert_eq!(console_rig.call(KEY, new_session(false)), Err(Refusal::NoNet));
}

#[test]
fn ending_asks_active_nodes_only_and_does_not_mind_errors() {
    let mut console_rig = with_session(&[ONE, TWO, THREE]);
    console_rig.node(TWO).occupy("other");
    add_group(&mut console_rig, "all", &[ONE, TWO, THREE]);
    console_rig.node(THREE).is = NodeBehaviour::Unresponsive;
    console_rig.sent.clear();
    assert_eq!(console_rig.call(KEY, Command::EndSession), Ok(Response::Done));
    let asked: Vec<_> = console_rig.sent.iter().map(|it| (it.to.nid.to_string(), it.body.clone())).collect();
    let removal = |nid: &str| (nid.to_owned(), RpcBody::RemoveSession);
    assert_eq!(asked, [removal(ONE), removal(THREE)]);
    assert!(console_rig.has_ended && !console_rig.console.has_session());
    assert_eq!(console_rig.aborted.len(), 1);
}

#[test]
fn commands_that_wait_end_when_the_session_ends() {
    let mut console_rig = with_session(&[ONE, TWO]);
    add_group(&mut console_rig, "all", &[ONE, TWO]);
    console_rig.node(TWO).is = NodeBehaviour::Unresponsive;
    let waiting = console_rig.begin(KEY, ping_session(30));
    let ending = console_rig.begin(KEY, Command::EndSession);
    assert_eq!(console_rig.call(KEY, Command::ListGroups), Err(Refusal::ShuttingDown));
    console_rig.pass(30 * SECOND);
    assert_eq!(console_rig.response_of(ending), Some(Ok(Response::Done)));
    // Both have waited for the same time, and the question has the shorter timeout.
    assert!(console_rig.response_of(waiting).is_some());
}

#[test]
fn a_node_that_is_unresponsive_for_half_of_its_timeout_is_pinged_and_so_keeps_its_session() {
    let mut console_rig = with_session(&[ONE]);
    add_group(&mut console_rig, "all", &[ONE]);
    console_rig.sent.clear();
    console_rig.pass(47 * SECOND);
    assert!(console_rig.sent.is_empty());
    console_rig.pass(10 * SECOND);
    assert_eq!(console_rig.sent.len(), 1);
    assert_eq!(console_rig.sent[0].body, RpcBody::Debug);
    console_rig.pass(100 * SECOND);
    assert_eq!(console_rig.sent.len(), 2);
    assert_eq!(nodes(&mut console_rig, "all"), [NodeState::Active]);
}

/// Fails if the console pings a node again while a ping is in flight, or if a failed ping changes the node's state.
#[test]
fn a_node_that_does_not_answer_the_pinger_stays_active() {
    let mut console_rig = with_session(&[ONE]);
    add_group(&mut console_rig, "all", &[ONE]);
    console_rig.sent.clear();
    console_rig.node(ONE).is = NodeBehaviour::Unresponsive;
    console_rig.pass(200 * SECOND);
    assert_eq!(console_rig.sent.len(), 1);
    assert_eq!(nodes(&mut console_rig, "all"), [NodeState::Active]);
}

#[test]
fn a_session_without_commands_ends_and_nodes_are_told() {
    let mut console_rig = with_session(&[ONE]);
    add_group(&mut console_rig, "all", &[ONE]);
    console_rig.pass(290 * SECOND);
    assert_eq!(console_rig.call(KEY, Command::ListBatches), Ok(Response::Names(vec![name("batch")])));
    console_rig.pass(299 * SECOND);
    assert!(!console_rig.has_ended);
    console_rig.pass(10 * SECOND);
    assert!(console_rig.has_ended && console_rig.node(ONE).session.is_none());
    assert_eq!(console_rig.call(KEY, Command::ListGroups), Err(Refusal::NoSession));
}

#[test]
fn a_short_wait_that_passes_tells_nothing_of_the_node_and_a_long_one_says_that_it_is_down() {
    let mut console_rig = with_session(&[ONE, TWO]);
    add_group(&mut console_rig, "all", &[ONE, TWO]);
    console_rig.node(TWO).is = NodeBehaviour::Unresponsive;
    let begun = console_rig.now;
    let asked = outcome(console_rig.call(KEY, ping_session(1)));
    assert_eq!(console_rig.now - begun, 3 * SECOND);
    assert_eq!(results(&asked), [0, -libc::EINTR]);
    assert_eq!(nodes(&mut console_rig, "all"), [NodeState::Active, NodeState::Active]);
    let asked = outcome(console_rig.call(KEY, ping_session(6)));
    assert_eq!(results(&asked), [0, -libc::ETIMEDOUT]);
    assert_eq!(nodes(&mut console_rig, "all"), [NodeState::Active, NodeState::Down]);
    assert_eq!(console_rig.aborted.len(), 2);
}

#[test]
fn a_ping_tells_the_session_of_every_node_and_learns_its_state() {
    let mut console_rig = with_session(&[ONE, TWO, THREE]);
    add_group(&mut console_rig, "all", &[ONE, TWO, THREE]);
    console_rig.node(TWO).occupy("other");
    console_rig.node(THREE).session = None;
    let asked = outcome(console_rig.call(KEY, ping_session(5)));
    let states: Vec<_> = asked.nodes.iter().map(|node| node.state).collect();
    assert_eq!(states, [NodeState::Active, NodeState::Busy, NodeState::Unknown]);
    let RpcResult::Responded { said: ReplyContent::Session { name, .. }, .. } = &asked.nodes[1].reply else {
        panic!()
    };
    assert_eq!(name, "other");
    assert!(asked.is_well());
}

#[test]
fn an_interrupted_command_gives_its_rpcs_up() {
    let mut console_rig = with_session(&[ONE]);
    add_group(&mut console_rig, "all", &[ONE]);
    console_rig.node(ONE).is = NodeBehaviour::Unresponsive;
    let asked = console_rig.begin(KEY, ping_session(30));
    console_rig.interrupt(asked);
    assert_eq!(console_rig.aborted.len(), 1);
    assert_eq!(results(&outcome(console_rig.response_of(asked).unwrap())), [-libc::EINTR]);
    assert_eq!(nodes(&mut console_rig, "all"), [NodeState::Active]);
}
