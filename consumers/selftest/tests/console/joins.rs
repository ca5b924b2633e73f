//! Nodes that invite themselves (lnet-selftest 5.7).

use super::desk::Desk;
use super::support::*;
use lnet_selftest::console::call::{NodeState, SessionNumber};
use lnet_selftest::console::{Command, JoinReply, Response, RpcBody};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
/// The features of the session.
const FEATURES: u32 = 1;

fn number(desk: &mut Desk) -> SessionNumber {
    match desk.call(KEY, Command::ShowSession) {
        Ok(Response::Session(info)) => info.id,
        other => panic!("{other:?}"),
    }
}

/// Joins from a pid that consoles do not use by themselves.
fn join(desk: &mut Desk, nid: &str, wanted: SessionNumber, group: &str, features: u32) -> JoinReply {
    let from = format!("77-{nid}").parse().unwrap();
    desk.console.handle_join(desk.now, from, wanted, &name(group), features)
}

/// Fails if the console does not give every reply of the sheet. Both kinds of EBUSY: another session, and a group that a test
/// uses.
#[test]
fn a_node_that_wants_to_join_is_taken_or_told_why_not() {
    let mut desk = with_session(&[ONE, TWO]);
    let own = number(&mut desk);
    add_group(&mut desk, "cli", &[ONE]);
    add_group(&mut desk, "srv", &[TWO]);
    let test = test("cli", "srv");
    assert!(outcome(desk.call(KEY, Command::AddTest(test))).is_well());
    let other = SessionNumber { stamp: own.stamp + 1, ..own };
    let table = [
        ("other features", own, "new", 0, libc::EPROTO),
        ("another session", other, "new", FEATURES, libc::EBUSY),
        ("a group of a test", own, "srv", FEATURES, libc::EBUSY),
        ("features come before the session", other, "srv", 0, libc::EPROTO),
        ("a new group", own, "new", FEATURES, 0),
        ("a node that is there already", own, "new", FEATURES, libc::EEXIST),
        ("whatever session there is", SessionNumber::NONE, "any", FEATURES, 0),
    ];
    for (what, wanted, group, features, status) in table {
        let reply = join(&mut desk, THREE, wanted, group, features);
        let accepted = JoinReply { status: 0, session: own, timeout: 300, name: Some(name("sess")) };
        let refused = JoinReply { status, session: own, timeout: 0, name: None };
        assert_eq!(reply, if status == 0 { accepted } else { refused }, "{what}");
    }
    // Refused requests have made no group.
    let groups = ["cli", "srv", "new", "any"].map(name).to_vec();
    assert_eq!(desk.call(KEY, Command::ListGroups), Ok(Response::Names(groups)));
    assert_eq!(nodes(&mut desk, "srv"), [NodeState::Active]);
    for group in ["new", "any"] {
        assert_eq!(nodes(&mut desk, group), [NodeState::Active], "{group}");
    }
}

#[test]
fn without_a_session_or_while_it_ends_nobody_joins() {
    let none = JoinReply { status: libc::ESRCH, session: SessionNumber::NONE, timeout: 0, name: None };
    let mut desk = Desk::new(&[ONE]);
    assert_eq!(join(&mut desk, TWO, SessionNumber::NONE, "new", FEATURES), none);
    desk.call(KEY, new_session(false)).unwrap();
    add_group(&mut desk, "all", &[ONE]);
    desk.node(ONE).is = super::desk::Mood::Unresponsive;
    let ending = desk.begin(KEY, Command::EndSession);
    assert_eq!(join(&mut desk, TWO, SessionNumber::NONE, "new", FEATURES), none);
    desk.pass(30 * SECOND);
    assert_eq!(desk.response_of(ending), Some(Ok(Response::Done)));
}

/// Fails if a node that joined is not pinged at half of the session's timeout, which is the console's for it.
#[test]
fn a_node_that_joined_is_pinged_and_so_keeps_its_session() {
    let mut desk = with_session(&[THREE]);
    let own = number(&mut desk);
    assert_eq!(join(&mut desk, THREE, own, "all", FEATURES).timeout, 300);
    let now = desk.now;
    desk.node(THREE).join(now, own);
    desk.pass(149 * SECOND);
    assert!(desk.sent.is_empty());
    desk.pass(10 * SECOND);
    let asked: Vec<_> = desk.sent.iter().map(|it| (it.to.to_string(), it.body.clone())).collect();
    assert_eq!(asked, [(format!("77-{THREE}"), RpcBody::Debug)]);
    assert_eq!(nodes(&mut desk, "all"), [NodeState::Active]);
    desk.pass(160 * SECOND);
    assert_eq!(desk.sent.len(), 2);
}
