//! The state of the console, which is changed by commands, replies and time.

mod add_test;
mod batches;
mod group;
mod join;
mod session;
mod targets;

use super::batches::Batches;
use super::call::{Call, Command, NodeState, Operation, Response, SessionNumber};
use super::groups::Groups;
use super::name::Name;
use super::nodes::Nodes;
use super::refusal::Refusal;
use super::rpc::{RpcBody, RpcId, RpcReply, RpcRequest};
use super::transaction::{Abort, Purpose, Transaction};
use lnet_wire::{Nid, ProcessId};
use std::collections::BTreeMap;
use std::time::Duration;

pub use join::JoinReply;

/// The timeout of most transactions.
const WAIT: Duration = Duration::from_secs(30);
/// The interval at which the console looks for nodes to ping.
const TICK: Duration = Duration::from_secs(8);

/// The number that identifies a command of the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u64);

/// An action that the host carries out for the console.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Send an RPC. Its reply goes to [`Console::handle_reply`].
    Post(RpcId, RpcRequest),
    /// Give the RPC up; its reply is not reported any more.
    Abort(RpcId),
    /// The response to a command, for its caller.
    Response(CommandId, Box<Result<Response, Refusal>>),
    /// The session has ended, and there is no other one.
    Ended,
}

/// The state of a console. Times are those of one monotonic clock, such as the time since the machine started.
#[derive(Debug, Default)]
pub struct Console {
    own_nid: Option<Nid>,
    session: Option<Session>,
    last_stamp: i64,
    last_rpc: u64,
    actions: Vec<Action>,
}

/// A session and all that belongs to it.
#[derive(Debug)]
struct Session {
    number: SessionNumber,
    key: u32,
    name: Name,
    idle_timeout: u32,
    force: bool,
    features: u32,
    /// Nodes have agreed to the features.
    features_fixed: bool,
    last_command: Duration,
    next_tick: Duration,
    is_ending: bool,
    nodes: Nodes,
    groups: Groups,
    batches: Batches,
    transactions: BTreeMap<CommandId, Transaction>,
    pings: BTreeMap<RpcId, ProcessId>,
}

impl Console {
    /// Sets the NID of the next session: the first one of the node that is not the loopback's.
    pub fn set_own_nid(&mut self, nid: Option<Nid>) {
        self.own_nid = nid;
    }

    /// Whether there is a session.
    pub fn has_session(&self) -> bool {
        self.session.is_some()
    }

    /// Starts a command. Its response is among the actions that this call or a later one returns.
    pub fn handle_command(&mut self, now: Duration, id: CommandId, call: Call) -> Vec<Action> {
        match self.start(now, id, call) {
            Ok(Some(response)) => self.respond(id, Ok(response)),
            Ok(None) => {}
            Err(refusal) => self.respond(id, Err(refusal)),
        }
        std::mem::take(&mut self.actions)
    }

    /// Handles the end of an RPC: its reply, or the positive errno of its failure.
    pub fn handle_reply(&mut self, now: Duration, rpc: RpcId, result: Result<RpcReply, i32>) -> Vec<Action> {
        let session = self.session.as_mut();
        if let Some(command) = session.and_then(|session| session.record_reply(now, rpc, result)) {
            self.proceed(now, command);
        }
        std::mem::take(&mut self.actions)
    }

    /// Ends a command whose caller does not wait for the response any more.
    pub fn handle_interruption(&mut self, now: Duration, id: CommandId) -> Vec<Action> {
        // A session that ends does so in any case.
        let ends = |transaction: &Transaction| matches!(transaction.purpose, Purpose::End(_));
        let transactions = self.session.as_ref().map(|session| &session.transactions);
        if transactions.and_then(|all| all.get(&id)).is_some_and(|transaction| !ends(transaction)) {
            self.abort(id, Abort::Interrupted);
            self.proceed(now, id);
        }
        std::mem::take(&mut self.actions)
    }

