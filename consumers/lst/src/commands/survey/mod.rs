//! `lst survey`: session, a group for each node, a batch for each pair and test, result, and all is undone. With groups in place of NIDs the
//! session is the one that has them.

mod show;

use super::measuring::{self, error_count, pause, test_of};
use super::{batch, nids, session};
use crate::cli;
use crate::console::CallError;
use crate::context::{CommandFailure, Context, Exit, Result, unexpected};
use crate::output;
use crate::survey::Pair;
use crate::survey::plan::Plan;
use lnet_selftest::console::call::{AddTest, Counters, NodeResult, Target, TransactionResult};
use lnet_selftest::console::rates::Rates;
use lnet_selftest::console::{Command, Direction, Distribution, Name, Response, TestSpec};
use lnet_wire::Nid;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time for which a test runs before its measurement, so that connections exist.
const WARM_UP: Duration = Duration::from_millis(200);

/// The reason why a pair has no result, or one that is not to be relied on.
#[derive(Clone, Debug, PartialEq)]
struct Failure {
    text: String,
    exit: Exit,
}

/// The result of a pair.
#[derive(Clone, Debug, Default)]
struct PairResult {
    bytes_per_second: Option<f64>,
    pings_per_second: Option<f64>,
    failure: Option<Failure>,
}

/// The results of a survey.
#[derive(Debug, Default)]
struct Results {
    pairs: BTreeMap<Pair, PairResult>,
    /// The nodes that did not take the session. Their pairs have this failure, too.
    absent: BTreeMap<usize, Failure>,
}

/// The result of one test of one pair.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    bytes_per_second: f64,
    rpcs_per_second: f64,
    errors: u64,
}

pub(super) fn survey(it: &cli::Survey, cx: &mut Context<'_>) -> Result {
    let test = test_of(&it.test)?;
    let is_in_session = it.from.iter().chain(&it.to).any(|text| is_group(text));
    if is_in_session && it.force {
        let text = "groups are of a session, which says itself whether it takes nodes from others (new_session --force)";
        return Err(CommandFailure::Usage(text.to_owned()));
    }
    let from = expand(&it.from, cx)?;
    let to = if it.to.is_empty() { from.clone() } else { expand(&it.to, cx)? };
    let plan = Plan::new(&from, &to, it.at_once as usize);
    if plan.rounds.is_empty() {
        return Err(CommandFailure::Usage("there is no pair: it takes two nodes".to_owned()));
    }
    if is_in_session {
        let interrupted = session::interruption()?;
        // Others have other names in the session.
        let prefix = format!("survey{}.", std::process::id());
        let mut run = Run { it, test, plan: &plan, interrupted: &interrupted, prefix, batches: 0 };
        let results = run.measure(cx);
        run.undo(cx)?;
        return show::show(it, test, &plan, &results?, cx);
    }
    let seconds = u32::try_from(it.time.as_secs()).unwrap_or(u32::MAX);
    session::of_its_own("survey", seconds, it.force, cx, |cx, _, interrupted| {
        let mut run = Run { it, test, plan: &plan, interrupted, prefix: String::new(), batches: 0 };
        let results = run.measure(cx)?;
        show::show(it, test, &plan, &results, cx)
    })
}

/// Whether a text names a group of the session: each NID has an `@`.
fn is_group(text: &str) -> bool {
    !text.contains('@')
}

/// The NIDs of lists, and of the nodes of groups.
fn expand(texts: &[String], cx: &mut Context<'_>) -> Result<Vec<Nid>> {
    let mut all = Vec::new();
    for text in texts {
        if !is_group(text) {
            all.extend(nids::expand(text).map_err(CommandFailure::Usage)?);
            continue;
        }
        match cx.call(Command::ShowGroup { group: super::name(text)? })? {
            Response::Nodes(nodes) => all.extend(nodes.iter().map(|node| node.id.nid)),
            other => return Err(unexpected(&other)),
        }
    }
    Ok(all)
}

/// A survey under way.
struct Run<'a> {
    it: &'a cli::Survey,
    test: TestSpec,
    plan: &'a Plan,
    interrupted: &'a AtomicBool,
    /// The begin of the names of its groups and batches; empty in a session of its own.
    prefix: String,
    /// The number of batches that were made.
    batches: usize,
}

