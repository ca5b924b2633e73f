//! A transaction: RPCs to several nodes at once, and one wait for all of them (lnet-selftest 12.1).

use super::call::{AddTest, NewSession, NodeResult, Operation, RpcResult, TransactionResult};
use super::name::Name;
use super::nodes::Nodes;
use super::rpc::{KNOWN_FEATURES, RpcId, RpcReply};
use lnet_wire::ProcessId;
use std::collections::BTreeMap;
use std::time::Duration;

/// The shortest timeout of a transaction.
const MIN_WAIT: Duration = Duration::from_secs(3);
/// The shortest timeout after which a node that did not answer counts as down.
const TELLING: Duration = Duration::from_secs(6);

/// The reason why a transaction ends before its replies have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Abort {
    /// The transaction has waited for its timeout.
    TimedOut,
    /// The caller of the command is gone.
    Interrupted,
    /// The session is ending.
    Shutdown,
}

#[derive(Debug)]
pub(super) struct Transaction {
    pub(super) operation: Operation,
    pub(super) purpose: Purpose,
    started: Duration,
    pub(super) deadline: Duration,
    timeout: Duration,
    rows: Vec<(ProcessId, Option<(RpcResult, bool)>)>,
    pending: BTreeMap<RpcId, usize>,
    /// The features of the first node that joined the session.
    pub(super) features: Option<u32>,
}

/// The action that follows the end of a transaction.
#[derive(Clone, Debug)]
pub(super) enum Purpose {
    /// No action follows.
    Ask,
    /// A group's nodes get the session.
    GiveSession(Name),
    /// These nodes are removed from a group.
    Remove(Name, Vec<ProcessId>),
    /// A group is deleted.
    Delete(Name),
    /// The session ends, and another one may begin.
    End(Option<(u32, NewSession)>),
    /// The servers of a test have accepted it; the clients are next.
    AddServers(Box<AddTest>),
    /// The test is complete.
    AddClients(Box<AddTest>),
    /// A batch has been started.
    Run(Name),
    /// A batch has been stopped.
    Stop(Name),
    /// All tests of a batch are queried.
    QueryAll(Name),
}

impl Transaction {
    pub(super) fn new(operation: Operation, purpose: Purpose, now: Duration, timeout: Duration) -> Self {
        let deadline = now.saturating_add(timeout.max(MIN_WAIT));
        let (rows, pending) = (Vec::new(), BTreeMap::new());
        Self { operation, purpose, started: now, deadline, timeout, rows, pending, features: None }
    }

    pub(super) fn add(&mut self, rpc: RpcId, node: ProcessId) {
        self.pending.insert(rpc, self.rows.len());
        self.rows.push((node, None));
    }

    pub(super) fn is_complete(&self) -> bool {
        self.pending.is_empty()
    }

    /// The node that an RPC was sent to, if the RPC is one of this transaction and has not ended.
    pub(super) fn node_of(&self, rpc: RpcId) -> Option<ProcessId> {
        self.pending.get(&rpc).and_then(|at| self.rows.get(*at)).map(|(node, _)| *node)
    }

    /// Records a reply, or the errno of the failure. `fixed`: the features of the session, if they are settled.
    pub(super) fn record(&mut self, rpc: RpcId, result: Result<RpcReply, i32>, fixed: Option<u32>) {
        let entry = match result {
            Err(errno) => (RpcResult::Failed(errno), false),
            Ok(mut reply) => {
                if self.operation == Operation::MakeSession && reply.status == 0 {
                    reply.status = self.features_fit(reply.features, fixed);
                }
                let RpcReply { status, session, said, .. } = reply;
                (RpcResult::Responded { status, session, said }, self.accepts(status))
            }
        };
        if let Some((_, row)) = self.pending.remove(&rpc).and_then(|at| self.rows.get_mut(at)) {
            *row = Some(entry);
        }
    }

    /// Returns the status for a node's features, EPROTO if they do not fit: the first node's become those of all
    /// (lnet-selftest 10).
    fn features_fit(&mut self, features: u32, fixed: Option<u32>) -> u32 {
        let expected = fixed.or(self.features).unwrap_or(features);
        if features & !KNOWN_FEATURES != 0 || features != expected {
            return libc::EPROTO.unsigned_abs();
        }
        self.features = Some(features);
        0
    }

    /// Whether a status is the expected one (lnet-selftest 12.3).
    fn accepts(&self, status: u32) -> bool {
        let is = |errno: i32| status == errno.unsigned_abs();
        match self.operation {
            Operation::Debug => true,
            Operation::RemoveSession => status == 0 || is(libc::ESRCH),
            Operation::Stop => status == 0 || is(libc::EPERM),
            _ => status == 0,
        }
    }

    /// Gives up the pending RPCs, and returns them. If the timeout was at least [`TELLING`], their nodes are down.
    pub(super) fn abort(&mut self, reason: Abort, nodes: &mut Nodes) -> Vec<RpcId> {
        let telling = reason == Abort::TimedOut && self.timeout >= TELLING;
        let errno = match reason {
            Abort::TimedOut if telling => libc::ETIMEDOUT,
            // The end of a short wait is reported as an interruption.
            Abort::TimedOut | Abort::Interrupted => libc::EINTR,
            Abort::Shutdown => libc::ESHUTDOWN,
        };
        let pending = std::mem::take(&mut self.pending);
        for at in pending.values() {
            if let Some((node, row)) = self.rows.get_mut(*at) {
                *row = Some((RpcResult::Failed(errno), false));
                if telling {
                    nodes.did_not_respond(*node, self.started);
                }
            }
        }
        pending.into_keys().collect()
    }

    /// Returns the result so far, with EINTR for RPCs without a reply.
    pub(super) fn outcome(&self, nodes: &Nodes, features: u32) -> TransactionResult {
        let row = |(id, result): &(ProcessId, Option<(RpcResult, bool)>)| {
            let unanswered = (RpcResult::Failed(libc::EINTR), false);
            let (reply, accepted) = result.clone().unwrap_or(unanswered);
            NodeResult { id: *id, state: nodes.state(*id), reply, accepted }
        };
        TransactionResult { operation: self.operation, nodes: self.rows.iter().map(row).collect(), features }
    }

    /// Whether the transaction changes this group.
    pub(super) fn changes_group(&self, name: &Name) -> bool {
        match &self.purpose {
            Purpose::GiveSession(group) | Purpose::Remove(group, _) | Purpose::Delete(group) => group == name,
            Purpose::AddServers(test) | Purpose::AddClients(test) => test.from == *name || test.to == *name,
            _ => false,
        }
    }

    /// Whether the transaction changes this batch.
    pub(super) fn changes_batch(&self, name: &Name) -> bool {
        match &self.purpose {
            Purpose::Run(batch) | Purpose::Stop(batch) => batch == name,
            Purpose::AddServers(test) | Purpose::AddClients(test) => test.batch == *name,
            _ => false,
        }
    }
}
