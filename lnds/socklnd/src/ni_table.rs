//! The NIs that peers may connect to.

use crate::ni_peers::NiPeers;
use crate::sync::lock;
use lnet_wire::Nid;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

#[derive(Default)]
pub(crate) struct NiTable(Mutex<Vec<Arc<NiPeers>>>);

impl NiTable {
    pub(crate) fn add(&self, ni: &Arc<NiPeers>) {
        lock(&self.0).push(Arc::clone(ni));
        ni.ni.shared.note_ni_open();
    }

    pub(crate) fn remove(&self, closed: &Arc<NiPeers>) {
        let mut nis = lock(&self.0);
        let before = nis.len();
        nis.retain(|ni| !Arc::ptr_eq(ni, closed));
        if nis.len() < before {
            closed.ni.shared.note_ni_closed();
        }
    }

    /// Returns the NI with this NID.
    pub(crate) fn find(&self, nid: Nid) -> Option<Arc<NiPeers>> {
        lock(&self.0).iter().find(|ni| ni.ni.local.nid == nid).cloned()
    }

    /// Returns an NI with this address.
    pub(crate) fn with_address(&self, address: IpAddr) -> Option<Arc<NiPeers>> {
        use crate::decide::identity::IpNid;
        lock(&self.0).iter().find(|ni| ni.ni.local.nid.ip() == address).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<NiPeers>> {
        lock(&self.0).clone()
    }
}