    /// Handles timeouts at the time `now`.
    pub fn handle_time(&mut self, now: Duration) -> Vec<Action> {
        let Some(session) = &mut self.session else { return Vec::new() };
        let is_over =
            |(id, transaction): (&CommandId, &Transaction)| (transaction.deadline <= now).then_some(*id);
        let over: Vec<_> = session.transactions.iter().filter_map(is_over).collect();
        for id in over {
            self.abort(id, Abort::TimedOut);
            self.proceed(now, id);
        }
        self.tick(now);
        std::mem::take(&mut self.actions)
    }

    /// The time at which [`Console::handle_time`] is to be called next; `None`: not before a command.
    pub fn next_time(&self) -> Option<Duration> {
        let session = self.session.as_ref()?;
        let deadlines = session.transactions.values().map(|transaction| transaction.deadline);
        let tick = (!session.is_ending).then_some(session.next_tick);
        deadlines.chain(tick).min()
    }

    fn respond(&mut self, id: CommandId, response: Result<Response, Refusal>) {
        self.actions.push(Action::Response(id, Box::new(response)));
    }

    /// Carries a command out as far as that is possible at once; `None`: its response comes later.
    fn start(&mut self, now: Duration, id: CommandId, call: Call) -> Result<Option<Response>, Refusal> {
        let Call { key, command } = call;
        match command {
            Command::NewSession(new) => return self.new_session(now, id, key, new),
            Command::ShowSession => return self.show_session().map(Some),
            _ => {}
        }
        let session = self.session.as_mut().ok_or(Refusal::NoSession)?;
        if session.key != key {
            return Err(Refusal::WrongKey);
        }
        if session.is_ending {
            return Err(Refusal::ShuttingDown);
        }
        session.last_command = now;
        match command {
            Command::NewSession(_) | Command::ShowSession => Ok(None),
            Command::EndSession => self.end_session(now, id, None),
            Command::AddGroup { group } => session.groups.add(group).map(|()| Some(Response::Done)),
            Command::AddNodes { group, nids } => self.add_nodes(now, id, group, &nids),
            Command::RefreshGroup { group } => self.refresh_group(now, id, group),
            Command::CleanGroup { group, states } => session.clean_group(&group, &states).map(Some),
            Command::RemoveNodes { group, nids } => self.remove_nodes(now, id, group, &nids),
            Command::DeleteGroup { group } => self.delete_group(now, id, group),
            Command::ListGroups => Ok(Some(Response::Names(session.groups.names()))),
            Command::ShowGroup { group } => {
                let group = session.groups.get(&group)?;
                Ok(Some(Response::Nodes(session.nodes.infos(&group.nodes))))
            }
            Command::Ping { target, timeout } => self.ping(now, id, &target, timeout),
            Command::Stat { target, timeout } => self.stat(now, id, &target, timeout),
            Command::AddBatch { batch } => session.batches.add(batch).map(|()| Some(Response::Done)),
            Command::AddTest(test) => self.add_test(now, id, test),
            Command::RunBatch { batch, timeout } => self.run_batch(now, id, batch, timeout),
            Command::StopBatch { batch, force } => self.stop_batch(now, id, batch, force),
            Command::QueryBatch { batch, test, timeout } => self.query_batch(now, id, batch, test, timeout),
            Command::DeleteBatch { batch } => session.delete_batch(&batch).map(Some),
            Command::ListBatches => Ok(Some(Response::Names(session.batches.names()))),
            Command::ShowBatch { batch } => session.show_batch(&batch).map(Some),
        }
    }

