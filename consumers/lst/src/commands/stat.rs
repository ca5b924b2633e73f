//! `lst stat`

use crate::cli;
use crate::context::{Context, Exit, Result};
use lnet_selftest::console::Command;
use lnet_selftest::console::call::{Counters, Target, TransactionResult};
use lnet_selftest::console::rates::{Rates, Spread};
use lnet_wire::ProcessId;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

pub(super) fn stat(it: &cli::Stat, cx: &mut Context<'_>) -> Result {
    let mut targets = Vec::new();
    for text in &it.targets {
        targets.push((text.as_str(), cx.target(text)?, Looks::default()));
    }
    for (_, target, looks) in &mut targets {
        looks.add(&look(cx, target, it.timeout)?);
    }
    let mut blocks = 0;
    while it.count.is_none_or(|count| blocks < count) {
        cx.wait(Duration::from_secs(it.delay.into()));
        for (name, target, looks) in &mut targets {
            let outcome = look(cx, target, it.timeout)?;
            let sample = looks.add(&outcome);
            if !cx.json(&sample.of(name))? {
                if sample.failed != 0 {
                    writeln!(cx.err, "Failed to stat on {} nodes", sample.failed)?;
                }
                // Nothing is shown of RPCs, as by the kernel's tool.
                if it.lnet || !it.rpc {
                    write!(cx.out, "{}", text(it, name, &sample))?;
                    cx.out.flush()?;
                }
            }
        }
        blocks += 1;
    }
    Ok(Exit::Success)
}

fn look(cx: &mut Context<'_>, target: &Target, timeout: u32) -> Result<TransactionResult> {
    cx.transact(Command::Stat { target: target.clone(), timeout })
}

/// The last counters of each node.
#[derive(Debug, Default)]
pub struct Looks(HashMap<ProcessId, Counters>);

/// The rates of nodes between two samples of their counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// The rates of each node that answered both times.
    pub nodes: Vec<(ProcessId, Rates)>,
    /// Nodes that did not answer, or refused.
    pub failed: usize,
}

impl Looks {
    /// Adds a sample of the counters. Returns the rates since the previous sample.
    pub fn add(&mut self, outcome: &TransactionResult) -> Sample {
        let mut sample = Sample::default();
        for node in &outcome.nodes {
            let Some(after) = node.counters() else {
                sample.failed += 1;
                continue;
            };
            let before = self.0.insert(node.id, *after);
            let rates = before.and_then(|before| Rates::between(&before, after));
            sample.nodes.extend(rates.map(|rates| (node.id, rates)));
        }
        sample
    }
}

#[derive(Serialize)]
struct Json<'a> {
    target: &'a str,
    failed: usize,
    nodes: Vec<NodeJson>,
}

#[derive(Serialize)]
struct NodeJson {
    id: ProcessId,
    #[serde(flatten)]
    rates: Rates,
}

impl Sample {
    fn of<'a>(&self, target: &'a str) -> Json<'a> {
        let nodes = self.nodes.iter().map(|&(id, rates)| NodeJson { id, rates }).collect();
        Json { target, failed: self.failed, nodes }
    }

    /// Returns average, least and most of one rate over all nodes.
    pub fn spread(&self, of: impl Fn(&Rates) -> f64) -> Spread {
        Spread::of(self.nodes.iter().map(|(_, rates)| of(rates)))
    }

    /// Returns the sum of one rate over all nodes.
    pub fn sum(&self, of: impl Fn(&Rates) -> f64) -> f64 {
        self.nodes.iter().map(|(_, rates)| of(rates)).sum()
    }
}

/// Formats one block, in the kernel tool's form down to the blanks at the ends of lines (lnet-selftest 13.2).
fn text(it: &cli::Stat, name: &str, sample: &Sample) -> String {
    let (unit, bytes) = if it.mbs { ("MB/s", 1_000_000.0) } else { ("MiB/s", f64::from(1 << 20)) };
    // Data that clients read is sent by the servers.
    let (received, sent) = match (it.read, it.write) {
        (true, false) => (false, true),
        (false, true) => (true, false),
        _ => (true, true),
    };
    let mut text = String::new();
    if it.rate || !it.bw {
        let _ = writeln!(text, "[LNet Rates of {name}]");
        let mut line = |letter, spread| {
            let parts = columns(it, spread).map(|(word, value)| format!("{word}: {value:<8.0} RPC/s"));
            let _ = writeln!(text, "[{letter}] {}", parts.collect::<Vec<_>>().join(" "));
        };
        if received {
            line('R', sample.spread(|rates| rates.received));
        }
        if sent {
            line('W', sample.spread(|rates| rates.sent));
        }
    }
    if it.bw || !it.rate {
        let _ = writeln!(text, "[LNet Bandwidth of {name}]");
        let mut line = |letter, spread| {
            let parts =
                columns(it, spread).map(|(word, value)| format!("{word}: {:<8.2} {unit:<6}", value / bytes));
            let _ = writeln!(text, "[{letter}] {}", parts.collect::<String>());
        };
        if received {
            line('R', sample.spread(|rates| rates.received_bytes));
        }
        if sent {
            line('W', sample.spread(|rates| rates.sent_bytes));
        }
    }
    text
}

/// The columns that the options ask for; all of them if they ask for none.
fn columns(it: &cli::Stat, spread: Spread) -> impl Iterator<Item = (&'static str, f64)> {
    let all = !it.avg && !it.min && !it.max;
    let columns =
        [(it.avg, "Avg", spread.average), (it.min, "Min", spread.least), (it.max, "Max", spread.most)];
    columns.into_iter().filter(move |(is_wanted, ..)| *is_wanted || all).map(|(_, word, value)| (word, value))
}
