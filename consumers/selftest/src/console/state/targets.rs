//! Questions to nodes that change nothing.

use super::{CommandId, Console, Session};
use crate::console::call::{Operation, Response, Target};
use crate::console::refusal::{Object, Refusal};
use crate::console::rpc::RpcBody;
use crate::console::transaction::{Purpose, Transaction};
use lnet_wire::{Pid, ProcessId};
use std::time::Duration;

/// The most seconds that a user may have questions wait.
const MAX_SECONDS: u32 = 30;

impl Console {
    pub(super) fn ping(
        &mut self,
        now: Duration,
        id: CommandId,
        target: &Target,
        timeout: u32,
    ) -> Result<Option<Response>, Refusal> {
        self.ask(now, id, Operation::Debug, target, timeout, &RpcBody::Debug)
    }

    pub(super) fn stat(
        &mut self,
        now: Duration,
        id: CommandId,
        target: &Target,
        timeout: u32,
    ) -> Result<Option<Response>, Refusal> {
        self.ask(now, id, Operation::Stat, target, timeout, &RpcBody::Stat)
    }

    fn ask(
        &mut self,
        now: Duration,
        id: CommandId,
        operation: Operation,
        target: &Target,
        timeout: u32,
        body: &RpcBody,
    ) -> Result<Option<Response>, Refusal> {
        let session = self.session.as_ref().ok_or(Refusal::NoSession)?;
        let nodes = session.nodes_of(target)?;
        let timeout = Duration::from_secs(timeout.min(MAX_SECONDS).into());
        let transaction = Transaction::new(operation, Purpose::Ask, now, timeout);
        self.post(now, id, transaction, nodes.into_iter().map(|node| (node, body.clone())));
        Ok(None)
    }
}

impl Session {
    fn nodes_of(&self, target: &Target) -> Result<Vec<ProcessId>, Refusal> {
        match target {
            Target::Session => Ok(self.nodes.ids()),
            Target::Group(group) => Ok(self.groups.get(group)?.nodes.clone()),
            Target::Batch { batch, server: false } => Ok(self.batches.get(batch)?.clients()),
            Target::Batch { batch, server: true } => Ok(self.batches.get(batch)?.servers()),
            Target::Nodes(nids) => {
                let ids: Vec<_> = nids.iter().map(|&nid| ProcessId { nid, pid: Pid::LUSTRE }).collect();
                match ids.iter().find(|id| !self.nodes.contains(**id)) {
                    Some(id) => Err(Refusal::NotFound(Object::Node, id.to_string())),
                    None => Ok(ids),
                }
            }
        }
    }
}
