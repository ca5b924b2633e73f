//! Commands in few words.

use super::console_rig::ConsoleRig;
use lnet_selftest::console::call::{
    AddTest, NewSession, NodeInfo, NodeState, RpcResult, Target, TransactionResult,
};
use lnet_selftest::console::{Command, Name, Refusal, Response, TestSpec};

pub const KEY: u32 = 42;
pub const ONE: &str = "10.99.0.11@tcp";
pub const TWO: &str = "10.99.0.12@tcp";
pub const THREE: &str = "10.99.0.13@tcp";

pub fn name(text: &str) -> Name {
    text.parse().unwrap()
}

pub fn new_session(force: bool) -> Command {
    Command::NewSession(NewSession { name: name("sess"), idle_timeout: 300, force, features: 1 })
}

/// A console with a session, and one group for each of the nodes.
pub fn with_session(nids: &[&str]) -> ConsoleRig {
    let mut console_rig = ConsoleRig::new(nids);
    console_rig.call(KEY, new_session(false)).unwrap();
    console_rig
}

pub fn add_group(console_rig: &mut ConsoleRig, group: &str, nids: &[&str]) -> TransactionResult {
    console_rig.call(KEY, Command::AddGroup { group: name(group) }).unwrap();
    let nids = nids.iter().map(|nid| nid.parse().unwrap()).collect();
    outcome(console_rig.call(KEY, Command::AddNodes { group: name(group), nids }))
}

pub fn test(from: &str, to: &str) -> AddTest {
    AddTest {
        batch: name("batch"),
        from: name(from),
        to: name(to),
        concurrency: 1,
        repeat: -1,
        distribution: "1:1".parse().unwrap(),
        test: TestSpec::Ping,
    }
}

pub fn outcome(response: Result<Response, Refusal>) -> TransactionResult {
    match response {
        Ok(Response::Outcome(outcome)) => outcome,
        other => panic!("{other:?}"),
    }
}

pub fn nodes(console_rig: &mut ConsoleRig, group: &str) -> Vec<NodeState> {
    match console_rig.call(KEY, Command::ShowGroup { group: name(group) }) {
        Ok(Response::Nodes(nodes)) => nodes.iter().map(|NodeInfo { state, .. }| *state).collect(),
        other => panic!("{other:?}"),
    }
}

pub fn ping_session(timeout: u32) -> Command {
    Command::Ping { target: Target::Session, timeout }
}

/// The statuses of an outcome, with failures as negative errnos.
pub fn results(outcome: &TransactionResult) -> Vec<i32> {
    let number = |reply: &RpcResult| match reply {
        RpcResult::Failed(errno) => -errno,
        RpcResult::Responded { status, .. } => *status as i32,
    };
    outcome.nodes.iter().map(|node| number(&node.reply)).collect()
}
