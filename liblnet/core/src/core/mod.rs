//! An LNet node without its threads: its parts, the start and the shutdown.

mod deferred_posts;
mod lost_requests;

use crate::confirm::{Origins, Unconfirmed};
use crate::cpt::CptTable;
use crate::discovery::{Discovery, PingTarget};
use crate::environment::time::Time;
use crate::environment::{ConfigLock, CoreConfig, Environment};
use crate::fault::{FailRules, FaultRules};
use crate::health::{Health, pause};
use crate::memory::EqHandle;
use crate::model::message::MessagePool;
use crate::model::{Distance, Nets, Ni, PeerNi};
use crate::objects::Objects;
use crate::router::{GatewayChecks, GatewayWatch, NetLiveness, RouterBuffers, Stopping};
use crate::sending::Sending;
use crate::stats::{MessageCounters, MessageCounts, NodeCounters};
use crate::sync::{Mutex, lock};
use crate::topology::Topology;
use deferred_posts::DeferredPosts;
use lnet_log::{LogClass, RateLimitedLog};
use lnet_wire::Errno;
use lnet_wire::{Nid, Pid, ProcessId};
use lost_requests::LostRequests;
use std::fmt::{Arguments, Display};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock, Weak};

/// An LNet node. A process may have several. All methods may be called from any thread.
pub struct Core {
    pub(crate) env: Environment,
    pub(crate) objects: Objects,
    pub(crate) topology: Topology,
    pub(crate) sending: Sending,
    pub(crate) message_counters: MessageCounters,
    /// The message pool of the loopback.
    pub(crate) spare: MessagePool,
    pub(crate) fail_rules: FailRules,
    pub(crate) faults: FaultRules,
    pub(crate) discovery: Discovery,
    pub(crate) health: Health,
    pub(crate) router_buffers: RouterBuffers,
    pub(crate) gateway_checks: GatewayChecks,
    pub(crate) gateway_watch: GatewayWatch,
    pub(crate) net_liveness: NetLiveness,
    pub(crate) stopping: Stopping,
    /// The time of the next search for messages that wait too long for router buffers.
    pub(crate) next_overdue: Mutex<Option<Time>>,
    /// The number of messages that drivers have lost since the last search, and that may wait at lazy portals.
    pub(crate) lost_deferred: AtomicUsize,
    /// The earliest time of the next such search.
    pub(crate) next_lost_deferred: Mutex<Time>,
    pub(crate) unconfirmed: Unconfirmed,
    pub(crate) origins: Origins,
    pub(crate) deferred_posts: DeferredPosts,
    pub(crate) lost_requests: LostRequests,
    /// The event queue of recovery pings.
    pub(crate) recovery_eq: OnceLock<EqHandle>,
    /// The counters of removed interfaces.
    pub(crate) retired: Mutex<NodeCounters>,
    pub(crate) configuration: ConfigLock,
    /// The MD that answers pings; used under the configuration lock.
    pub(crate) ping_target: Mutex<PingTarget>,
    this: Weak<Self>,
}

