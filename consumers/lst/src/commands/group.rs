//! `lst add_group`, `del_group`, `update_group`, `list_group`

use super::{name, nids};
use crate::cli;
use crate::context::{CommandFailure, Context, Exit, Result, unexpected};
use crate::output::{STATES, node_lines, state_counts};
use lnet_selftest::console::call::{NodeInfo, NodeState, TransactionResult};
use lnet_selftest::console::{Command, Name, Response};
use serde::Serialize;

#[derive(Serialize)]
struct Group<'a> {
    group: &'a Name,
    nodes: &'a [NodeInfo],
}

pub(super) fn add(it: &cli::AddGroup, cx: &mut Context<'_>) -> Result {
    let group = name(&it.group)?;
    cx.call(Command::AddGroup { group: group.clone() })?;
    let (mut exit, mut is_kept) = (Exit::Success, false);
    for text in &it.nids {
        let nids = match nids::expand(text) {
            Ok(nids) => nids,
            Err(error) => {
                writeln!(cx.err, "{error}; it is left out")?;
                exit = Exit::Refused;
                continue;
            }
        };
        let outcome = cx.transact(Command::AddNodes { group: group.clone(), nids })?;
        cx.json(&outcome)?;
        match cx.report(&outcome)? {
            Exit::Success => {
                is_kept = true;
                cx.say(&format!("{text} are added to session"))?;
                warn_of_features(cx, &outcome)?;
            }
            failed => {
                exit = failed;
                break;
            }
        }
    }
    if !is_kept {
        // No part of the group remains.
        let _ = cx.transact(Command::DeleteGroup { group });
    }
    Ok(exit)
}

fn warn_of_features(cx: &mut Context<'_>, outcome: &TransactionResult) -> Result<()> {
    let missing = super::session::features(cx)? & !outcome.features;
    if missing != 0 {
        writeln!(
            cx.err,
            "the session is in compatible mode: without features {missing:x}, which nodes do not know"
        )?;
    }
    Ok(())
}

pub(super) fn delete(it: &cli::DelGroup, cx: &mut Context<'_>) -> Result {
    let outcome = cx.transact(Command::DeleteGroup { group: name(&it.group)? })?;
    cx.json(&outcome)?;
    let exit = cx.report(&outcome)?;
    if exit == Exit::Success {
        cx.say("Group is deleted")?;
    }
    Ok(exit)
}

pub(super) fn update(it: &cli::UpdateGroup, cx: &mut Context<'_>) -> Result {
    let group = name(&it.group)?;
    if let Some(state) = &it.clean {
        cx.call(Command::CleanGroup { group, states: states(state)? })?;
        cx.json_of_nothing()?;
        return Ok(Exit::Success);
    }
    let command = match &it.remove {
        Some(text) => {
            Command::RemoveNodes { group, nids: nids::expand(text).map_err(CommandFailure::Usage)? }
        }
        None => Command::RefreshGroup { group },
    };
    let outcome = cx.transact(command)?;
    cx.json(&outcome)?;
    cx.report(&outcome)
}

fn states(word: &str) -> Result<Vec<NodeState>> {
    let is_meant = |state: &NodeState| {
        word.eq_ignore_ascii_case(state.word())
            || word.eq_ignore_ascii_case("invalid") && *state != NodeState::Active
    };
    let states: Vec<_> = NodeState::ALL.into_iter().filter(is_meant).collect();
    match states.is_empty() {
        true => {
            Err(CommandFailure::Usage(format!("'{word}': it takes active, busy, down, unknown or invalid")))
        }
        false => Ok(states),
    }
}

pub(super) fn list(it: &cli::ListGroup, cx: &mut Context<'_>) -> Result {
    let flags = [it.active, it.busy, it.down, it.unknown];
    let chosen: Vec<NodeState> = NodeState::ALL
        .into_iter()
        .zip(flags)
        .filter(|(_, is_set)| *is_set || it.all)
        .map(|(state, _)| state)
        .collect();
    if it.groups.is_empty() {
        return list_names(cx, Command::ListGroups, "groups");
    }
    if chosen.is_empty() {
        cx.say(STATES)?;
    }
    for text in &it.groups {
        let group = name(text)?;
        let mut nodes = match cx.call(Command::ShowGroup { group: group.clone() })? {
            Response::Nodes(nodes) => nodes,
            other => return Err(unexpected(&other)),
        };
        if chosen.is_empty() {
            if !cx.json(&Group { group: &group, nodes: &nodes })? {
                cx.say(&format!("\t{}\t{group}", state_counts(&nodes)))?;
            }
            continue;
        }
        nodes.retain(|node| chosen.contains(&node.state));
        if cx.json(&Group { group: &group, nodes: &nodes })? {
        } else if nodes.is_empty() {
            cx.say(&format!("No nodes found [ {group} ]"))?;
        } else {
            cx.say(&format!("Group [ {group} ]"))?;
            for line in node_lines(&nodes) {
                cx.say(&line)?;
            }
            cx.say(&format!("Total {} nodes [ {group} ]", nodes.len()))?;
        }
    }
    Ok(Exit::Success)
}

/// Prints names as `1) NAME`, one a line, and their number.
pub(super) fn list_names(cx: &mut Context<'_>, command: Command, what: &str) -> Result {
    let names = match cx.call(command)? {
        Response::Names(names) => names,
        other => return Err(unexpected(&other)),
    };
    if !cx.json(&names)? {
        for (at, name) in names.iter().enumerate() {
            cx.say(&format!("{}) {name}", at + 1))?;
        }
        cx.say(&format!("Total {} {what}", names.len()))?;
    }
    Ok(Exit::Success)
}
