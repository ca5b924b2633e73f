//! The objects of programs: match entries (ME) on portals, memory descriptors (MD), event queues (EQ).
//!
//! [`Objects`] has handles and matching, and does not depend on peers or drivers: it returns the messages to deliver
//! and the operations that have ended.

mod criteria;
mod descriptors;
mod drop_reason;
mod match_table;
mod portal;
mod queues;

pub(crate) use criteria::{Criteria, MatchRequest};
pub use criteria::{InsertPosition, MatchId};
pub(crate) use descriptors::MdAttached;
pub(crate) use drop_reason::DropReason;
pub(crate) use match_table::MatchResult;
pub(crate) use portal::{Delayed, Incoming, Portal};

#[cfg(all(test, not(loom)))]
mod match_table_tests;

use crate::event::EventQueue;
use crate::md::Md;
use crate::memory::{HandleSlot, HandleTable, MeHandle, Place};
use lnet_wire::{Errno, MAX_PORTALS, PING_MATCH_BITS};
use std::sync::Arc;

/// The portals, MDs and EQs of one node. Any thread may call its methods.
pub(crate) struct Objects {
    portals: Box<[Portal]>,
    mds: HandleTable<Arc<Md>>,
    queues: HandleTable<Arc<EventQueue>>,
}

impl Objects {
    /// Objects with all portals, without entries. `interface_cookie` makes the handles of this incarnation of the node differ
    /// from those of others. `takes_pushes`: pushes of peers wait for a buffer instead of being dropped.
    pub(crate) fn new(interface_cookie: u64, takes_pushes: bool) -> Self {
        Self {
            portals: portals(takes_pushes),
            mds: HandleTable::new(interface_cookie),
            queues: HandleTable::new(interface_cookie),
        }
    }

    /// The portal with this number. [`Errno::Invalid`] if it does not exist.
    pub(crate) fn portal(&self, portal: u32) -> Result<&Portal, Errno> {
        self.portals.get(portal as usize).ok_or(Errno::Invalid)
    }

    /// All portals.
    pub(crate) fn portals(&self) -> impl Iterator<Item = &Portal> {
        self.portals.iter()
    }

    /// Adds a match entry: see [`Portal::attach`].
    pub(crate) fn attach_me(
        &self,
        portal: u32,
        criteria: Criteria,
        unlink: bool,
        position: InsertPosition,
    ) -> Result<MeHandle, Errno> {
        let slot = self.portal(portal)?.attach(criteria, unlink, position)?;
        Ok(MeHandle::new(Place { table: portal as u8, slot }))
    }

    /// Adds a match entry before or after `current`: see [`Portal::insert`].
    pub(crate) fn insert_me(
        &self,
        current: MeHandle,
        criteria: Criteria,
        unlink: bool,
        position: InsertPosition,
    ) -> Result<MeHandle, Errno> {
        let before = match position {
            InsertPosition::Before => true,
            InsertPosition::After => false,
            InsertPosition::Local => return Err(Errno::NotPermitted),
        };
        let (portal, near) = self.me(current).ok_or(Errno::NotFound)?;
        let slot = portal.insert(near, criteria, unlink, before)?;
        let table = current.place().map_or(0, |place| place.table);
        Ok(MeHandle::new(Place { table, slot }))
    }

    /// Removes a match entry; returns its MD, which is to be unlinked.
    pub(crate) fn remove_me(&self, me: MeHandle) -> Result<Option<Arc<Md>>, Errno> {
        let (portal, slot) = self.me(me).ok_or(Errno::NotFound)?;
        portal.remove(slot)
    }

    /// Removes a match entry without an MD: see [`Portal::remove_unused`].
    pub(crate) fn remove_unused_me(&self, me: MeHandle) -> Result<(), Errno> {
        let (portal, slot) = self.me(me).ok_or(Errno::NotFound)?;
        portal.remove_unused(slot)
    }

    /// Drops all MDs and entries without an event, because the node shuts down. Queues end with [`Errno::NetworkDown`].
    pub(crate) fn end(&self) {
        self.mds.drain();
        for queue in self.queues.drain() {
            queue.end(Errno::NetworkDown);
        }
    }

    /// The portal and slot of an ME handle.
    fn me(&self, me: MeHandle) -> Option<(&Portal, HandleSlot)> {
        let place = me.place()?;
        Some((self.portals.get(usize::from(place.table))?, place.slot))
    }
}

/// Creates all portals. On the reserved portal pushes wait for a buffer (core-behaviour 5.1), if the node `takes_pushes`;
/// other PUTs are dropped there, as no program would ever attach memory for them.
fn portals(takes_pushes: bool) -> Box<[Portal]> {
    let portals: Box<[Portal]> = (0..MAX_PORTALS).map(|_| Portal::default()).collect();
    if takes_pushes {
        portals.iter().take(1).for_each(|reserved| reserved.set_lazy_for(PING_MATCH_BITS));
    }
    portals
}
