//! Tests of the begin, life and end of sessions.

use super::desk::{Desk, Mood};
use super::support::*;
use lnet_selftest::console::call::{NodeState, RpcResult, Said, SessionNumber};
use lnet_selftest::console::{Command, Refusal, Response, RpcBody};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn without_a_session_every_command_but_new_session_is_refused() {
    let mut desk = Desk::new(&[ONE]);
    for command in [Command::EndSession, Command::ListGroups, Command::ShowSession, ping_session(5)] {
        assert_eq!(desk.call(KEY, command), Err(Refusal::NoSession));
    }
}

#[test]
fn a_command_needs_the_key_of_the_session_and_showing_it_does_not() {
    let mut desk = with_session(&[ONE]);
    assert_eq!(desk.call(KEY + 1, Command::ListGroups), Err(Refusal::WrongKey));
    let Ok(Response::Session(info)) = desk.call(0, Command::ShowSession) else { panic!() };
    assert_eq!((info.key, info.idle_timeout, info.features), (KEY, 300, 1));
    assert_eq!(info.id, SessionNumber { nid: Some(ONE.parse().unwrap()), stamp: 212_198 });
}

#[test]
fn a_second_session_is_refused_unless_it_is_forced_which_ends_the_first_one_everywhere() {
    let mut desk = with_session(&[ONE, TWO]);
    add_group(&mut desk, "all", &[ONE, TWO]);
    assert!(matches!(desk.call(7, new_session(false)), Err(Refusal::Exists(..))));
    let Ok(Response::Session(info)) = desk.call(7, new_session(true)) else { panic!() };
    assert!(info.force && info.key == 7 && info.id.stamp > 212_198);
    assert!(desk.nodes.values().all(|node| node.session.is_none()));
    assert_eq!(desk.call(KEY, Command::ListGroups), Err(Refusal::WrongKey));
    assert_eq!(desk.call(7, Command::ListGroups), Ok(Response::Names(Vec::new())));
}

#[test]
fn a_console_on_no_net_makes_no_session() {
    let mut desk = Desk::new(&[]);
    desk.console.set_own_nid(None);
    assert_eq!(desk.call(KEY, new_session(false)), Err(Refusal::NoNet));
}

#[test]
fn ending_asks_active_nodes_only_and_does_not_mind_errors() {
    let mut desk = with_session(&[ONE, TWO, THREE]);
    desk.node(TWO).occupy("other");
    add_group(&mut desk, "all", &[ONE, TWO, THREE]);
    desk.node(THREE).is = Mood::Unresponsive;
    desk.sent.clear();
    assert_eq!(desk.call(KEY, Command::EndSession), Ok(Response::Done));
    let asked: Vec<_> = desk.sent.iter().map(|it| (it.to.nid.to_string(), it.body.clone())).collect();
    let removal = |nid: &str| (nid.to_owned(), RpcBody::RemoveSession);
    assert_eq!(asked, [removal(ONE), removal(THREE)]);
    assert!(desk.has_ended && !desk.console.has_session());
    assert_eq!(desk.aborted.len(), 1);
}

#[test]
fn commands_that_wait_end_when_the_session_ends() {
    let mut desk = with_session(&[ONE, TWO]);
    add_group(&mut desk, "all", &[ONE, TWO]);
    desk.node(TWO).is = Mood::Unresponsive;
    let waiting = desk.begin(KEY, ping_session(30));
    let ending = desk.begin(KEY, Command::EndSession);
    assert_eq!(desk.call(KEY, Command::ListGroups), Err(Refusal::ShuttingDown));
    desk.pass(30 * SECOND);
    assert_eq!(desk.response_of(ending), Some(Ok(Response::Done)));
    // Both have waited for the same time, and the question has the shorter timeout.
    assert!(desk.response_of(waiting).is_some());
}

