//! `lst ping`

use super::{name, nids};
use crate::cli;
use crate::context::{CommandFailure, Context, Exit, Result};
use lnet_selftest::console::Command;
use lnet_selftest::console::call::{NodeResult, NodeState, ReplyContent, RpcResult, Target};

pub(super) fn ping(it: &cli::Ping, cx: &mut Context<'_>) -> Result {
    let (target, what) = match it {
        cli::Ping { group: Some(group), .. } => (Target::Group(name(group)?), group.clone()),
        cli::Ping { nodes: Some(text), .. } => {
            (Target::Nodes(nids::expand(text).map_err(CommandFailure::Usage)?), text.clone())
        }
        cli::Ping { batch: Some(batch), server, .. } => {
            (Target::Batch { batch: name(batch)?, server: *server }, batch.clone())
        }
        _ => (Target::Session, "session".to_owned()),
    };
    let outcome = cx.transact(Command::Ping { target, timeout: it.timeout })?;
    if cx.json(&outcome)? {
        return Ok(Exit::of(&outcome));
    }
    if outcome.nodes.is_empty() {
        cx.say(&format!("Target {what} is empty"))?;
    }
    for node in &outcome.nodes {
        cx.say(&line(node))?;
    }
    cx.report(&outcome)
}

fn line(node: &NodeResult) -> String {
    let (name, nid) = match &node.reply {
        RpcResult::Failed(_) => ("Unknown".to_owned(), None),
        RpcResult::Responded { session, said: ReplyContent::Session { name, .. }, .. }
            if matches!(node.state, NodeState::Active | NodeState::Busy) =>
        {
            (name.clone(), session.nid)
        }
        RpcResult::Responded { session, .. } => ("<NULL>".to_owned(), session.nid),
    };
    let nid = nid.map_or_else(|| "LNET_NID_ANY".to_owned(), |nid| nid.to_string());
    format!("\t{}: {} [session: {name} id: {nid}]", node.id, node.state.word())
}
