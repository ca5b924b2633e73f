//! The state of the live view: collects the answers of nodes into rows.

use crate::commands::stat::{Looks, Sample};
use crate::context::{Context, Result};
use lnet_selftest::console::call::{ReplyContent, RpcResult, Target, TransactionResult};
use lnet_selftest::console::rates::Rates;
use lnet_selftest::console::{Command, Name};
use lnet_wire::ProcessId;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// Seconds that nodes have, at least.
const TIMEOUT: u32 = 3;
/// The number of samples in a spark line.
const HISTORY: usize = 60;

/// The answers of a batch's nodes at one time.
#[derive(Clone, Debug)]
pub struct Look {
    /// The answers of the batch's clients about running tests.
    pub query: TransactionResult,
    /// The counters of the batch's clients.
    pub clients: TransactionResult,
    /// The counters of the batch's servers.
    pub servers: TransactionResult,
}

/// Asks the nodes of a batch.
pub fn look(cx: &mut Context<'_>, batch: &Name) -> Result<Look> {
    let target = |server| Target::Batch { batch: batch.clone(), server };
    Ok(Look {
        query: cx.transact(Command::QueryBatch { batch: batch.clone(), test: 0, timeout: TIMEOUT })?,
        clients: cx.transact(Command::Stat { target: target(false), timeout: TIMEOUT })?,
        servers: cx.transact(Command::Stat { target: target(true), timeout: TIMEOUT })?,
    })
}

/// A batch over time.
#[derive(Debug)]
pub struct Watch {
    /// The name of the batch.
    pub batch: Name,
    /// The time since the watch began.
    pub passed: Duration,
    /// Clients, then servers.
    pub rows: Vec<Row>,
    running: usize,
    unknown: usize,
    clients: Looks,
    servers: Looks,
    history: HashMap<(ProcessId, Role), VecDeque<f64>>,
}

/// The part of a node in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The node sends RPCs.
    Client,
    /// The node answers RPCs.
    Server,
}

/// A node.
#[derive(Clone, Debug)]
pub struct Row {
    /// The node's process ID.
    pub id: ProcessId,
    /// The node's part in the batch.
    pub role: Role,
    /// The node's rates; `None`: it did not respond, or only once so far.
    pub rates: Option<Rates>,
    /// Errors of tests in this session, and of RPCs since it began; `None`: it did not answer.
    pub errors: Option<u64>,
    /// The node's traffic in bytes per second at each sample, oldest first.
    pub history: Vec<f64>,
}

impl Watch {
    /// A watch of a batch, before the first sample.
    pub fn new(batch: Name) -> Self {
        let (clients, servers) = (Looks::default(), Looks::default());
        let (rows, history) = (Vec::new(), HashMap::new());
        Self { batch, passed: Duration::ZERO, rows, running: 0, unknown: 0, clients, servers, history }
    }

    /// Adds a sample: the replies of the nodes, received `passed` after the start of the watch.
    pub fn add(&mut self, look: Look, passed: Duration) {
        self.passed = passed;
        let reply = |running: bool| {
            move |reply: &RpcResult| match reply {
                RpcResult::Responded { said: ReplyContent::Running(active), .. } => running && *active != 0,
                RpcResult::Responded { .. } => false,
                RpcResult::Failed(_) => !running,
            }
        };
        let count =
            |is: &dyn Fn(&RpcResult) -> bool| look.query.nodes.iter().filter(|it| is(&it.reply)).count();
        (self.running, self.unknown) = (count(&reply(true)), count(&reply(false)));
        let clients = self.clients.add(&look.clients);
        let servers = self.servers.add(&look.servers);
        self.rows.clear();
        self.add_rows(&look.clients, &clients, Role::Client);
        self.add_rows(&look.servers, &servers, Role::Server);
    }

    fn add_rows(&mut self, outcome: &TransactionResult, sample: &Sample, role: Role) {
        let rates: HashMap<ProcessId, Rates> = sample.nodes.iter().copied().collect();
        for node in &outcome.nodes {
            let rates = rates.get(&node.id).copied();
            let history = self.history.entry((node.id, role)).or_default();
            // Bytes per second; 0 for a node without rates.
            let traffic = rates.map_or(0.0, |it| it.sent_bytes + it.received_bytes);
            history.push_back(traffic);
            if history.len() > HISTORY {
                history.pop_front();
            }
            let errors = node.counters().map(|it| {
                [it.brw_errors, it.ping_errors, it.rpc_errors, it.rpcs_dropped, it.rpcs_expired]
                    .into_iter()
                    .map(u64::from)
                    .sum()
            });
            let history = history.iter().copied().collect();
            self.rows.push(Row { id: node.id, role, rates, errors, history });
        }
    }

    /// Whether a client runs something, or may.
    pub fn is_running(&self) -> bool {
        self.running + self.unknown != 0
    }

    /// Returns the number of clients that run a test, and of those that did not respond.
    pub fn clients(&self) -> (usize, usize) {
        (self.running, self.unknown)
    }

    /// The sum of a rate over the nodes of a role.
    pub fn sum(&self, role: Role, of: impl Fn(&Rates) -> f64) -> f64 {
        self.rows.iter().filter(|row| row.role == role).filter_map(|row| row.rates.as_ref()).map(of).sum()
    }
}
