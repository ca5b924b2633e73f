//! An LNet node without its threads: its parts and their state.

use crate::admin::Admin;
use crate::cpt::CptTable;
use crate::data_path::DataPath;
use crate::discovery::PingTarget;
use crate::environment::{ConfigLock, CoreConfig};
use crate::model::{Distance, Nets, PeerNi};
use crate::monitor::{Monitor, MonitorState};
use crate::router::Stopping;
use crate::stats::{MessageCounts, NodeCounters};
use crate::sync::{Mutex, lock};
use lnet_log::LogClass;
use lnet_settings::Settings;
use lnet_wire::{Errno, Nid, Pid, ProcessId};
use std::fmt::{Arguments, Display};
use std::sync::Arc;

/// An LNet node. A process may have several. All methods may be called from any thread.
pub struct Core {
    data_path: Arc<DataPath>,
    /// The counters of removed interfaces.
    retired: Mutex<NodeCounters>,
    configuration: ConfigLock,
    /// The MD that answers pings; used under the configuration lock.
    ping_target: Mutex<PingTarget>,
    stopping: Stopping,
    monitor: MonitorState,
}

impl Core {
    /// Creates a node without nets, not even the loopback.
    pub fn new(config: CoreConfig) -> Arc<Self> {
        Arc::new(Self {
            data_path: DataPath::new(config),
            retired: Mutex::new(NodeCounters::default()),
            configuration: ConfigLock::default(),
            ping_target: Mutex::default(),
            stopping: Stopping::default(),
            monitor: MonitorState::default(),
        })
    }

    /// The calls of programs and drivers that move messages.
    pub fn data_path(&self) -> &DataPath {
        &self.data_path
    }

    /// The configuration, and what programs and operators ask about the node and its peers.
    pub fn admin(&self) -> Admin<'_> {
        let data_path = &self.data_path;
        Admin {
            data_path,
            env: &data_path.env,
            objects: &data_path.objects,
            topology: &data_path.topology,
            discovery: &data_path.discovery,
            health: &data_path.health,
            router_buffers: &data_path.router_buffers,
            gateway_checks: &data_path.gateway_checks,
            stopping: &self.stopping,
            faults: &data_path.faults,
            fail_rules: &data_path.fail_rules,
            configuration: &self.configuration,
            ping_target: &self.ping_target,
            retired: &self.retired,
        }
    }

    /// The work of the node's threads.
    pub fn monitor(&self) -> Monitor<'_> {
        let data_path = &self.data_path;
        Monitor {
            data_path,
            admin: self.admin(),
            env: &data_path.env,
            objects: &data_path.objects,
            topology: &data_path.topology,
            discovery: &data_path.discovery,
            health: &data_path.health,
            router_buffers: &data_path.router_buffers,
            gateway_checks: &data_path.gateway_checks,
            gateway_watch: &data_path.gateway_watch,
            stopping: &self.stopping,
            unconfirmed: &data_path.unconfirmed,
            configuration: &self.configuration,
            state: &self.monitor,
        }
    }

    /// The process id of this node.
    pub fn pid(&self) -> Pid {
        self.data_path.env.pid()
    }

    /// Writes a line to the log, rate-limited by its class and subject.
    pub fn log(&self, class: LogClass, subject: impl Display, line: Arguments<'_>) {
        self.data_path.env.log(class, subject, line);
    }

    /// The number of CPU partitions.
    pub fn cpts(&self) -> usize {
        self.data_path.env.config().cpts.count().get()
    }

    /// The CPU partitions.
    pub fn cpt_table(&self) -> &CptTable {
        &self.data_path.env.config().cpts
    }

    /// The current settings.
    pub fn settings(&self) -> Settings {
        self.data_path.env.settings()
    }

    /// The current nets.
    pub fn nets(&self) -> Arc<Nets> {
        self.data_path.topology.nets()
    }

    /// Whether [`Admin::shutdown`] has begun.
    pub fn is_ending(&self) -> bool {
        self.data_path.env.is_ending()
    }

    /// The NID and PID of the interface `index`, counted from 0 as by `LNetGetId`.
    pub fn ni_by_index(&self, index: u32) -> Option<ProcessId> {
        self.data_path
            .topology
            .with_nets(|nets| nets.nis().nth(index as usize).map(|ni| ni.nid()))
            .map(|nid| ProcessId { nid, pid: self.data_path.env.pid() })
    }

    /// The distance of a NID: `LNetDist`.
    pub fn dist(&self, nid: Nid) -> Result<Distance, Errno> {
        self.data_path.topology.distance(nid)
    }

    /// All known peer NIs, in no order.
    pub fn peer_nis(&self) -> Vec<Arc<PeerNi>> {
        self.data_path.topology.peers().all()
    }

    /// The counters of all interfaces, removed ones included.
    pub fn counters(&self) -> NodeCounters {
        let mut sum = *lock(&self.retired);
        self.data_path.topology.with_nets(|nets| nets.nis().for_each(|ni| sum += ni.counters().read_all()));
        sum
    }

    /// The counters of existing and failed messages.
    pub fn message_counts(&self) -> MessageCounts {
        self.data_path.message_counters.read()
    }

    /// Whether peers wait for an ACK or a REPLY of this node that is not known to have arrived. An ACK counts from before
    /// the event of its PUT.
    pub fn has_pending_responses(&self) -> bool {
        self.data_path.message_counters.has_responses()
    }

    /// Sets every counter to 0: of the node, its interfaces and the peer NIs (dbg-120, ST-3).
    pub fn reset_counters(&self) {
        *lock(&self.retired) = NodeCounters::default();
        self.data_path.topology.with_nets(|nets| {
            nets.nis().for_each(|ni| {
                ni.counters().reset();
                ni.latencies().reset();
                ni.failures().reset();
            })
        });
        self.data_path.topology.peers().all().iter().for_each(|peer_ni| {
            peer_ni.counters().reset();
            peer_ni.latencies().reset();
            peer_ni.failures().reset();
        });
        self.data_path.message_counters.reset();
        self.data_path.router_buffers.reset_counters();
        self.data_path.health.reset_counters();
    }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("nets", &self.data_path.topology.nets()).finish_non_exhaustive()
    }
}
