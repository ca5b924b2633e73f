//! The node of this process.

use crate::{Errno, Nid, ProcessId, sys};
use std::sync::Arc;

/// A reference on the LNet node of this process, which is up as long as there is one. Clones share the reference.
///
/// The environment configures the node (`LNET_NETWORKS` and others), or names that of another process, which it then shares.
#[derive(Clone, Debug)]
pub struct Node {
    _reference: Arc<Reference>,
}

/// One call of `LNetNIInit`.
#[derive(Debug)]
struct Reference;

/// The distance of a NID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distance {
    /// The number of hops: 0 for this node; 1 on a net that this node is on; otherwise the number of gateways plus one.
    pub hops: u32,
    /// The rank among equal distances: lower is better.
    pub order: u32,
    /// The interface of this node that would send.
    pub local_nid: Nid,
}

impl Node {
    /// Starts the node, or takes a reference on it if it is up. Not from an event handler.
    pub fn start() -> Result<Self, Errno> {
        Errno::check(sys::LNetNIInit(sys::LNET_PID_LUSTRE))?;
        Ok(Self { _reference: Arc::new(Reference) })
    }

    /// The address of this process, by the first interface that other nodes can reach. [`Errno::NotFound`]: there is none but the
    /// loopback, because no networks are configured.
    pub fn id(&self) -> Result<ProcessId, Errno> {
        self.id_of(1)
    }

    /// The addresses of this process, one for each interface; that of the loopback is the first.
    pub fn ids(&self) -> Vec<ProcessId> {
        (0..).map_while(|index| self.id_of(index).ok()).collect()
    }

    fn id_of(&self, index: u32) -> Result<ProcessId, Errno> {
        let mut id = sys::lnet_process_id { nid: sys::LNET_NID_ANY, pid: 0 };
        Errno::check(sys::LNetGetId(index, &mut id))?;
        ProcessId::from_c(id).ok_or(Errno::NotFound)
    }

    /// The primary NID of the node that has this NID: [`MatchEntry::sender`](crate::MatchEntry::sender) compares it, and it is the initiator
    /// in events.
    pub fn primary_nid(&self, nid: Nid) -> Nid {
        Nid::from_u64(sys::LNetPrimaryNID(nid.to_u64())).unwrap_or(nid)
    }

    /// The distance of a NID. [`Errno::HostUnreachable`]: there is no path.
    pub fn distance(&self, nid: Nid) -> Result<Distance, Errno> {
        let (mut source, mut order) = (0, 0);
        let hops = Errno::check(sys::LNetDist(nid.to_u64(), &mut source, &mut order))?;
        let local_nid = Nid::from_u64(source).ok_or(Errno::HostUnreachable)?;
        Ok(Distance { hops: hops.unsigned_abs(), order, local_nid })
    }

    /// Says whether PUTs that nothing matches at this portal wait (lazy), or are dropped. When a portal is no longer lazy, those that
    /// wait are dropped.
    pub fn set_lazy(&self, portal: u32, lazy: bool) -> Result<(), Errno> {
        let portal = portal.try_into().map_err(|_| Errno::Invalid)?;
        let result = match lazy {
            true => sys::LNetSetLazyPortal(portal),
            false => sys::LNetClearLazyPortal(portal),
        };
        Errno::check(result).map(drop)
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        sys::LNetNIFini();
    }
}
