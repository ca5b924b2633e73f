//! `lst query`

use super::name;
use crate::cli;
use crate::context::{Context, Exit, Result};
use crate::output::error_text;
use lnet_selftest::console::Command;
use lnet_selftest::console::call::{NodeResult, ReplyContent, RpcResult, TransactionResult};
use std::time::Duration;

pub(super) fn query(it: &cli::Query, cx: &mut Context<'_>) -> Result {
    let batch = name(&it.batch)?;
    let test = it.test.unwrap_or(0);
    let mut exit = Exit::Success;
    for round in 0..it.repeat {
        if round != 0 {
            cx.wait(Duration::from_secs(it.delay.into()));
        }
        let command = Command::QueryBatch { batch: batch.clone(), test, timeout: it.timeout };
        let outcome = cx.transact(command)?;
        exit = Exit::of(&outcome);
        if cx.json(&outcome)? {
            continue;
        }
        if it.active || it.idle || it.error || it.all {
            for node in outcome.nodes.iter().filter(|node| is_shown(it, node)) {
                cx.say(&format!("{} [{}]: {}", node.id, node.state.word(), state(node)))?;
            }
        } else {
            cx.say(&summary(&it.batch, test, Counts::of(&outcome)))?;
        }
    }
    Ok(exit)
}

/// The number of nodes in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) running: usize,
    pub(super) idle: usize,
    /// Nodes that refused the query; they count as idle too.
    pub(super) failed: usize,
    /// Nodes that did not answer.
    pub(super) unknown: usize,
}

impl Counts {
    pub(super) fn of(outcome: &TransactionResult) -> Self {
        let mut counts = Self::default();
        for node in &outcome.nodes {
            match running(node) {
                None => counts.unknown += 1,
                Some(true) => counts.running += 1,
                Some(false) => counts.idle += 1,
            }
            if !node.accepted && running(node).is_some() {
                counts.failed += 1;
            }
        }
        counts
    }
}

/// Whether the node runs a test; `None`: it did not respond.
fn running(node: &NodeResult) -> Option<bool> {
    match &node.reply {
        RpcResult::Failed(_) => None,
        RpcResult::Responded { said: ReplyContent::Running(active), status: 0, .. } => Some(*active != 0),
        RpcResult::Responded { .. } => Some(false),
    }
}

fn is_shown(it: &cli::Query, node: &NodeResult) -> bool {
    it.all
        || it.active && running(node) == Some(true)
        || it.idle && running(node) == Some(false)
        || it.error && !node.accepted && running(node).is_some()
}

fn state(node: &NodeResult) -> String {
    match (&node.reply, running(node)) {
        (RpcResult::Responded { status: 0, .. }, Some(true)) => "Running".to_owned(),
        (RpcResult::Responded { status: 0, .. }, _) => "Idle".to_owned(),
        (RpcResult::Responded { status, .. }, _) => error_text(i64::from(*status)),
        (RpcResult::Failed(errno), _) => error_text(i64::from(*errno)),
    }
}

fn summary(batch: &str, test: u32, counts: Counts) -> String {
    let Counts { running, idle, failed, unknown } = counts;
    let begin = format!("{batch} [{test}] ");
    if unknown == 0 && failed == 0 && idle == 0 && running != 0 {
        return begin + "is running";
    }
    if unknown == 0 && failed == 0 && running == 0 {
        return begin + "is stopped";
    }
    let total = running + idle + unknown;
    let unknown =
        if unknown == 0 { String::new() } else { format!("{unknown} of {total} nodes are unknown, ") };
    format!("{begin}{unknown}stopped: {idle} , running: {running}, failed: {failed}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_running_or_stopped_where_all_nodes_agree() {
        let counts = |running, idle, failed, unknown| Counts { running, idle, failed, unknown };
        let table = [
            (counts(2, 0, 0, 0), "b [0] is running"),
            (counts(0, 2, 0, 0), "b [0] is stopped"),
            (counts(0, 0, 0, 0), "b [0] is stopped"),
            (counts(1, 1, 0, 0), "b [0] stopped: 1 , running: 1, failed: 0"),
            (counts(0, 1, 1, 0), "b [0] stopped: 1 , running: 0, failed: 1"),
            (counts(1, 1, 1, 1), "b [0] 1 of 3 nodes are unknown, stopped: 1 , running: 1, failed: 1"),
        ];
        for (counts, expected) in table {
            assert_eq!(summary("b", 0, counts), expected);
        }
    }
}
