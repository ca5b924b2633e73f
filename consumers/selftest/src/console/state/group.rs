//! Commands about groups: nodes are added to them and removed from them.

use super::session::removals;
use super::{CommandId, Console, Session, WAIT};
use crate::console::call::{NodeState, Operation, Response};
use crate::console::name::Name;
use crate::console::refusal::{Object, Refusal};
use crate::console::rpc::RpcBody;
use crate::console::transaction::{Purpose, Transaction};
use lnet_wire::{Nid, Pid, ProcessId};
use std::collections::HashSet;
use std::time::Duration;

impl Console {
    pub(super) fn add_nodes(
        &mut self,
        now: Duration,
        id: CommandId,
        group: Name,
        nids: &[Nid],
    ) -> Result<Option<Response>, Refusal> {
        let session = self.session.as_mut().ok_or(Refusal::NoSession)?;
        session.group_is_free(&group)?;
        if let Some(nid) = nids.iter().find(|nid| nid.to_u64().is_none()) {
            let text = format!("{nid}: selftest has no room for NIDs of more than 4 bytes");
            return Err(Refusal::Invalid(text));
        }
        let found = session.groups.get_free(&group)?;
        let mut known: HashSet<ProcessId> = found.nodes.iter().copied().collect();
        let ids = nids.iter().map(|&nid| kernel_process(nid));
        let new: Vec<ProcessId> = ids.filter(|id| known.insert(*id)).collect();
        found.nodes.extend(&new);
        new.iter().for_each(|id| session.nodes.add(*id));
        self.give_session(now, id, group, new)
    }

    pub(super) fn refresh_group(
        &mut self,
        now: Duration,
        id: CommandId,
        group: Name,
    ) -> Result<Option<Response>, Refusal> {
        let session = self.session.as_mut().ok_or(Refusal::NoSession)?;
        session.group_is_free(&group)?;
        let nodes = session.groups.get(&group)?.nodes.clone();
        self.give_session(now, id, group, nodes)
    }

    /// Sends the session to the nodes that do not have it.
    fn give_session(
        &mut self,
        now: Duration,
        id: CommandId,
        group: Name,
        mut nodes: Vec<ProcessId>,
    ) -> Result<Option<Response>, Refusal> {
        let session = self.session.as_mut().ok_or(Refusal::NoSession)?;
        nodes.retain(|node| !session.nodes.is_active(*node));
        let (force, name) = (session.force, session.name.clone());
        let transaction = Transaction::new(Operation::MakeSession, Purpose::GiveSession(group), now, WAIT);
        let requests =
            nodes.into_iter().map(|node| (node, RpcBody::MakeSession { force, name: name.clone() }));
        self.post(now, id, transaction, requests);
        Ok(None)
    }

    pub(super) fn remove_nodes(
        &mut self,
        now: Duration,
        id: CommandId,
        group: Name,
        nids: &[Nid],
    ) -> Result<Option<Response>, Refusal> {
        let session = self.session.as_mut().ok_or(Refusal::NoSession)?;
        session.group_is_free(&group)?;
        let unwanted: HashSet<Nid> = nids.iter().copied().collect();
        let mut leaving = session.groups.get_free(&group)?.nodes.clone();
        leaving.retain(|node| unwanted.contains(&node.nid));
        let told = session.only_here(&group, &leaving);
        let purpose = Purpose::Remove(group, leaving);
        self.post(now, id, Transaction::new(Operation::RemoveSession, purpose, now, WAIT), removals(told));
        Ok(None)
    }

    pub(super) fn delete_group(
        &mut self,
        now: Duration,
        id: CommandId,
        group: Name,
    ) -> Result<Option<Response>, Refusal> {
        let session = self.session.as_mut().ok_or(Refusal::NoSession)?;
        session.group_is_free(&group)?;
        let nodes = session.groups.get_free(&group)?.nodes.clone();
        let told = session.only_here(&group, &nodes);
        let purpose = Purpose::Delete(group);
        self.post(now, id, Transaction::new(Operation::RemoveSession, purpose, now, WAIT), removals(told));
        Ok(None)
    }
}

/// The process that selftest is in on every node (lnet-selftest 1).
fn kernel_process(nid: Nid) -> ProcessId {
    ProcessId { nid, pid: Pid::LUSTRE }
}

impl Session {
    pub(super) fn clean_group(&mut self, name: &Name, states: &[NodeState]) -> Result<Response, Refusal> {
        self.group_is_free(name)?;
        let mut leaving = self.groups.get_free(name)?.nodes.clone();
        leaving.retain(|node| states.contains(&self.nodes.state(*node)));
        self.drop_nodes(name, &leaving);
        Ok(Response::Done)
    }

    pub(super) fn drop_nodes(&mut self, name: &Name, leaving: &[ProcessId]) {
        let gone: HashSet<&ProcessId> = leaving.iter().collect();
        let Ok(group) = self.groups.get_mut(name) else { return };
        group.nodes.retain(|node| !gone.contains(node));
        if group.nodes.is_empty() {
            self.groups.remove(name);
        }
        self.forget(leaving);
    }

    pub(super) fn drop_group(&mut self, name: &Name) {
        let Ok(group) = self.groups.get(name) else { return };
        let nodes = group.nodes.clone();
        self.groups.remove(name);
        self.forget(&nodes);
    }

    /// Removes the records of nodes that are in no group any more.
    fn forget(&mut self, nodes: &[ProcessId]) {
        for node in nodes.iter().filter(|node| !self.groups.contains(**node)) {
            self.nodes.remove(*node);
        }
    }

    /// The active nodes among these that are in no other group.
    fn only_here(&self, name: &Name, nodes: &[ProcessId]) -> Vec<ProcessId> {
        let mut here = self.active(nodes);
        here.retain(|node| !self.groups.is_elsewhere(*node, name));
        here
    }

    fn group_is_free(&self, name: &Name) -> Result<(), Refusal> {
        match self.transactions.values().any(|transaction| transaction.changes_group(name)) {
            true => Err(Refusal::Changing(Object::Group, name.to_string())),
            false => Ok(()),
        }
    }
}