#[test]
fn a_node_that_is_unresponsive_for_half_of_its_timeout_is_pinged_and_so_keeps_its_session() {
    let mut desk = with_session(&[ONE]);
    add_group(&mut desk, "all", &[ONE]);
    desk.sent.clear();
    desk.pass(47 * SECOND);
    assert!(desk.sent.is_empty());
    desk.pass(10 * SECOND);
    assert_eq!(desk.sent.len(), 1);
    assert_eq!(desk.sent[0].body, RpcBody::Debug);
    desk.pass(100 * SECOND);
    assert_eq!(desk.sent.len(), 2);
    assert_eq!(nodes(&mut desk, "all"), [NodeState::Active]);
}

/// Fails if the console pings a node again while a ping is in flight, or if a failed ping changes the node's state.
#[test]
fn a_node_that_does_not_answer_the_pinger_stays_active() {
    let mut desk = with_session(&[ONE]);
    add_group(&mut desk, "all", &[ONE]);
    desk.sent.clear();
    desk.node(ONE).is = Mood::Unresponsive;
    desk.pass(200 * SECOND);
    assert_eq!(desk.sent.len(), 1);
    assert_eq!(nodes(&mut desk, "all"), [NodeState::Active]);
}

#[test]
fn a_session_without_commands_ends_and_nodes_are_told() {
    let mut desk = with_session(&[ONE]);
    add_group(&mut desk, "all", &[ONE]);
    desk.pass(290 * SECOND);
    assert_eq!(desk.call(KEY, Command::ListBatches), Ok(Response::Names(vec![name("batch")])));
    desk.pass(299 * SECOND);
    assert!(!desk.has_ended);
    desk.pass(10 * SECOND);
    assert!(desk.has_ended && desk.node(ONE).session.is_none());
    assert_eq!(desk.call(KEY, Command::ListGroups), Err(Refusal::NoSession));
}

#[test]
fn a_short_wait_that_passes_tells_nothing_of_the_node_and_a_long_one_says_that_it_is_down() {
    let mut desk = with_session(&[ONE, TWO]);
    add_group(&mut desk, "all", &[ONE, TWO]);
    desk.node(TWO).is = Mood::Unresponsive;
    let begun = desk.now;
    let asked = outcome(desk.call(KEY, ping_session(1)));
    assert_eq!(desk.now - begun, 3 * SECOND);
    assert_eq!(results(&asked), [0, -libc::EINTR]);
    assert_eq!(nodes(&mut desk, "all"), [NodeState::Active, NodeState::Active]);
    let asked = outcome(desk.call(KEY, ping_session(6)));
    assert_eq!(results(&asked), [0, -libc::ETIMEDOUT]);
    assert_eq!(nodes(&mut desk, "all"), [NodeState::Active, NodeState::Down]);
    assert_eq!(desk.aborted.len(), 2);
}

#[test]
fn a_ping_tells_the_session_of_every_node_and_learns_its_state() {
    let mut desk = with_session(&[ONE, TWO, THREE]);
    add_group(&mut desk, "all", &[ONE, TWO, THREE]);
    desk.node(TWO).occupy("other");
    desk.node(THREE).session = None;
    let asked = outcome(desk.call(KEY, ping_session(5)));
    let states: Vec<_> = asked.nodes.iter().map(|node| node.state).collect();
    assert_eq!(states, [NodeState::Active, NodeState::Busy, NodeState::Unknown]);
    let RpcResult::Responded { said: Said::Session { name, .. }, .. } = &asked.nodes[1].reply else {
        panic!()
    };
    assert_eq!(name, "other");
    assert!(asked.is_well());
}

#[test]
fn an_interrupted_command_gives_its_rpcs_up() {
    let mut desk = with_session(&[ONE]);
    add_group(&mut desk, "all", &[ONE]);
    desk.node(ONE).is = Mood::Unresponsive;
    let asked = desk.begin(KEY, ping_session(30));
    desk.interrupt(asked);
    assert_eq!(desk.aborted.len(), 1);
    assert_eq!(results(&outcome(desk.response_of(asked).unwrap())), [-libc::EINTR]);
    assert_eq!(nodes(&mut desk, "all"), [NodeState::Active]);
}
