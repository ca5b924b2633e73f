//! Descriptors until their last event.

use crate::clock::{Clock, Time};
use crate::lnet::{Md, Node};
use lnet_api::sync::{Condition, lock};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Descriptors of one kind, which can be unlinked and waited for together.
#[derive(Debug, Default)]
pub(crate) struct DescriptorSet {
    state: Mutex<DescriptorState>,
    is_empty: Condition,
}

#[derive(Debug, Default)]
struct DescriptorState {
    next_id: u64,
    /// `None`: not made yet.
    live: BTreeMap<u64, Option<Md>>,
    is_unlinked: bool,
}

/// Counts a descriptor. The descriptor's event handler owns this, so that it is dropped after the last event.
#[derive(Debug)]
pub(crate) struct DescriptorGuard {
    set: Arc<DescriptorSet>,
    id: DescriptorId,
}

/// Identifies a descriptor of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DescriptorId(u64);

impl DescriptorSet {
    /// Adds a descriptor that is to be made.
    pub(crate) fn add(self: &Arc<Self>) -> DescriptorGuard {
        let mut state = lock(&self.state);
        let id = state.next_id;
        state.next_id += 1;
        state.live.insert(id, None);
        drop(state);
        DescriptorGuard { set: Arc::clone(self), id: DescriptorId(id) }
    }

    /// Stores the MD of a descriptor, which may have had its last event.
    pub(crate) fn set_md(&self, id: DescriptorId, md: Md) {
        if let Some(entry) = lock(&self.state).live.get_mut(&id.0) {
            *entry = Some(md);
        }
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.state).live.len()
    }

    /// Whether [`DescriptorSet::unlink_all`] was called, so that no descriptors are created in place of those that failed.
    pub(crate) fn is_unlinked(&self) -> bool {
        lock(&self.state).is_unlinked
    }

    /// Unlinks all descriptors. Not from an event handler.
    pub(crate) fn unlink_all(&self, node: &Node) {
        let mds: Vec<Md> = {
            let mut state = lock(&self.state);
            state.is_unlinked = true;
            state.live.values().flatten().copied().collect()
        };
        mds.into_iter().for_each(|md| node.unlink(md));
    }

    /// Waits until the set is empty, but not longer than until `until`. Returns whether it is empty.
    pub(crate) fn wait_until_empty(&self, clock: &dyn Clock, until: Time) -> bool {
        let mut state = lock(&self.state);
        while !state.live.is_empty() && clock.now() < until {
            state = self.is_empty.wait_until(clock, state, Some(until));
        }
        state.live.is_empty()
    }
}

impl DescriptorGuard {
    pub(crate) const fn id(&self) -> DescriptorId {
        self.id
    }
}

impl Drop for DescriptorGuard {
    fn drop(&mut self) {
        let mut state = lock(&self.set.state);
        state.live.remove(&self.id.0);
        if state.live.is_empty() {
            self.set.is_empty.notify_all();
        }
    }
}
