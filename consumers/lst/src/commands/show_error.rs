//! `lst show_error`

use crate::cli;
use crate::context::{Context, Exit, Result};
use lnet_selftest::console::Command;
use lnet_selftest::console::call::{Counters, NodeResult};
use serde::Serialize;

/// Seconds that nodes have.
const TIMEOUT: u32 = 10;

#[derive(Serialize)]
struct Errors<'a> {
    target: &'a str,
    error_nodes: usize,
    nodes: &'a [NodeResult],
}

pub(super) fn show_error(it: &cli::ShowError, cx: &mut Context<'_>) -> Result {
    let mut exit = Exit::Success;
    for target in &it.targets {
        let command = Command::Stat { target: cx.target(target)?, timeout: TIMEOUT };
        let outcome = cx.transact(command)?;
        let count = outcome.nodes.iter().filter(|node| is_error(node, !it.session)).count();
        if cx.json(&Errors { target, error_nodes: count, nodes: &outcome.nodes })? {
            exit = match Exit::of(&outcome) {
                Exit::Success => exit,
                failed => failed,
            };
            continue;
        }
        cx.say(&format!("{target}:"))?;
        for node in &outcome.nodes {
            if let Some(counters) = node.counters().filter(|counters| counters.has_errors(!it.session)) {
                writeln!(cx.err, "{}: {}", node.id, line(counters, !it.session))?;
            }
        }
        exit = match cx.report(&outcome)? {
            Exit::Success => exit,
            failed => failed,
        };
        cx.say(&format!("Total {count} error nodes in {target}"))?;
    }
    Ok(exit)
}

/// Whether a node counts as one with errors. A node that did not answer does.
fn is_error(node: &NodeResult, rpc: bool) -> bool {
    node.counters().is_none_or(|counters| counters.has_errors(rpc))
}

fn line(counters: &Counters, rpc: bool) -> String {
    let Counters { brw_errors, ping_errors, rpc_errors, rpcs_dropped, rpcs_expired, .. } = counters;
    let session = format!("[Session {brw_errors} brw errors, {ping_errors} ping errors]");
    match rpc {
        true => {
            format!("{session} [RPC: {rpc_errors} errors, {rpcs_dropped} dropped, {rpcs_expired} expired]")
        }
        false => session,
    }
}
