//! The driver's tunables, with the kernel module's names, units and defaults (wire-o2ib 11).

use crate::conn::ConnTunables;
use crate::device::Devices;
use crate::engine::EngineTunables;
use crate::memory::OnDemandPaging;
use lnet_core::NiTunables;
use lnet_settings::{OutOfRange, Range};
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
    /// The time in which a peer must acknowledge something, after which the core is asked for another path; zero: it is never
    /// asked. Default 600 ms.
    pub unresponsive: Duration,
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
    /// The use of on-demand paging, where the device has it. Default: for memory that cannot be locked.
    pub on_demand_paging: OnDemandPaging,
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
/// The largest `concurrent_sends`.
pub(crate) const MAX_CONCURRENT_SENDS: u32 = u16::MAX as u32;

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
                concurrent_sends: self.concurrent_sends.min(MAX_CONCURRENT_SENDS) as u16,
                pieces: (self.wrq_sge.max(1) as usize).min(pieces),
                checksum: self.cksum,
            },
            conns_per_peer: conns(self.conns_per_peer),
            unresponsive: self.unresponsive,
            keepalive: self.keepalive,
            bounce_below: self.bounce_below,
            cached_registrations: self.fmr_pool_size as usize,
            on_demand_paging: self.on_demand_paging,
        }
    }
}

/// A number that an operator may give for one interface.
struct OfNi {
    /// The name in YAML.
    name: &'static str,
    most: u32,
    field: fn(&mut O2iblndConfig) -> &mut u32,
}

/// The numbers of one interface, with the kernel's names.
const OF_NI: [OfNi; 7] = [
    OfNi { name: "peercredits_hiw", most: DEPTHS.1 - 1, field: |config| &mut config.peer_credits_hiw },
    OfNi { name: "map_on_demand", most: u32::MAX, field: |config| &mut config.shown.map_on_demand },
    // Sites give kernel nodes 256 with 128 peer credits. The depth of a connection limits how many are posted.
    OfNi {
        name: "concurrent_sends",
        most: MAX_CONCURRENT_SENDS,
        field: |config| &mut config.concurrent_sends,
    },
    OfNi { name: "fmr_pool_size", most: u32::MAX, field: |config| &mut config.fmr_pool_size },
    OfNi { name: "fmr_flush_trigger", most: u32::MAX, field: |config| &mut config.shown.fmr_flush_trigger },
    OfNi { name: "fmr_cache", most: u32::MAX, field: |config| &mut config.shown.fmr_cache },
    OfNi { name: "ntx", most: u32::MAX, field: |config| &mut config.shown.ntx },
];

impl O2iblndConfig {
    /// This configuration with the numbers of one interface; names of other drivers are left out.
    pub(crate) fn with(mut self, numbers: &[(&str, u32)]) -> Result<Self, OutOfRange> {
        for (name, number) in numbers {
            if let Some(its) = OF_NI.iter().find(|its| its.name == *name) {
                Range::new(its.name, 0, its.most.into()).count((*number).into())?;
                *(its.field)(&mut self) = *number;
            }
        }
        Ok(self)
    }

    /// The numbers of an interface of this depth, by their names.
    pub(crate) fn numbers(&self, depth: u16) -> Vec<(&'static str, u32)> {
        let mut effective = self.clone();
        let depth = u32::from(depth);
        for (value, default) in
            [(&mut effective.peer_credits_hiw, depth / 2), (&mut effective.concurrent_sends, depth)]
        {
            *value = if *value == 0 { default } else { *value };
        }
        effective.peer_credits_hiw = effective.peer_credits_hiw.min(depth - 1);
        OF_NI.iter().map(|its| (its.name, *(its.field)(&mut effective))).collect()
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
            unresponsive: Duration::from_millis(600),
            keepalive: Duration::from_secs(100),
            timeout: Duration::ZERO,
            cksum: false,
            service: crate::proto::SERVICE,
            use_privileged_port: true,
            require_privileged_port: false,
            bounce_below: 16 << 10,
            on_demand_paging: OnDemandPaging::Fallback,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_an_interface_are_those_that_a_kernel_node_shows() {
        // wire-o2ib 11.
        let defaults = [
            ("peercredits_hiw", 4),
            ("map_on_demand", 1),
            ("concurrent_sends", 8),
            ("fmr_pool_size", 512),
            ("fmr_flush_trigger", 384),
            ("fmr_cache", 1),
            ("ntx", 512),
        ];
        assert_eq!(O2iblndConfig::default().numbers(8), defaults);
        let given = [("peercredits_hiw", 30), ("concurrent_sends", 16), ("of_another_driver", 9)];
        let numbers = O2iblndConfig::default().with(&given).unwrap().numbers(32);
        assert_eq!(numbers[..3], [("peercredits_hiw", 30), ("map_on_demand", 1), ("concurrent_sends", 16)]);
        // At most one less than the depth.
        let numbers = O2iblndConfig::default().with(&given).unwrap().numbers(8);
        assert_eq!(numbers[0], ("peercredits_hiw", 7));
    }

    #[test]
    fn a_number_out_of_range_is_refused_with_its_name() {
        let refused = O2iblndConfig::default().with(&[("peercredits_hiw", 255)]).unwrap_err();
        assert_eq!(refused.to_string(), "peercredits_hiw 255 is not within 0 to 254");
    }
}
