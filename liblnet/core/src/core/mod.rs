//! One LNet node without its threads: what it consists of, its start and its end.

mod configure;
mod consumers;
mod discovery;
mod discovery_requests;
mod fault;
mod health;
mod me_md_eq;
mod merge;
mod messages;
mod monitor;
mod ni_state;
mod ping_target;
mod put_get;
mod receive;
mod resend;
mod send;

use crate::cpt::CptTable;
use crate::discovery::{Discovery, PingTarget};
use crate::environment::{ConfigLock, CoreConfig, Environment};
use crate::fault::{FailRules, FaultRules};
use crate::health::{Health, pause};
use crate::memory::EqHandle;
use crate::model::lnd::{Driver, Upcalls};
use crate::model::message::MessagePool;
use crate::objects::Objects;
use crate::sending::Sending;
use crate::stats::{MessageCounters, MessageCounts, NodeCounters};
use crate::sync::{Mutex, lock};
use crate::topology::{Distance, Nets, Ni, NiConfig, PeerNi, Preferred, Topology};
use lnet_log::{LogClass, RateLimitedLog};
use lnet_wire::Errno;
use lnet_wire::{Nid, Pid, ProcessId};
use std::fmt::{Arguments, Display};
use std::sync::{Arc, OnceLock, Weak};

/// An LNet node: a value, of which a process may hold several. All methods may be called from any thread.
pub struct Core {
    pub(crate) env: Environment,
    pub(crate) objects: Objects,
    pub(crate) topology: Topology,
    pub(crate) sending: Sending,
    pub(crate) message_counters: MessageCounters,
    /// Spare messages for the loopback.
    pub(crate) spare: MessagePool,
    pub(crate) fail_rules: FailRules,
    pub(crate) faults: FaultRules,
    pub(crate) discovery: Discovery,
    pub(crate) health: Health,
    /// Where the events of recovery pings go.
    recovery_eq: OnceLock<EqHandle>,
    /// What went through interfaces that are gone.
    retired: Mutex<NodeCounters>,
    configuration: ConfigLock,
    /// What pings are answered with; used under the lock of the configuration.
    ping_target: Mutex<PingTarget>,
    this: Weak<Self>,
}

impl Core {
    /// A node that is on no net, not even the loopback.
    pub fn new(config: CoreConfig) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            objects: Objects::new(config.interface_cookie),
            faults: FaultRules::new(config.interface_cookie),
            env: Environment::new(config, log_that_wakes_the_monitor(Weak::clone(this))),
            topology: Topology::new(),
            sending: Sending::default(),
            message_counters: MessageCounters::default(),
            spare: MessagePool::default(),
            fail_rules: FailRules::default(),
            discovery: Discovery::new(pause),
            health: Health::default(),
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

    /// Writes a line to the log, as often as its class and subject may be heard of.
    pub fn log(&self, class: LogClass, subject: impl Display, line: Arguments<'_>) {
        self.env.log(class, subject, line);
    }

    /// How many CPU partitions the node has.
    pub fn cpts(&self) -> usize {
        self.env.config().cpts.count().get()
    }

    /// The CPU partitions.
    pub const fn cpt_table(&self) -> &CptTable {
        &self.env.config().cpts
    }

    /// The nets that the node is on now.
    pub fn nets(&self) -> Arc<Nets> {
        self.topology.nets()
    }

