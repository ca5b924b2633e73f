//! The configuration that a node has at present.

use crate::ops::global::Setting;
use crate::request::{
    Backend, CptBuffers, LARGE_NIDS, LocalNi, Peer, Request, Route, SettingState, Tunables, Udsp, WaitingNi,
};
use lnet_settings::Value;
use lnet_wire::{Errno, Nid};

/// The present configuration of a node without its peers, of which there may be many; empty without a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Present {
    pub(crate) nis: Vec<LocalNi>,
    pub(crate) waiting: Vec<WaitingNi>,
    pub(crate) routes: Vec<Route>,
    pub(crate) buffers: Vec<CptBuffers>,
    pub(crate) numa_range: Option<u32>,
    pub(crate) tunables: Option<Tunables>,
    pub(crate) rules: Vec<Udsp>,
}

impl Present {
    pub(crate) fn of(backend: &dyn Backend) -> Result<Self, Errno> {
        Ok(Self {
            nis: unboxed(backend.list(Request::GetLocalNi)?),
            // A node that does not know the request has none.
            waiting: backend.ask(Request::GetWaitingNis).unwrap_or_default(),
            routes: backend.list(Request::GetRoute)?,
            buffers: backend.list(Request::GetBuffers)?,
            numa_range: Some(backend.ask(Request::GetNumaRange)?),
            tunables: Some(backend.ask(Request::GetTunables)?),
            rules: unboxed(backend.list(Request::GetUdsp)?),
        })
    }

    /// Whether the node forwards messages for others.
    pub(crate) fn forwards(&self) -> bool {
        self.buffers.first().is_some_and(|cpt| cpt.enabled)
    }

    /// The numbers of router buffers over all CPTs: tiny, small, large.
    pub(crate) fn buffer_counts(&self) -> [u64; 3] {
        let sum =
            |of: fn(&CptBuffers) -> u32| -> u64 { self.buffers.iter().map(|cpt| u64::from(of(cpt))).sum() };
        [sum(|cpt| cpt.tiny.buffers), sum(|cpt| cpt.small.buffers), sum(|cpt| cpt.large.buffers)]
    }

    /// The value of a global setting; `None` without a node.
    pub(crate) fn setting(&self, setting: Setting) -> Option<u32> {
        match setting {
            Setting::NumaRange => self.numa_range,
            _ => self.tunables.as_ref().map(|all| all.get(setting)),
        }
    }
}

/// Whether names of interfaces mean their IPv6 addresses on this node; no if it does not say.
pub(crate) fn has_large_nids(backend: &dyn Backend) -> bool {
    let settings: Vec<SettingState> = backend.ask(Request::GetSettings).unwrap_or_default();
    settings.iter().any(|its| its.name == LARGE_NIDS && its.value == Value::Number(1))
}

/// All peers that the node knows. Peers that it forgets in the meantime are left out.
pub(crate) fn peers(backend: &dyn Backend) -> Result<Vec<Peer>, Errno> {
    let primaries: Vec<Nid> = backend.ask(Request::GetPeerList)?;
    let mut all = Vec::with_capacity(primaries.len());
    for nid in primaries {
        match backend.ask::<Box<Peer>>(Request::GetPeerNi(nid)) {
            Ok(peer) => all.push(*peer),
            Err(Errno::NotFound) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(all)
}

fn unboxed<T>(all: Vec<Box<T>>) -> Vec<T> {
    all.into_iter().map(|it| *it).collect()
}
