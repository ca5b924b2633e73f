//! Commands about batches: start, stop, query and show.

use super::{CommandId, Console, Session, WAIT};
use crate::console::call::{
    BatchInfo, Operation, ReplyContent, Response, RpcResult, TestInfo, TransactionResult,
};
use crate::console::name::Name;
use crate::console::refusal::{Object, Refusal};
use crate::console::rpc::RpcBody;
use crate::console::transaction::{Purpose, Transaction};
use std::time::Duration;

impl Console {
    pub(super) fn run_batch(
        &mut self,
        now: Duration,
        id: CommandId,
        name: Name,
        timeout: u32,
    ) -> Result<Option<Response>, Refusal> {
        let session = self.session.as_ref().ok_or(Refusal::NoSession)?;
        session.batch_is_free(&name)?;
        let batch = session.batches.get(&name)?;
        let (clients, number) = (batch.clients(), batch.number);
        if clients.is_empty() {
            return Err(Refusal::Invalid(format!("batch `{name}` has no test")));
        }
        session.all_active(&clients)?;
        let transaction = Transaction::new(Operation::Run, Purpose::Run(name), now, WAIT);
        let request = RpcBody::RunBatch { batch: number, timeout };
        self.post(now, id, transaction, clients.into_iter().map(|node| (node, request.clone())));
        Ok(None)
    }

    pub(super) fn stop_batch(
        &mut self,
        now: Duration,
        id: CommandId,
        name: Name,
        force: bool,
    ) -> Result<Option<Response>, Refusal> {
        let session = self.session.as_ref().ok_or(Refusal::NoSession)?;
        session.batch_is_free(&name)?;
        let batch = session.batches.get(&name)?;
        let (clients, number) = (session.active(&batch.clients()), batch.number);
        let transaction = Transaction::new(Operation::Stop, Purpose::Stop(name), now, WAIT);
        let request = RpcBody::StopBatch { batch: number, force };
        self.post(now, id, transaction, clients.into_iter().map(|node| (node, request.clone())));
        Ok(None)
    }

    /// Queries a batch. Nodes are asked for a test by their own number of it, which differs from the console's where they are
    /// not in all tests, or have two parts of one.
    pub(super) fn query_batch(
        &mut self,
        now: Duration,
        id: CommandId,
        name: Name,
        test: u32,
        timeout: u32,
    ) -> Result<Option<Response>, Refusal> {
        let session = self.session.as_ref().ok_or(Refusal::NoSession)?;
        let batch = session.batches.get(&name)?;
        let query = |test| RpcBody::QueryBatch { batch: batch.number, test };
        let (purpose, requests) = match test {
            0 => {
                let requests = batch.clients().into_iter().map(|node| (node, query(0))).collect();
                (Purpose::QueryAll(name.clone()), requests)
            }
            number => {
                let found = (number as usize).checked_sub(1).and_then(|at| batch.tests.get(at));
                let found = found.ok_or_else(|| Refusal::NotFound(Object::Test, number.to_string()))?;
                let known =
                    found.from.iter().filter_map(|node| Some((*node, batch.number_on(*node, number)?)));
                (Purpose::Ask, known.map(|(node, number)| (node, query(number))).collect::<Vec<_>>())
            }
        };
        let timeout = Duration::from_secs(timeout.into());
        self.post(now, id, Transaction::new(Operation::Query, purpose, now, timeout), requests);
        Ok(None)
    }
}

impl Session {
    pub(super) fn show_batch(&self, name: &Name) -> Result<Response, Refusal> {
        let batch = self.batches.get(name)?;
        let tests = batch.tests.iter().map(|test| TestInfo {
            test: test.test,
            repeat: test.repeat,
            concurrency: test.concurrency,
            clients: self.nodes.infos(&test.from),
            servers: self.nodes.infos(&test.to),
        });
        Ok(Response::Batch(BatchInfo {
            running: batch.running,
            tests: tests.collect(),
            clients: self.nodes.infos(&batch.clients()),
            servers: self.nodes.infos(&batch.servers()),
        }))
    }

    pub(super) fn delete_batch(&mut self, name: &Name) -> Result<Response, Refusal> {
        self.batch_is_free(name)?;
        self.batches.get(name)?;
        if *name == Name::default_batch() {
            return Err(Refusal::Invalid(format!("batch `{name}` is that of every session")));
        }
        self.batches.remove(name);
        self.groups.note_uses(|group| self.batches.use_group(group));
        Ok(Response::Done)
    }

    /// Notes that a batch was started: it runs if at least one node has started it.
    pub(super) fn has_run(&mut self, name: &Name, outcome: &TransactionResult) {
        let runs = outcome.nodes.iter().any(|node| node.accepted);
        if let (true, Ok(batch)) = (runs, self.batches.get_mut(name)) {
            batch.running = true;
        }
    }

    pub(super) fn has_stopped(&mut self, name: &Name, outcome: &TransactionResult) {
        if let (true, Ok(batch)) = (outcome.is_well(), self.batches.get_mut(name)) {
            batch.running = false;
        }
    }

    /// Notes the end of a batch that has ended by itself.
    pub(super) fn was_queried(&mut self, name: &Name, outcome: &TransactionResult) {
        let runs = |reply: &RpcResult| matches!(reply, RpcResult::Responded { said: ReplyContent::Running(active), .. } if *active != 0);
        let ended = outcome.failed_rpcs() == 0 && !outcome.nodes.iter().any(|node| runs(&node.reply));
        if let (true, Ok(batch)) = (ended, self.batches.get_mut(name)) {
            batch.running = false;
        }
    }

    fn batch_is_free(&self, name: &Name) -> Result<(), Refusal> {
        match self.transactions.values().any(|transaction| transaction.changes_batch(name)) {
            true => Err(Refusal::Changing(Object::Batch, name.to_string())),
            false => Ok(()),
        }
    }
}
