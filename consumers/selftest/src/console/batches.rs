//! Batches: tests that start and end together.

use super::name::Name;
use super::refusal::{Object, Refusal};
use super::rpc::BatchNumber;
use super::test_spec::TestSpec;
use lnet_wire::ProcessId;
use std::collections::{HashMap, HashSet};

#[derive(Debug)]
pub(super) struct Batches {
    batches: Vec<Batch>,
    next: u64,
}

#[derive(Debug)]
pub(super) struct Batch {
    pub(super) number: BatchNumber,
    pub(super) name: Name,
    pub(super) running: bool,
    pub(super) tests: Vec<Test>,
    /// The instances of this batch's tests on each node, servers and clients, in the order in which the node got them: nodes
    /// number
    /// them by this order.
    instances: HashMap<ProcessId, Vec<Instance>>,
}

#[derive(Debug)]
pub(super) struct Test {
    pub(super) test: TestSpec,
    pub(super) repeat: i32,
    pub(super) concurrency: u32,
    /// The groups of the clients and of the servers.
    pub(super) groups: [Name; 2],
    pub(super) from: Vec<ProcessId>,
    pub(super) to: Vec<ProcessId>,
}

/// A node's part in a test of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instance {
    Server,
    /// A client of the test with this number, from 1 on.
    Client(u32),
}

impl Batches {
    /// Makes the batches of a new session: the default one, which every session has.
    pub(super) fn new() -> Self {
        let mut batches = Self { batches: Vec::new(), next: 1 };
        let _ = batches.add(Name::default_batch());
        batches
    }

    /// Adds a batch. [`Refusal::Exists`] if there is one of that name.
    pub(super) fn add(&mut self, name: Name) -> Result<(), Refusal> {
        if self.get(&name).is_ok() {
            return Err(Refusal::Exists(Object::Batch, name.to_string()));
        }
        let number = BatchNumber(self.next);
        self.next += 1;
        let (tests, instances) = (Vec::new(), HashMap::new());
        self.batches.push(Batch { number, name, running: false, tests, instances });
        Ok(())
    }

    /// Finds a batch. [`Refusal::NotFound`] if no batch has that name.
    pub(super) fn get(&self, name: &Name) -> Result<&Batch, Refusal> {
        self.batches
            .iter()
            .find(|batch| batch.name == *name)
            .ok_or_else(|| Refusal::NotFound(Object::Batch, name.to_string()))
    }

    pub(super) fn get_mut(&mut self, name: &Name) -> Result<&mut Batch, Refusal> {
        self.batches
            .iter_mut()
            .find(|batch| batch.name == *name)
            .ok_or_else(|| Refusal::NotFound(Object::Batch, name.to_string()))
    }

    pub(super) fn remove(&mut self, name: &Name) {
        self.batches.retain(|batch| batch.name != *name);
    }

    /// Whether a test of any batch uses the group.
    pub(super) fn use_group(&self, name: &Name) -> bool {
        self.batches.iter().flat_map(|batch| &batch.tests).any(|test| test.groups.contains(name))
    }

    pub(super) fn names(&self) -> Vec<Name> {
        self.batches.iter().map(|batch| batch.name.clone()).collect()
    }
}

impl Batch {
    /// The clients of all tests, each once.
    pub(super) fn clients(&self) -> Vec<ProcessId> {
        each_once(self.tests.iter().flat_map(|test| &test.from))
    }

    /// The servers of all tests, each once.
    pub(super) fn servers(&self) -> Vec<ProcessId> {
        each_once(self.tests.iter().flat_map(|test| &test.to))
    }

    /// Records that a node has accepted its part of a test.
    pub(super) fn record(&mut self, node: ProcessId, instance: Instance) {
        self.instances.entry(node).or_default().push(instance);
    }

    /// The number by which a node knows its part as a client of a test; `None` if it has no part.
    pub(super) fn number_on(&self, node: ProcessId, test: u32) -> Option<u32> {
        let at = self.instances.get(&node)?.iter().position(|it| *it == Instance::Client(test))?;
        u32::try_from(at + 1).ok()
    }
}

fn each_once<'a>(nodes: impl Iterator<Item = &'a ProcessId>) -> Vec<ProcessId> {
    let mut seen = HashSet::new();
    nodes.copied().filter(|node| seen.insert(*node)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_batch_of_every_session_is_number_1_and_the_first_other_one_is_2() {
        let mut batches = Batches::new();
        assert_eq!(batches.get(&Name::default_batch()).unwrap().number, BatchNumber(1));
        let name: Name = "b".parse().unwrap();
        batches.add(name.clone()).unwrap();
        assert_eq!(batches.get(&name).unwrap().number, BatchNumber(2));
        assert_eq!(batches.add(name), Err(Refusal::Exists(Object::Batch, "b".to_owned())));
    }

    /// Fails if a test does not have, on each node, the number that the node counts: servers count, and parts of other nodes do
    /// not.
    #[test]
    fn a_test_has_on_every_node_the_number_that_the_node_counts() {
        let [one, other]: [ProcessId; 2] =
            ["12345-10.0.0.1@tcp", "12345-10.0.0.2@tcp"].map(|id| id.parse().unwrap());
        let mut batches = Batches::new();
        let batch = batches.get_mut(&Name::default_batch()).unwrap();
        batch.record(one, Instance::Server);
        batch.record(one, Instance::Client(1));
        batch.record(other, Instance::Client(2));
        batch.record(one, Instance::Client(2));
        assert_eq!(batch.number_on(one, 1), Some(2));
        assert_eq!(batch.number_on(one, 2), Some(3));
        assert_eq!(batch.number_on(other, 1), None);
        assert_eq!(batch.number_on(other, 2), Some(1));
    }
}
