//! A test comes into a batch: first to its servers, then to its clients (lnet-selftest 12.6).

use super::{CommandId, Console, Session, WAIT};
use crate::console::batches::{Instance, Test};
use crate::console::call::{AddTest, Operation, Response, TransactionResult};
use crate::console::refusal::{Object, Refusal};
use crate::console::rpc::RpcBody;
use crate::console::test_spec::TestSpec;
use crate::console::transaction::{Purpose, Transaction};
use crate::wire::{Features, MAX_CONCURRENCY, SAFE_DESTINATIONS};
use std::time::Duration;

impl Console {
    pub(super) fn add_test(
        &mut self,
        now: Duration,
        id: CommandId,
        test: AddTest,
    ) -> Result<Option<Response>, Refusal> {
        let session = self.session.as_ref().ok_or(Refusal::NoSession)?;
        session.check_test(&test)?;
        let batch = session.batches.get(&test.batch)?.number;
        let from = session.groups.get(&test.from)?.nodes.len();
        let to = session.groups.get(&test.to)?.nodes.clone();
        let load = test.distribution.server_load(from, to.len(), test.concurrency);
        let (concurrency, spec) = (test.concurrency, test.test);
        let request = RpcBody::AddServer { batch, load, concurrency, test: spec };
        let purpose = Purpose::AddServers(Box::new(test));
        let transaction = Transaction::new(Operation::AddServer, purpose, now, WAIT);
        self.post(now, id, transaction, to.into_iter().map(|node| (node, request.clone())));
        Ok(None)
    }

    /// Sends a test to its clients, after all servers have accepted their parts.
    pub(super) fn add_clients(&mut self, now: Duration, id: CommandId, test: Box<AddTest>) {
        let Some(session) = &self.session else { return };
        let groups =
            (session.batches.get(&test.batch), session.groups.get(&test.from), session.groups.get(&test.to));
        let (Ok(batch), Ok(from), Ok(to)) = groups else { return };
        let request = |source: usize| {
            let places = test.distribution.destinations(source, to.nodes.len());
            RpcBody::AddClient {
                batch: batch.number,
                repeat: test.repeat,
                concurrency: test.concurrency,
                test: test.test,
                destinations: places.filter_map(|at| to.nodes.get(at).copied()).collect(),
            }
        };
        let requests: Vec<_> =
            from.nodes.iter().enumerate().map(|(source, node)| (*node, request(source))).collect();
        let transaction = Transaction::new(Operation::AddClient, Purpose::AddClients(test), now, WAIT);
        self.post(now, id, transaction, requests);
    }
}

impl Session {
    /// Checks a test completely before anything is sent: a server that has received its part keeps it.
    fn check_test(&self, test: &AddTest) -> Result<(), Refusal> {
        let invalid = |text: String| Err(Refusal::Invalid(text));
        let batch = self.batches.get(&test.batch)?;
        let (from, to) = (self.groups.get(&test.from)?, self.groups.get(&test.to)?);
        let changing = |group| self.transactions.values().any(|it| it.changes_group(group));
        if self.transactions.values().any(|it| it.changes_batch(&test.batch)) {
            return Err(Refusal::Changing(Object::Batch, test.batch.to_string()));
        }
        if let Some(group) = [&test.from, &test.to].into_iter().find(|group| changing(group)) {
            return Err(Refusal::Changing(Object::Group, group.to_string()));
        }
        if batch.running {
            return invalid(format!("batch `{}` is running", test.batch));
        }
        if test.repeat == 0 {
            return invalid("a loop of 0: it takes a number above 0, or one below 0 for no end".to_owned());
        }
        if !(1..=MAX_CONCURRENCY).contains(&test.concurrency) {
            return invalid(format!("concurrency {}: it takes 1 to {MAX_CONCURRENCY}", test.concurrency));
        }
        for group in [from, to] {
            if self.active(&group.nodes).is_empty() {
                return invalid(format!("group `{}` has no active node", group.name));
            }
        }
        let span = test.distribution.span.get() as usize;
        let most = to.nodes.len().min(SAFE_DESTINATIONS as usize);
        if span > most {
            return invalid(format!("a span of {span}: group `{}` can have at most {most}", test.to));
        }
        if let TestSpec::Brw(brw) = test.test
            && !Features(self.features).has_bulk_len()
            && brw.offset() != 0
        {
            return invalid("offsets: the nodes of this session do not know them".to_owned());
        }
        self.all_active(&to.nodes)?;
        self.all_active(&from.nodes)
    }

    pub(super) fn record_servers(&mut self, test: &AddTest, outcome: &TransactionResult) {
        if let Ok(batch) = self.batches.get_mut(&test.batch) {
            let taken = outcome.nodes.iter().filter(|node| node.accepted);
            taken.for_each(|node| batch.record(node.id, Instance::Server));
        }
    }

    /// Adds the test to its batch, whether or not all clients have accepted it. Its groups cannot change any more.
    pub(super) fn record_test(&mut self, test: AddTest, outcome: &TransactionResult) {
        let nodes = |name| self.groups.get(name).map(|group| group.nodes.clone()).unwrap_or_default();
        let (from, to) = (nodes(&test.from), nodes(&test.to));
        let Ok(batch) = self.batches.get_mut(&test.batch) else { return };
        let AddTest { test: spec, repeat, concurrency, .. } = test;
        batch.tests.push(Test { test: spec, repeat, concurrency, groups: [test.from, test.to], from, to });
        let number = u32::try_from(batch.tests.len()).unwrap_or(u32::MAX);
        let taken = outcome.nodes.iter().filter(|node| node.accepted);
        taken.for_each(|node| batch.record(node.id, Instance::Client(number)));
        self.groups.note_uses(|name| self.batches.use_group(name));
    }
}