impl Core {
    /// Creates a node without nets, not even the loopback.
    pub fn new(config: CoreConfig) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            objects: Objects::new(config.interface_cookie, config.multi_rail),
            faults: FaultRules::new(config.interface_cookie),
            router_buffers: RouterBuffers::new(config.cpts.count()),
            env: Environment::new(config, log_that_wakes_the_monitor(Weak::clone(this))),
            topology: Topology::new(),
            sending: Sending::default(),
            message_counters: MessageCounters::default(),
            spare: MessagePool::default(),
            fail_rules: FailRules::default(),
            discovery: Discovery::new(pause),
            health: Health::default(),
            gateway_checks: GatewayChecks::default(),
            gateway_watch: GatewayWatch::default(),
            net_liveness: NetLiveness::default(),
            stopping: Stopping::default(),
            next_overdue: Mutex::default(),
            lost_deferred: AtomicUsize::new(0),
            next_lost_deferred: Mutex::default(),
            unconfirmed: Unconfirmed::default(),
            origins: Origins::default(),
            deferred_posts: DeferredPosts::default(),
            lost_requests: LostRequests::default(),
            recovery_eq: OnceLock::new(),
            retired: Mutex::new(NodeCounters::default()),
            configuration: ConfigLock::default(),
            ping_target: Mutex::default(),
            this: Weak::clone(this),
        })
    }

    /// The process id of this node.
    pub const fn pid(&self) -> Pid {
        self.env.pid()
    }

    /// Writes a line to the log, rate-limited by its class and subject.
    pub fn log(&self, class: LogClass, subject: impl Display, line: Arguments<'_>) {
        self.env.log(class, subject, line);
    }

    /// The number of CPU partitions.
    pub fn cpts(&self) -> usize {
        self.env.config().cpts.count().get()
    }

    /// The CPU partitions.
    pub const fn cpt_table(&self) -> &CptTable {
        &self.env.config().cpts
    }

    /// The current nets.
    pub fn nets(&self) -> Arc<Nets> {
        self.topology.nets()
    }

    /// A strong reference to this node, for use beyond the present call; `None` once the node is being dropped.
    pub(crate) fn this(&self) -> Option<Arc<Self>> {
        self.this.upgrade()
    }

    /// Whether [`Core::shutdown`] has begun.
    pub fn is_ending(&self) -> bool {
        self.env.is_ending()
    }

    /// The NID and PID of the interface `index`, counted from 0 as by `LNetGetId`.
    pub fn ni_by_index(&self, index: u32) -> Option<ProcessId> {
        self.topology
            .with_nets(|nets| nets.nis().nth(index as usize).map(|ni| ni.nid()))
            .map(|nid| ProcessId { nid, pid: self.env.pid() })
    }

    /// The distance of a NID: `LNetDist`.
    pub fn dist(&self, nid: Nid) -> Result<Distance, Errno> {
        self.topology.distance(nid)
    }

    /// All known peer NIs, in no order.
    pub fn peer_nis(&self) -> Vec<Arc<PeerNi>> {
        self.topology.peers().all()
    }

    pub(crate) fn peer_ni(&self, nid: Nid) -> Arc<PeerNi> {
        self.topology.peer_ni(nid).unwrap_or_else(|| {
            let peer_ni = self.topology.peers().get_or_add(nid, self.topology.first_peer_credits(nid));
            // The net may have been added in the meantime.
            self.grant_credits(&peer_ni);
            self.learn_incarnation(&peer_ni);
            self.topology.apply_rules_to_new(&peer_ni);
            peer_ni
        })
    }

    /// The peer NI with this NID, which is added if it is unknown; `None` if it is unknown and the table is full.
    pub(crate) fn peer_ni_if_room(&self, nid: Nid) -> Option<Arc<PeerNi>> {
        let has_room = || self.topology.peers().makes_room(self.env.config().max_peers, self.env.now());
        self.topology.peer_ni(nid).or_else(|| has_room().then(|| self.peer_ni(nid)))
    }

    /// The peer NI that sent a message on `ni`. A new one is bound to that interface (OM-22). `None` if it is unknown
    /// and the table is full.
    pub(crate) fn sender(&self, nid: Nid, ni: &Ni) -> Option<Arc<PeerNi>> {
        if let Some(known) = self.topology.peer_ni(nid) {
            return Some(known);
        }
        let peer_ni = self.peer_ni_if_room(nid)?;
        if !peer_ni.peer().is_multi_rail() && peer_ni.sticky().is_none() {
            peer_ni.set_sticky(Some(ni.nid()));
        }
        if self.topology.is_own(nid) {
            peer_ni.note_use(true, true);
        }
        Some(peer_ni)
    }

    /// The counters of all interfaces, removed ones included.
    pub fn counters(&self) -> NodeCounters {
        let mut sum = *lock(&self.retired);
        self.topology.with_nets(|nets| nets.nis().for_each(|ni| sum += ni.counters().read_all()));
        sum
    }

    /// The counters of existing and failed messages.
    pub fn message_counts(&self) -> MessageCounts {
        self.message_counters.read()
    }

    /// Whether peers wait for an ACK or a REPLY of this node that is not known to have arrived. An ACK counts from before
    /// the event of its PUT.
    pub fn has_pending_responses(&self) -> bool {
        self.message_counters.has_responses()
    }

    /// Sets every counter to 0: of the node, its interfaces and the peer NIs (dbg-120, ST-3).
    pub fn reset_counters(&self) {
        *lock(&self.retired) = NodeCounters::default();
        self.topology.with_nets(|nets| {
            nets.nis().for_each(|ni| {
                ni.counters().reset();
                ni.failures().reset();
            })
        });
        self.topology.peers().all().iter().for_each(|peer_ni| {
            peer_ni.counters().reset();
            peer_ni.failures().reset();
        });
        self.message_counters.reset();
        self.router_buffers.reset_counters();
        self.health.reset_counters();
    }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("nets", &self.topology.nets()).finish_non_exhaustive()
    }
}

/// A log whose suppressed lines are counted and reported by the monitor thread, which it wakes.
fn log_that_wakes_the_monitor(core: Weak<Core>) -> RateLimitedLog {
    RateLimitedLog::with_wake(move || {
        if let Some(core) = core.upgrade() {
            core.health.wake();
        }
    })
}
