//! Import of files of configuration: `lnetctl import`, `lustre_yaml_*`.

pub(crate) mod adding;
mod checking;
mod complete_peers;
mod deleting;
mod gateways;
mod showing;

use crate::model::{Block, DiscoverItem, Item, PingItem};
use crate::report::{Operation, Report, SeqNo};
use crate::request::Backend;
use crate::yaml::{Problem, Purpose, read};
use crate::{ReturnCode, Value, ops};

/// The text of a file, and its name for messages.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The file's name; `stdin` for standard input.
    pub name: &'a str,
    /// The whole text of the file.
    pub text: &'a str,
}

/// Reads the file and adds, deletes, shows or carries out its items, as `purpose` says (dlc 2.13). If the file has a problem
/// nothing is done. Blocks and items are processed in their order, except that gateways with several NIDs are added before
/// the routes that use them, and nets are deleted last. An item that fails does not stop the others; the last failure is the
/// result. `lustre_yaml_config`, `_del`, `_show`, `_exec`.
///
/// Pings and discoveries are carried out by [`Purpose::Exec`] only: to add items and carry these out, import twice.
pub fn import(
    backend: &dyn Backend,
    source: Source<'_>,
    purpose: Purpose,
    report: &mut Report,
) -> ReturnCode {
    let document = match read(source.text, purpose) {
        Ok(document) => document,
        Err(problems) => {
            let changes = matches!(purpose, Purpose::Add | Purpose::Del);
            let end = if changes { "; nothing of this file is in force" } else { "" };
            return report_problems(source.name, purpose, &problems, end, report);
        }
    };
    let apply = match purpose {
        Purpose::Add => adding::add,
        Purpose::Del => deleting::del,
        Purpose::Show => showing::show,
        Purpose::Exec => exec,
    };
    let blocks = match purpose {
        Purpose::Add => gateways::before_routes(document.blocks),
        Purpose::Del => nets_last(document.blocks),
        Purpose::Show | Purpose::Exec => document.blocks,
    };
    let results = blocks.iter().map(|block| apply(backend, block, report));
    last_failure(results.collect::<Vec<_>>())
}

/// Returns the changes that importing the file would make, and makes none: against the configuration of `backend`,
/// or against an empty one. Problems of the file are reported as [`import`] reports them.
///
/// The value has one key, `check`, with a sequence of changes, each a word and the object: `add`,
/// `set`, `remove`, `conflict` (would be refused), `skip` (this machine does not have it), `run` (a ping or
/// a discovery). Items that are in force already are left out; the sequence is empty if there is nothing to change.
///
/// The result is the last refusal, which is reported as the import would report it.
pub fn check(backend: Option<&dyn Backend>, source: Source<'_>, report: &mut Report) -> (ReturnCode, Value) {
    match read(source.text, Purpose::Add) {
        Ok(document) => checking::check(backend, document, report),
        Err(problems) => (report_problems(source.name, Purpose::Add, &problems, "", report), Value::map()),
    }
}

/// Whether the file has anything to import: if not, [`ReturnCode::BAD_PARAM`], which is reported. The import of such a file
/// succeeds, as at the start of a machine whose configuration is empty; for a check of the file it is probably a mistake.
pub fn names_something(source: Source<'_>, report: &mut Report) -> ReturnCode {
    match read(source.text, Purpose::Add) {
        Ok(document) if document.blocks.is_empty() => {
            let text = format!("{}: there is nothing in it to import", source.name);
            report.end(Operation::Yaml, "builder", SeqNo::NONE, ReturnCode::BAD_PARAM, text)
        }
        // Errors in the file are reported by its check.
        Ok(_) | Err(_) => ReturnCode::OK,
    }
}

/// Moves nets to the end. When a net is deleted the node forgets the routes and peers on it, so these are deleted before.
fn nets_last(blocks: Vec<Block>) -> Vec<Block> {
    let (nets, mut others): (Vec<_>, Vec<_>) =
        blocks.into_iter().partition(|block| matches!(block, Block::Net(_)));
    others.extend(nets);
    others
}

/// Reports every problem, with the file's name before its place, and `end` after the last one. The code of the last one is the
/// result.
pub(crate) fn report_problems(
    name: &str,
    purpose: Purpose,
    problems: &[Problem],
    end: &str,
    report: &mut Report,
) -> ReturnCode {
    let results = problems.iter().enumerate().map(|(index, problem)| {
        let (operation, entity) = reported_as(problem.block, purpose);
        let end = if index + 1 == problems.len() { end } else { "" };
        report.end(operation, entity, problem.seq_no, problem.rc, format_args!("{name}:{problem}{end}"))
    });
    last_failure(results.collect::<Vec<_>>())
}

/// The operation and the word under which errors of a block are reported (dlc 1.5), with their irregularities.
fn reported_as(block: Option<&'static str>, purpose: Purpose) -> (Operation, &'static str) {
    let Some(block) = block else { return (Operation::Yaml, "builder") };
    let operation = match purpose {
        Purpose::Add => Operation::Add,
        Purpose::Del => Operation::Del,
        Purpose::Show => Operation::Show,
        Purpose::Exec => Operation::Manage,
    };
    match (block, purpose) {
        ("peer", Purpose::Add) => (Operation::Peer, "add"),
        ("peer", Purpose::Del) => (Operation::Peer, "del"),
        ("ping" | "discover", _) => (Operation::Manage, block),
        ("buffers", _) => (operation, "buf"),
        ("udsp", Purpose::Del) => (Operation::Add, "udsp"),
        ("ip2nets", _) => (Operation::Add, "ip2nets"),
        _ => (operation, block),
    }
}

/// The last of several results that is a failure.
pub(crate) fn last_failure(results: impl IntoIterator<Item = ReturnCode>) -> ReturnCode {
    results.into_iter().filter(|rc| !rc.is_ok()).last().unwrap_or(ReturnCode::OK)
}

/// Processes every item; the last failure is the result.
fn each<T>(items: &[Item<T>], mut one: impl FnMut(&T, SeqNo) -> ReturnCode) -> ReturnCode {
    items.iter().fold(ReturnCode::OK, |before, item| one(&item.it, item.seq_no).or(before))
}

fn exec(backend: &dyn Backend, block: &Block, report: &mut Report) -> ReturnCode {
    match block {
        Block::Ping(items) => each(items, |PingItem { target, timeout_ms, source }, seq_no| {
            let timeout_ms = timeout_ms.map_or(1000, |timeout| i32::try_from(timeout).unwrap_or(i32::MAX));
            let source = source.map(|nid| nid.to_string());
            ops::ping::ping(backend, &target.to_string(), source.as_deref(), timeout_ms, seq_no, report)
        }),
        Block::Discover(items) => each(items, |DiscoverItem { target, force }, seq_no| {
            ops::ping::discover(backend, &target.to_string(), *force, seq_no, report)
        }),
        _ => ReturnCode::OK,
    }
}

#[cfg(test)]
pub(crate) mod memory;
#[cfg(test)]
mod tests;