impl Run<'_> {
    fn measure(&mut self, cx: &mut Context<'_>) -> Result<Results> {
        let absent = self.add_nodes(cx)?;
        let mut results: BTreeMap<Pair, PairResult> = BTreeMap::new();
        for (at, round) in self.plan.rounds.iter().enumerate() {
            if cx.is_terminal && at != 0 {
                write!(cx.err, "\rround {at} of {}", self.plan.rounds.len())?;
                cx.err.flush()?;
            }
            for &pair in round {
                let failure = absent.get(&pair.from).or_else(|| absent.get(&pair.to)).cloned();
                results.insert(pair, PairResult { failure, ..PairResult::default() });
            }
            let tests: BTreeSet<bool> = [true, self.test == TestSpec::Ping].into();
            for is_ping in tests {
                let spec = if is_ping { TestSpec::Ping } else { self.test };
                let left: Vec<Pair> = round
                    .iter()
                    .copied()
                    .filter(|pair| results.get(pair).is_some_and(|result| result.failure.is_none()))
                    .collect();
                for (pair, reading) in left.iter().zip(self.round(spec, &left, cx)?) {
                    let result = results.entry(*pair).or_default();
                    match reading {
                        Ok(reading) => result.add(is_ping, reading),
                        Err(failure) => result.failure = Some(failure),
                    }
                }
            }
        }
        if cx.is_terminal {
            write!(cx.err, "\r{:40}\r", "")?;
        }
        Ok(Results { pairs: results, absent })
    }

    /// Gives the session to all nodes at once, and makes a group for each. Returns the nodes that did not take it.
    fn add_nodes(&self, cx: &mut Context<'_>) -> Result<BTreeMap<usize, Failure>> {
        let all = self.name("all")?;
        cx.call(Command::AddGroup { group: all.clone() })?;
        let outcome = cx.transact(Command::AddNodes { group: all, nids: self.plan.nodes.clone() })?;
        let mut absent = BTreeMap::new();
        for (at, nid) in self.plan.nodes.iter().enumerate() {
            match failure(&outcome, |node| node.id.nid == *nid) {
                Some(failure) => drop(absent.insert(at, failure)),
                None => {
                    let group = self.group(at)?;
                    cx.call(Command::AddGroup { group: group.clone() })?;
                    cx.transact(Command::AddNodes { group, nids: vec![*nid] })?;
                }
            }
        }
        Ok(absent)
    }

    /// Measures pairs at the same time with one test.
    fn round(
        &mut self,
        spec: TestSpec,
        pairs: &[Pair],
        cx: &mut Context<'_>,
    ) -> Result<Vec<std::result::Result<Reading, Failure>>> {
        let interrupted = || Failure { text: "not measured: interrupted".to_owned(), exit: Exit::RpcFailed };
        let mut started: Vec<std::result::Result<Name, Failure>> = Vec::new();
        for &pair in pairs {
            started.push(match self.interrupted.load(Ordering::Relaxed) {
                true => Err(interrupted()),
                false => self.start(spec, pair, cx)?,
            });
        }
        let running = pairs.iter().zip(&started).filter(|(_, batch)| batch.is_ok()).map(|(pair, _)| pair);
        let nodes: BTreeSet<usize> = running.flat_map(|pair| [pair.from, pair.to]).collect();
        let nids: Vec<Nid> = nodes.iter().filter_map(|at| self.plan.nodes.get(*at).copied()).collect();
        let samples = match nids.is_empty() {
            true => None,
            false => {
                pause(cx, WARM_UP, self.interrupted);
                let before = measuring::counters(cx, Target::Nodes(nids.clone()))?;
                pause(cx, self.it.time, self.interrupted);
                Some((before, measuring::counters(cx, Target::Nodes(nids.clone()))?))
            }
        };
        let mut readings = Vec::new();
        for (pair, batch) in pairs.iter().zip(started) {
            let reading = match (batch, &samples) {
                (Ok(batch), Some((before, after))) => {
                    let reading = self.reading(spec, *pair, before, after);
                    self.stop(&batch, reading.is_err(), cx)?;
                    reading
                }
                (Err(failure), _) => Err(failure),
                (Ok(_), None) => Err(interrupted()),
            };
            readings.push(reading);
        }
        Ok(readings)
    }

    /// Starts a test of a pair, as a batch of its own.
    fn start(
        &mut self,
        spec: TestSpec,
        pair: Pair,
        cx: &mut Context<'_>,
    ) -> Result<std::result::Result<Name, Failure>> {
        self.batches += 1;
        let batch = self.batch(self.batches)?;
        cx.call(Command::AddBatch { batch: batch.clone() })?;
        let concurrency = if spec == TestSpec::Ping { 1 } else { self.it.concurrency };
        let add = AddTest {
            batch: batch.clone(),
            from: self.group(pair.from)?,
            to: self.group(pair.to)?,
            concurrency,
            repeat: -1,
            distribution: Distribution::ONE_TO_ONE,
            test: spec,
        };
        for command in [Command::AddTest(add), Command::RunBatch { batch: batch.clone(), timeout: 0 }] {
            match cx.transact(command) {
                Ok(outcome) => {
                    if let Some(failure) = failure(&outcome, |_| true) {
                        return Ok(Err(failure));
                    }
                }
                // A node that has died meanwhile, or a parameter that the session's nodes do not support.
                Err(CommandFailure::Call(CallError::Refused(refusal))) => {
                    return Ok(Err(Failure { text: refusal.to_string(), exit: Exit::RpcFailed }));
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(Ok(batch))
    }

    /// The rates of a pair, by the counters of its server.
    fn reading(
        &self,
        spec: TestSpec,
        pair: Pair,
        before: &TransactionResult,
        after: &TransactionResult,
    ) -> std::result::Result<Reading, Failure> {
        let counters = |outcome: &TransactionResult, at: usize| -> std::result::Result<Counters, Failure> {
            let nid = self.plan.nodes.get(at);
            let found = outcome.nodes.iter().find(|node| Some(&node.id.nid) == nid);
            found.and_then(NodeResult::counters).copied().ok_or_else(|| {
                failure(outcome, |node| Some(&node.id.nid) == nid).unwrap_or_else(Failure::no_answer)
            })
        };
        let [client, server] =
            [pair.from, pair.to].map(|at| Ok([counters(before, at)?, counters(after, at)?]));
        let ([client_before, client_after], [server_before, server_after]) = (client?, server?);
        let rates = Rates::between(&server_before, &server_after).ok_or_else(Failure::no_answer)?;
        // The second question for the counters is an RPC as well.
        let rpcs = server_after.rpcs_received.wrapping_sub(server_before.rpcs_received).saturating_sub(1);
        if rpcs == 0 {
            return Err(Failure::no_answer());
        }
        let seconds = f64::from(server_after.running_ms.wrapping_sub(server_before.running_ms)) / 1000.0;
        let is_read = matches!(spec, TestSpec::Brw(brw) if brw.direction == Direction::Read);
        Ok(Reading {
            bytes_per_second: if is_read { rates.bulk_put } else { rates.bulk_got },
            rpcs_per_second: f64::from(rpcs) / seconds,
            errors: error_count(&client_after).saturating_sub(error_count(&client_before)),
        })
    }

    /// Removes its batches and groups from the session; those that it has not made are not found. Nodes that are in no other group leave
    /// the session.
    fn undo(&self, cx: &mut Context<'_>) -> Result<()> {
        let is_gone = |done: Result<Response>| match done {
            Ok(_) | Err(CommandFailure::Call(CallError::Refused(_))) => Ok(()),
            Err(failure) => Err(failure),
        };
        for number in 1..=self.batches {
            is_gone(cx.call(Command::DeleteBatch { batch: self.batch(number)? }))?;
        }
        for at in 0..self.plan.nodes.len() {
            is_gone(cx.call(Command::DeleteGroup { group: self.group(at)? }))?;
        }
        is_gone(cx.call(Command::DeleteGroup { group: self.name("all")? }))
    }

    fn name(&self, text: &str) -> Result<Name> {
        super::name(&format!("{}{text}", self.prefix))
    }

    /// The group of one node.
    fn group(&self, node: usize) -> Result<Name> {
        self.name(&format!("node{}", node + 1))
    }

    /// The batch with this number, from 1 on.
    fn batch(&self, number: usize) -> Result<Name> {
        self.name(&format!("pair{number}"))
    }

    /// Ends a batch. `force`: RPCs in flight, which may never be answered, are given up.
    fn stop(&self, batch: &Name, force: bool, cx: &mut Context<'_>) -> Result<()> {
        cx.transact(Command::StopBatch { batch: batch.clone(), force })?;
        batch::until_quiet(cx, batch, false)
    }
}

impl PairResult {
    fn add(&mut self, is_ping: bool, reading: Reading) {
        match is_ping {
            true => self.pings_per_second = Some(reading.rpcs_per_second),
            false => self.bytes_per_second = Some(reading.bytes_per_second),
        }
        if reading.errors != 0 {
            let text = format!("{} errors of the test", reading.errors);
            self.failure = Some(Failure { text, exit: Exit::NodeRefused });
        }
    }
}

impl Failure {
    fn no_answer() -> Self {
        Self { text: "no RPC of the test was answered".to_owned(), exit: Exit::RpcFailed }
    }
}

/// The first failure of a transaction among some of its nodes.
fn failure(outcome: &TransactionResult, is_meant: impl Fn(&NodeResult) -> bool) -> Option<Failure> {
    let nodes = outcome.nodes.iter().filter(|node| is_meant(node)).cloned().collect();
    let outcome = TransactionResult { nodes, ..*outcome };
    let text = output::failures(&outcome).into_iter().next()?;
    Some(Failure { text, exit: Exit::of(&outcome) })
}
