//! Groups: nodes under a name, in the order in which they were added.

use super::name::Name;
use super::refusal::{Object, Refusal};
use lnet_wire::ProcessId;

#[derive(Debug, Default)]
pub(super) struct Groups {
    groups: Vec<Group>,
}

#[derive(Debug)]
pub(super) struct Group {
    pub(super) name: Name,
    pub(super) nodes: Vec<ProcessId>,
    /// Whether a test uses the group, which then cannot change until the session ends, or the test's batch is forgotten.
    pub(super) in_use: bool,
}

impl Groups {
    /// Adds a group. [`Refusal::Exists`] if there is one of that name.
    pub(super) fn add(&mut self, name: Name) -> Result<(), Refusal> {
        if self.get(&name).is_ok() {
            return Err(Refusal::Exists(Object::Group, name.to_string()));
        }
        self.groups.push(Group { name, nodes: Vec::new(), in_use: false });
        Ok(())
    }

    /// Finds a group. [`Refusal::NotFound`] if no group has that name.
    pub(super) fn get(&self, name: &Name) -> Result<&Group, Refusal> {
        self.groups
            .iter()
            .find(|group| group.name == *name)
            .ok_or_else(|| Refusal::NotFound(Object::Group, name.to_string()))
    }

    pub(super) fn get_mut(&mut self, name: &Name) -> Result<&mut Group, Refusal> {
        self.groups
            .iter_mut()
            .find(|group| group.name == *name)
            .ok_or_else(|| Refusal::NotFound(Object::Group, name.to_string()))
    }

    /// Returns a group that may be changed; [`Refusal::InUse`] if a test uses it.
    pub(super) fn get_free(&mut self, name: &Name) -> Result<&mut Group, Refusal> {
        let group = self.get_mut(name)?;
        if group.in_use { Err(Refusal::InUse(name.clone())) } else { Ok(group) }
    }

    /// Notes which groups tests use.
    pub(super) fn note_uses(&mut self, is_used: impl Fn(&Name) -> bool) {
        for group in &mut self.groups {
            group.in_use = is_used(&group.name);
        }
    }

    pub(super) fn remove(&mut self, name: &Name) {
        self.groups.retain(|group| group.name != *name);
    }

    pub(super) fn names(&self) -> Vec<Name> {
        self.groups.iter().map(|group| group.name.clone()).collect()
    }

    /// Whether a node is in a group other than this one.
    pub(super) fn is_elsewhere(&self, node: ProcessId, name: &Name) -> bool {
        self.groups.iter().any(|group| group.name != *name && group.nodes.contains(&node))
    }

    pub(super) fn contains(&self, node: ProcessId) -> bool {
        self.groups.iter().any(|group| group.nodes.contains(&node))
    }
}
