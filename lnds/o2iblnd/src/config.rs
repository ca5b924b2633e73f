//! The driver's tunables, with the kernel module's names, units and defaults (wire-o2ib 11).

use crate::conn::ConnTunables;
use crate::device::Devices;
use crate::engine::EngineTunables;
use lnet_core::NiTunables;
use std::sync::Arc;
use std::time::Duration;

/// The settings of the driver. They do not change after it is made.
#[derive(Clone, Debug)]
pub struct O2iblndConfig {
    /// The tunables of every interface. A `peer_credits` below 8 counts as 8, and one above 255 as 255.
    pub ni: NiTunables,
    /// The owed credits from which on a NOOP returns them; 0: half of the peer credits. Default 0.
    pub peer_credits_hiw: u32,
    /// The messages posted at a time on a connection; 0: as many as peer credits. Default 0.
    pub concurrent_sends: u32,
    /// Connections to each peer NI; 0 means 1. Default 1.
    pub conns_per_peer: u32,
    /// The pieces of memory of one RDMA WRITE. Default 2.
    pub wrq_sge: u32,
    /// The transmissions of a packet without an acknowledgement, after the first. Default 5.
    pub retry_count: u32,
    /// The transmissions of a message for which the peer has no buffer, after the first. Default 6.
    pub rnr_retry_count: u32,
    /// The time without a message after which a NOOP is sent; zero: never. Default 100 s.
    pub keepalive: Duration,
    /// The time that anything may take; zero: as the core's settings make it. Default zero.
    pub timeout: Duration,
    /// Whether messages carry a checksum. Default no.
    pub cksum: bool,
    /// The service number, the same on all nodes. Default 987.
    pub service: u16,
    /// Whether requests come from a port below 1024, where the process may take one. Default yes.
    pub use_privileged_port: bool,
    /// Whether requests from ports from 1024 on are refused. Default no.
    pub require_privileged_port: bool,
    /// The length of a transfer in bytes below which it goes through a bounce buffer. Default 16 KiB.
    pub bounce_below: u32,
    /// The registrations of memory that are kept while their MDs exist. Default 512.
    pub fmr_pool_size: u32,
    /// Tunables of the kernel module that mean nothing here: `fmr_flush_trigger`, `fmr_cache`, `map_on_demand`, `ntx`, `ib_mtu`. They are
    /// shown as they are set.
    pub shown: ShownTunables,
    /// The devices: those of the machine, or a model.
    pub devices: Arc<dyn Devices>,
}

/// Tunables that are accepted and shown, for configurations of kernel nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownTunables {
    /// Registrations given up at once. Default 384.
    pub fmr_flush_trigger: u32,
    /// Whether registrations are kept. Default 1.
    pub fmr_cache: u32,
    /// Fragments above which memory is registered. Default 1.
    pub map_on_demand: u32,
    /// Message descriptors. Default 512.
    pub ntx: u32,
    /// The path MTU in bytes; 0: the port's. Default 0.
    pub ib_mtu: u32,
}

/// The limits of the queue depth: 8 is the least of a kernel node, 255 the most that the credits of a message can return.
const DEPTHS: (u32, u32) = (8, 255);

impl O2iblndConfig {
    /// The queue depth for an interface with these peer credits.
    pub(crate) fn depth(peer_credits: u32) -> u16 {
        peer_credits.clamp(DEPTHS.0, DEPTHS.1) as u16
    }

    /// The tunables of an interface whose device takes this many pieces of memory in a work request.
    pub(crate) fn engine(&self, pieces: usize) -> EngineTunables {
        EngineTunables {
            conn: ConnTunables {
                high_water: self.peer_credits_hiw.min(DEPTHS.1) as u16,
                concurrent_sends: self.concurrent_sends.min(DEPTHS.1) as u16,
                pieces: (self.wrq_sge.max(1) as usize).min(pieces),
                checksum: self.cksum,
            },
            conns_per_peer: conns(self.conns_per_peer),
            keepalive: self.keepalive,
            bounce_below: self.bounce_below,
            cached_registrations: self.fmr_pool_size as usize,
        }
    }
}

/// The number of connections for a requested one; 0 gives 1.
pub(crate) fn conns(requested: u32) -> u16 {
    requested.clamp(1, lnet_settings::ni_ranges::CONNS_PER_PEER.most as u32) as u16
}

impl Default for O2iblndConfig {
    fn default() -> Self {
        Self {
            ni: NiTunables::default(),
            peer_credits_hiw: 0,
            concurrent_sends: 0,
            conns_per_peer: 1,
            wrq_sge: 2,
            retry_count: 5,
            rnr_retry_count: 6,
            keepalive: Duration::from_secs(100),
            timeout: Duration::ZERO,
            cksum: false,
            service: crate::proto::SERVICE,
            use_privileged_port: true,
            require_privileged_port: false,
            bounce_below: 16 << 10,
            fmr_pool_size: 512,
            shown: ShownTunables {
                fmr_flush_trigger: 384,
                fmr_cache: 1,
                map_on_demand: 1,
                ntx: 512,
                ib_mtu: 0,
            },
            devices: Arc::new(crate::verbs::MachineDevices),
        }
    }
}
