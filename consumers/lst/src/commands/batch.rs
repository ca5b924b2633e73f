//! `lst add_batch`, `run`, `stop`, `list_batch`

use super::group::list_names;
use super::{name, query};
use crate::cli;
use crate::context::{CommandFailure, Context, Exit, Result, unexpected};
use crate::live;
use crate::output::{STATES, node_lines, state_counts};
use lnet_selftest::console::call::{BatchInfo, NodeInfo, NodeState};
use lnet_selftest::console::{Command, Name, Response};
use std::time::Duration;

/// Numbers by which the states of a batch are printed (lnet-selftest 1).
const IDLE: u32 = 176;
const RUNNING: u32 = 177;
/// Seconds that nodes have to answer which tests still run.
const STOP_TIMEOUT: u32 = 30;
const SECOND: Duration = Duration::from_secs(1);
/// The time in which a client whose RPCs are answered has usually ended its test.
const FIRST_STEP: Duration = Duration::from_millis(10);

pub(super) fn add(it: &cli::AddBatch, cx: &mut Context<'_>) -> Result {
    cx.call(Command::AddBatch { batch: name(&it.batch)? })?;
    cx.json_of_nothing()?;
    Ok(Exit::Success)
}

pub(super) fn run(it: &cli::Run, cx: &mut Context<'_>) -> Result {
    let batch = name(&it.batch)?;
    let outcome = cx.transact(Command::RunBatch { batch: batch.clone(), timeout: it.timeout })?;
    cx.json(&outcome)?;
    let exit = cx.report(&outcome)?;
    if exit != Exit::Success {
        return Ok(exit);
    }
    if it.live {
        live::watch(cx, &batch, it.interval, None)?;
    } else {
        cx.say(&format!("{batch} is running now"))?;
    }
    Ok(Exit::Success)
}

pub(super) fn stop(it: &cli::Stop, cx: &mut Context<'_>) -> Result {
    let batch = name(&it.batch)?;
    let outcome = cx.transact(Command::StopBatch { batch: batch.clone(), force: it.force })?;
    let exit = cx.report(&outcome)?;
    if exit == Exit::Success {
        until_quiet(cx, &batch, true)?;
        cx.say("Batch is stopped")?;
    }
    cx.json(&outcome)?;
    Ok(exit)
}

/// Waits until no client runs a test: RPCs in flight are not aborted. `tells`: prints the number of nodes that still run one,
/// every second. Otherwise it asks again sooner at first.
pub(super) fn until_quiet(cx: &mut Context<'_>, batch: &Name, tells: bool) -> Result<()> {
    let mut step = if tells { SECOND } else { FIRST_STEP };
    loop {
        let query = Command::QueryBatch { batch: batch.clone(), test: 0, timeout: STOP_TIMEOUT };
        let outcome = cx.transact(query)?;
        match query::Counts::of(&outcome).running {
            0 => return Ok(()),
            running if tells => cx.say(&format!("{running} batch in stopping"))?,
            _ => {}
        }
        cx.wait(step);
        step = (2 * step).min(SECOND);
    }
}

pub(super) fn list(it: &cli::ListBatch, cx: &mut Context<'_>) -> Result {
    let Some(batch) = &it.batch else { return list_names(cx, Command::ListBatches, "batches") };
    let batch = name(batch)?;
    let info = match cx.call(Command::ShowBatch { batch: batch.clone() })? {
        Response::Batch(info) => info,
        other => return Err(unexpected(&other)),
    };
    if cx.json(&info)? {
        return Ok(Exit::Success);
    }
    let test = match it.test {
        None => None,
        Some(number) => {
            let at = (number as usize).checked_sub(1).filter(|at| *at < info.tests.len());
            Some(at.ok_or_else(|| {
                CommandFailure::Usage(format!("there is no test {number} in batch `{batch}`"))
            })?)
        }
    };
    if it.active || it.invalid || it.all {
        return list_nodes(it, test, &info, cx);
    }
    if test.is_none() {
        let state = if info.running { RUNNING } else { IDLE };
        cx.say(&format!("Batch: {batch} Tests: {} State: {state}", info.tests.len()))?;
        say_counts(cx, &info.clients, &info.servers)?;
    }
    for (at, one) in info.tests.iter().enumerate().filter(|(at, _)| test.is_none_or(|test| test == *at)) {
        let (kind, repeat, concurrency) = (one.test, one.repeat, one.concurrency);
        cx.say(&format!("\tTest {}({kind}) (loop: {repeat}, concurrency: {concurrency})", at + 1))?;
        say_counts(cx, &one.clients, &one.servers)?;
    }
    Ok(Exit::Success)
}

fn say_counts(cx: &mut Context<'_>, clients: &[NodeInfo], servers: &[NodeInfo]) -> Result<()> {
    cx.say(STATES)?;
    cx.say(&format!("client\t{}", state_counts(clients)))?;
    cx.say(&format!("server\t{}", state_counts(servers)))
}

fn list_nodes(it: &cli::ListBatch, test: Option<usize>, info: &BatchInfo, cx: &mut Context<'_>) -> Result {
    let of_test = test.and_then(|at| info.tests.get(at));
    let (clients, servers) =
        of_test.map_or((&info.clients, &info.servers), |test| (&test.clients, &test.servers));
    let is_shown = |node: &&NodeInfo| match node.state {
        NodeState::Active => it.active || it.all,
        _ => it.invalid || it.all,
    };
    let nodes: Vec<NodeInfo> =
        if it.server { servers } else { clients }.iter().filter(is_shown).copied().collect();
    for line in node_lines(&nodes) {
        cx.say(&line)?;
    }
    cx.say(&format!("Total {} nodes", nodes.len()))?;
    Ok(Exit::Success)
}