    /// Posts a transaction; its response comes when it ends.
    fn post(
        &mut self,
        now: Duration,
        id: CommandId,
        mut transaction: Transaction,
        requests: impl IntoIterator<Item = (ProcessId, RpcBody)>,
    ) {
        let Some(session) = &mut self.session else { return };
        for (to, body) in requests {
            self.last_rpc += 1;
            let rpc = RpcId(self.last_rpc);
            transaction.add(rpc, to);
            let (session, features) = (session.number, session.features);
            self.actions.push(Action::Post(rpc, RpcRequest { to, session, features, body }));
        }
        session.transactions.insert(id, transaction);
        self.proceed(now, id);
    }

    fn abort(&mut self, id: CommandId, reason: Abort) {
        let Some(session) = &mut self.session else { return };
        if let Some(transaction) = session.transactions.get_mut(&id) {
            let pending = transaction.abort(reason, &mut session.nodes);
            self.actions.extend(pending.into_iter().map(Action::Abort));
        }
    }

    /// Carries out the action that follows a transaction, if the transaction is complete.
    fn proceed(&mut self, now: Duration, id: CommandId) {
        let Some(session) = &mut self.session else { return };
        if !session.transactions.get(&id).is_some_and(Transaction::is_complete) {
            return;
        }
        let Some(transaction) = session.transactions.remove(&id) else { return };
        if transaction.operation == Operation::MakeSession {
            session.settle_features(&transaction);
        }
        let outcome = transaction.outcome(&session.nodes, session.features);
        match transaction.purpose {
            Purpose::Ask | Purpose::GiveSession(_) => {}
            Purpose::Remove(group, nodes) => session.drop_nodes(&group, &nodes),
            Purpose::Delete(group) => session.drop_group(&group),
            Purpose::End(next) => return self.ended(now, id, next),
            Purpose::AddServers(test) => {
                session.record_servers(&test, &outcome);
                if outcome.is_well() {
                    return self.add_clients(now, id, test);
                }
            }
            Purpose::AddClients(test) => session.record_test(*test, &outcome),
            Purpose::Run(batch) => session.has_run(&batch, &outcome),
            Purpose::Stop(batch) => session.has_stopped(&batch, &outcome),
            Purpose::QueryAll(batch) => session.was_queried(&batch, &outcome),
        }
        self.respond(id, Ok(Response::Outcome(outcome)));
    }
}

impl Session {
    /// Records a reply: the state of its node, and its result in the transaction. Returns the command whose transaction it is,
    /// if any.
    fn record_reply(
        &mut self,
        now: Duration,
        rpc: RpcId,
        result: Result<RpcReply, i32>,
    ) -> Option<CommandId> {
        let pinged = self.pings.remove(&rpc);
        if let Some(node) = pinged.and_then(|id| self.nodes.get_mut(id)) {
            node.is_pinged = false;
        }
        let found = self.transactions.iter().find_map(|(id, it)| Some((*id, it.node_of(rpc)?)));
        let node = pinged.or_else(|| found.map(|(_, node)| node))?;
        if let Ok(reply) = &result {
            self.nodes.heard(now, node, reply.session, self.number);
        }
        let (id, node) = found?;
        let transaction = self.transactions.get_mut(&id)?;
        let takes = transaction.operation == Operation::MakeSession;
        if takes
            && let Ok(RpcReply {
                status: 0, said: super::call::ReplyContent::Session { timeout, .. }, ..
            }) = &result
            && let Some(node) = self.nodes.get_mut(node)
        {
            node.timeout = *timeout;
        }
        transaction.record(rpc, result, self.features_fixed.then_some(self.features));
        Some(id)
    }

    fn active(&self, nodes: &[ProcessId]) -> Vec<ProcessId> {
        nodes.iter().copied().filter(|node| self.nodes.is_active(*node)).collect()
    }

    /// Refuses the command if one of these nodes is not active; the refusal names the first.
    fn all_active(&self, nodes: &[ProcessId]) -> Result<(), Refusal> {
        let other = nodes.iter().find(|node| self.nodes.state(**node) != NodeState::Active);
        other.map_or(Ok(()), |node| Err(Refusal::NotActive(*node)))
    }
}