    /// Adds an interface and starts it with `driver`; pings show it from then on (cfg-020).
    /// [`Errno::Exists`] for a NID or an interface that the net has; [`Errno::TooManyUsers`] for a net that
    /// routes lead to (OM-33); [`Errno::Invalid`] for a CPU partition that there is not;
    /// [`Errno::Shutdown`] when the node is ending; [`Errno::Busy`] from an event handler; or what the driver
    /// says.
    pub fn add_ni(
        self: &Arc<Self>,
        nid: Nid,
        config: impl Into<NiConfig>,
        driver: &dyn Driver,
    ) -> Result<Arc<Ni>, Errno> {
        let guard = self.configuring()?;
        if self.is_ending() {
            return Err(Errno::Shutdown);
        }
        if self.topology.has_route_to(nid.net()) {
            return Err(Errno::TooManyUsers);
        }
        let ni = Arc::new(Ni::new(nid, config.into(), self.env.config().cpts.count())?);
        ni.set_number(self.health.next_number());
        let nets = self.nets().with(Arc::clone(&ni))?;
        // The driver may call up as soon as it is started, so the interface must be known before.
        let before = self.topology.replace_nets(&guard, Arc::new(nets));
        let is_new_net = before.net(nid.net()).is_none();
        match driver.start_ni(&ni, Arc::clone(self) as Arc<dyn Upcalls>) {
            Ok(lnd) => {
                ni.set_lnd(Arc::clone(&lnd));
                if self.topology.peer_ni(nid).is_some() {
                    self.discovery.note_forgetting(&self.env);
                    self.topology.peers().forget_nid(&guard, nid);
                }
                self.rebuild_ping_target(&guard);
                self.discovery.schedule_push(&self.topology, false);
                self.topology.reapply_rules(&guard);
                if is_new_net {
                    let on_it = |peer_ni: &Arc<PeerNi>| peer_ni.nid().net() == nid.net();
                    let waiting = self.topology.peers().all().into_iter().filter(on_it);
                    waiting.for_each(|peer_ni| self.grant_credits(&peer_ni));
                }
                lnd.open();
                self.health.reachability_may_change_for_all(&self.topology);
                Ok(ni)
            }
            Err(errno) => {
                self.topology.replace_nets(&guard, before);
                Err(errno)
            }
        }
    }

    /// Takes an interface away: messages on it end with an error, and pings do not show it any more. With
    /// the last of its net go the peer NIs on that net, and the routes over them.
    /// [`Errno::NotFound`] for a NID that is not the node's, [`Errno::Invalid`] for the loopback (OM-33),
    /// [`Errno::Busy`] from an event handler.
    pub fn remove_ni(&self, nid: Nid) -> Result<(), Errno> {
        if nid.is_loopback() {
            return Err(Errno::Invalid);
        }
        let config = self.configuring()?;
        let ni = self.topology.ni(nid).ok_or(Errno::NotFound)?;
        self.topology.replace_nets(&config, Arc::new(self.nets().without(nid)));
        self.rebuild_ping_target(&config);
        self.discovery.schedule_push(&self.topology, false);
        self.stop_ni(&ni);
        self.retired_add(&ni);
        if self.topology.with_nets(|nets| nets.net(nid.net()).is_none()) {
            self.forget_net(&config, nid.net());
        }
        self.health.reachability_may_change_for_all(&self.topology);
        Ok(())
    }

    /// Ends the node: every interface is stopped, every message back. What MDs, MEs and EQs are left is
    /// forgotten without an event (c-abi 1.1). Nothing of the node may be used afterwards but its
    /// counters. Waits for event handlers, so not from one.
    pub fn shutdown(&self) {
        self.env.begin_ending();
        let config = self.configuration.lock();
        let nets = self.nets();
        // The loopback last: it never fails, and others may still be finishing onto it.
        for ni in nets.nis().collect::<Vec<_>>().into_iter().rev() {
            self.stop_ni(ni);
        }
        self.topology.replace_nets(&config, Arc::new(Nets::default()));
        self.end_resends();
        self.health.wake();
        self.end_discovery();
        self.objects.end();
        for portal in self.objects.portals() {
            // Whoever was asked before the end began, and not by a driver that waits for that, may have come last.
            self.drop_delayed(portal.clear_lazy());
            portal.forget_entries();
        }
    }

    /// This node, to be kept beyond the present call.
    pub(crate) fn this(&self) -> Option<Arc<Self>> {
        self.this.upgrade()
    }

    /// Whether [`Core::shutdown`] has begun.
    pub fn is_ending(&self) -> bool {
        self.env.is_ending()
    }

