//! The ping buffer: the encoded NIDs of this node, which answer pings and are pushed.

use crate::environment::Environment;
use crate::memory::{MdHandle, MdMemory, MdOptions, MdSpec};
use crate::model::Ni;
use crate::topology::Topology;
use lnet_settings::DiscoveryMode;
use lnet_wire::ping_info::{Features, NiStatus, PingEntry, PingInfo};
use std::sync::Arc;

/// A configuration of this node, encoded as ping information.
#[derive(Debug, Default)]
pub(crate) struct PingBuffer {
    sequence: u32,
    bytes: Box<[u8]>,
}

/// The match entry that answers pings. It is replaced whenever an interface is added or removed; the new entry is
/// posted before the old one is unlinked.
#[derive(Debug, Default)]
pub(crate) struct PingTarget {
    /// The sequence number of the configuration; the ping information carries it.
    sequence: u32,
    posted: Option<MdHandle>,
}

impl PingBuffer {
    /// Encodes the current configuration of this node.
    fn new(env: &Environment, topology: &Topology, sequence: u32) -> Self {
        let entries = topology.with_nets(|nets| {
            let others = nets.nis().filter(|ni| !ni.nid().is_loopback());
            others.map(|ni| PingEntry { nid: ni.nid(), status: status(ni) }).collect()
        });
        let features = Features::NI_STATUS
            .with(Features::MULTI_RAIL, env.config().multi_rail)
            .with(Features::RTE_DISABLED, !topology.router().is_on())
            .with(Features::DISCOVERY, env.settings().discovery != DiscoveryMode::Off);
        let info = PingInfo { features, pid: env.pid(), sequence, entries };
        Self { sequence, bytes: info.encode().into() }
    }

    pub(crate) const fn sequence(&self) -> u32 {
        self.sequence
    }

    /// The encoded bytes, for an MD that owns them.
    pub(crate) fn memory(&self) -> MdMemory {
        let len = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        MdMemory::contiguous(self.bytes.as_ptr() as usize, len)
    }

    /// The spec of the MD that answers pings with these bytes.
    pub(crate) fn ping_spec(&self) -> MdSpec {
        let memory = self.memory();
        let options = MdOptions::OP_GET.0 | MdOptions::TRUNCATE.0 | MdOptions::MANAGE_REMOTE.0;
        MdSpec {
            start: memory.first().unwrap_or_default(),
            length: memory.len(),
            threshold: -1,
            max_size: 0,
            options: MdOptions(options),
            user_ptr: 0,
            eq: None,
        }
    }
}

fn status(ni: &Ni) -> NiStatus {
    if ni.is_reported_up() { NiStatus::Up } else { NiStatus::Down }
}

impl PingTarget {
    /// Creates the next ping buffer, with the next sequence number.
    pub(crate) fn next_buffer(&mut self, env: &Environment, topology: &Topology) -> Arc<PingBuffer> {
        self.sequence = self.sequence.wrapping_add(1);
        Arc::new(PingBuffer::new(env, topology, self.sequence))
    }

    /// Stores the MD that answers pings now; returns the previous one.
    pub(crate) const fn replace(&mut self, posted: MdHandle) -> Option<MdHandle> {
        self.posted.replace(posted)
    }
}
