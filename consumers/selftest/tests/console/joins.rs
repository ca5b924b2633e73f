//! Nodes that invite themselves (lnet-selftest 5.7).

use super::console_rig::ConsoleRig;
use super::support::*;
use lnet_selftest::console::call::{NodeState, SessionNumber};
use lnet_selftest::console::{Command, JoinReply, Response, RpcBody};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
/// The features of the session.
const FEATURES: u32 = 1;

fn number(console_rig: &mut ConsoleRig) -> SessionNumber {
    match console_rig.call(KEY, Command::ShowSession) {
        Ok(Response::Session(info)) => info.id,
        other => panic!("{other:?}"),
    }
}

/// Joins from a pid that consoles do not use by themselves.
fn join(
    console_rig: &mut ConsoleRig,
    nid: &str,
    wanted: SessionNumber,
    group: &str,
    features: u32,
) -> JoinReply {
    let from = format!("77-{nid}").parse().unwrap();
    console_rig.console.handle_join(console_rig.now, from, wanted, &name(group), features)
}

/// Fails if the console does not give every reply of the sheet. Both kinds of EBUSY: another session, and a group that a test
/// uses.
#[test]
fn a_node_that_wants_to_join_is_taken_or_told_why_not() {
    let mut console_rig = with_session(&[ONE, TWO]);
    let own = number(&mut console_rig);
    add_group(&mut console_rig, "cli", &[ONE]);
    add_group(&mut console_rig, "srv", &[TWO]);
    let test = test("cli", "srv");
    assert!(outcome(console_rig.call(KEY, Command::AddTest(test))).is_well());
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
        let reply = join(&mut console_rig, THREE, wanted, group, features);
        let accepted = JoinReply { status: 0, session: own, timeout: 300, name: Some(name("sess")) };
        let refused = JoinReply { status, session: own, timeout: 0, name: None };
        assert_eq!(reply, if status == 0 { accepted } else { refused }, "{what}");
    }
    // Refused requests have made no group.
    let groups = ["cli", "srv", "new", "any"].map(name).to_vec();
    assert_eq!(console_rig.call(KEY, Command::ListGroups), Ok(Response::Names(groups)));
    assert_eq!(nodes(&mut console_rig, "srv"), [NodeState::Active]);
    for group in ["new", "any"] {
        assert_eq!(nodes(&mut console_rig, group), [NodeState::Active], "{group}");
    }
}

#[test]
fn without_a_session_or_while_it_ends_nobody_joins() {
    let none = JoinReply { status: libc::ESRCH, session: SessionNumber::NONE, timeout: 0, name: None };
    let mut console_rig = ConsoleRig::new(&[ONE]);
    assert_eq!(join(&mut console_rig, TWO, SessionNumber::NONE, "new", FEATURES), none);
    console_rig.call(KEY, new_session(false)).unwrap();
    add_group(&mut console_rig, "all", &[ONE]);
    console_rig.node(ONE).is = super::console_rig::NodeBehaviour::Unresponsive;
    let ending = console_rig.begin(KEY, Command::EndSession);
    assert_eq!(join(&mut console_rig, TWO, SessionNumber::NONE, "new", FEATURES), none);
    console_rig.pass(30 * SECOND);
    assert_eq!(console_rig.response_of(ending), Some(Ok(Response::Done)));
}

/// Fails if a node that joined is not pinged at half of the session's timeout, which is the console's for it.
#[test]
fn a_node_that_joined_is_pinged_and_so_keeps_its_session() {
    let mut console_rig = with_session(&[THREE]);
    let own = number(&mut console_rig);
    assert_eq!(join(&mut console_rig, THREE, own, "all", FEATURES).timeout, 300);
    let now = console_rig.now;
    console_rig.node(THREE).join(now, own);
    console_rig.pass(149 * SECOND);
    assert!(console_rig.sent.is_empty());
    console_rig.pass(10 * SECOND);
    let asked: Vec<_> = console_rig.sent.iter().map(|it| (it.to.to_string(), it.body.clone())).collect();
    assert_eq!(asked, [(format!("77-{THREE}"), RpcBody::Debug)]);
    assert_eq!(nodes(&mut console_rig, "all"), [NodeState::Active]);
    console_rig.pass(160 * SECOND);
    assert_eq!(console_rig.sent.len(), 2);
}