    /// The `index`th interface, from 0, as `LNetGetId` counts them.
    pub fn ni_by_index(&self, index: u32) -> Option<ProcessId> {
        self.topology
            .with_nets(|nets| nets.nis().nth(index as usize).map(|ni| ni.nid()))
            .map(|nid| ProcessId { nid, pid: self.env.pid() })
    }

    /// How far a NID is: `LNetDist`.
    pub fn dist(&self, nid: Nid) -> Result<Distance, Errno> {
        self.topology.with_nets(|nets| nets.distance(nid))
    }

    /// All peer NIs known, in no order.
    pub fn peer_nis(&self) -> Vec<Arc<PeerNi>> {
        self.topology.peers().all()
    }

    pub(crate) fn peer_ni(&self, nid: Nid) -> Arc<PeerNi> {
        self.topology.peer_ni(nid).unwrap_or_else(|| {
            let peer_ni = self.topology.peers().get_or_add(nid, self.topology.first_peer_credits(nid));
            // Its net may have come just now, too early to find it.
            self.grant_credits(&peer_ni);
            if self.topology.has_rules() {
                self.topology.apply_rules_to(&peer_ni);
            }
            peer_ni
        })
    }

    /// The peer NI that a message came from on `ni`. One that is new stays with that interface (OM-22). `None` if it is
    /// not known and there are too many.
    pub(crate) fn sender(&self, nid: Nid, ni: &Ni) -> Option<Arc<PeerNi>> {
        if let Some(known) = self.topology.peer_ni(nid) {
            return Some(known);
        }
        if !self.topology.peers().makes_room(self.env.config().max_peers, self.env.now()) {
            return None;
        }
        let peer_ni = self.peer_ni(nid);
        if !peer_ni.peer().is_multi_rail() && *peer_ni.preferred() == Preferred::Nothing {
            peer_ni.set_preferred(Preferred::Sticky(ni.nid()));
        }
        if self.topology.is_own(nid) {
            peer_ni.note_use(true, true);
        }
        Some(peer_ni)
    }

    /// What went through the node's interfaces, those that are gone among them.
    pub fn counters(&self) -> NodeCounters {
        let mut sum = *lock(&self.retired);
        self.topology.with_nets(|nets| nets.nis().for_each(|ni| sum += ni.counters().read_all()));
        sum
    }

    /// The messages that the node has, and how many went wrong.
    pub fn message_counts(&self) -> MessageCounts {
        self.message_counters.read()
    }

    /// Whether other nodes wait for an ACK or a REPLY that is not known to have arrived. An ACK counts from before the
    /// PUT's event is told.
    pub fn owes_answers(&self) -> bool {
        self.message_counters.has_answers()
    }

    /// Sets every counter to 0: the node's, its interfaces' and the peer NIs' (dbg-120, ST-3).
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
        self.health.reset_counters();
    }

    fn retired_add(&self, ni: &Ni) {
        *lock(&self.retired) += ni.counters().read_all();
    }

    fn stop_ni(&self, ni: &Arc<Ni>) {
        let lnd = ni.take_down();
        self.drop_delayed_of(ni);
        for message in self.sending.abandon(ni) {
            self.end(message, Err(Errno::Shutdown.into()));
        }
        if let Some(lnd) = lnd {
            lnd.shutdown();
        }
        // What was arriving meanwhile may have been made to wait; nobody would ever deliver it.
        self.drop_delayed_of(ni);
    }

    fn drop_delayed_of(&self, ni: &Arc<Ni>) {
        self.drop_late_of(ni);
        for portal in self.objects.portals() {
            self.drop_delayed(
                portal.take_delayed(|message| message.ni.as_ref().is_some_and(|its| Arc::ptr_eq(its, ni))),
            );
        }
    }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("nets", &self.topology.nets()).finish_non_exhaustive()
    }
}

/// The log says what it has suppressed when the monitor thread polls it.
fn log_that_wakes_the_monitor(core: Weak<Core>) -> RateLimitedLog {
    RateLimitedLog::with_wake(move || {
        if let Some(core) = core.upgrade() {
            core.health.wake();
        }
    })
}
