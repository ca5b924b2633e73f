//! A running node.

use crate::claims::{Claims, Owner};
use crate::clock::MonotonicClock;
use crate::control_server::{ControlConfig, ControlServer, SharedBackend};
use crate::core_threads::{self, CoreThread};
use crate::cpt;
use crate::drivers;
use crate::links::Links;
use crate::ni_starter::NiStarter;
use crate::placement::SystemPlacement;
use crate::running_drivers::RunningDrivers;
use crate::start;
use crate::start_config::{Forwarding, StartConfig};
use crate::tunables::SettingStates;
use crate::waiting::WaitingNis;
use lnd_common::event_wait::Spin;
use lnet_attach::record::ClaimedBits;
use lnet_core::FatalReporter;
use lnet_core::lnd::{DriverContext, InterfaceEvents, NidSize, StartError};
use lnet_core::time::{Clock, Time};
use lnet_core::{Core, CoreConfig, Errno, NiConfig, NiTunables};
use lnet_dlc::request::AddLocalNi;
use lnet_dlc::runtime_dir::NodeName;
use lnet_log::{History, LogClass, write_line};
use lnet_metrics::{MetricsConfig, MetricsListener, MetricsServer, NamedNode};
use lnet_replies::HeatTable;
use lnet_wire::{NetId, Nid, Pid};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A node with its threads. A process may hold several. Dropping a node shuts it down.
#[derive(Debug)]
pub struct Node {
    core: Arc<Core>,
    clock: MonotonicClock,
    pub(crate) starter: Arc<NiStarter>,
    pub(crate) spin: Spin,
    name: NodeName,
    started_ns: u64,
    metrics: Option<MetricsConfig>,
    pub(crate) heat: HeatTable,
    pub(crate) setting_states: SettingStates,
    pub(crate) claims: Claims,
    pub(crate) history: Arc<History>,
    pub(crate) waiting: Arc<WaitingNis>,
    threads: [CoreThread; 2],
    links: Links,
}

impl Node {
    /// Starts a node: the loopback first, then the nets of `config` in order, its routes and its file. After a
    /// failure everything is shut down again; the cause is logged.
    pub fn start(pid: Pid, config: StartConfig) -> Result<Arc<Self>, Errno> {
        let clock = MonotonicClock::start();
        let started_ns = wall_clock_ns();
        let core = Core::new(CoreConfig {
            cpts: cpt::table(&config)?,
            placement: Some(Arc::new(SystemPlacement::default())),
            clock: Arc::new(clock),
            settings: config.settings,
            multi_rail: config.multi_rail,
            max_peers: config.max_peers,
            max_pending_responses: config.max_pending_responses,
            history: Some(Arc::clone(&config.history)),
            ..CoreConfig::new(pid, started_ns)
        });
        let discovery = CoreThread::start(core_threads::DISCOVERY, Arc::clone(&core), clock)?;
        let monitor = CoreThread::start(core_threads::MONITOR, Arc::clone(&core), clock)?;
        // A random number of the system, as the standard library uses them for its tables.
        let random = RandomState::new().hash_one(wall_clock_ns());
        let events = Arc::new(NiEvents(Arc::downgrade(&core)));
        let history = Arc::clone(&config.history);
        let context = DriverContext { events, clock: Arc::new(clock), random, history };
        let drivers = RunningDrivers::new(config.drivers.drivers(&context));
        let spin = Spin::new(config.wait_spin);
        let starter = Arc::new(NiStarter {
            core: Arc::clone(&core),
            drivers,
            sysfs: config.sysfs.clone(),
            has_large_nids: AtomicBool::new(config.nid_size == NidSize::Large),
        });
        let by_routes = (config.forwarding == Forwarding::ByRoutes).then_some(config.router_buffers);
        let waiting =
            Arc::new(WaitingNis::new(Arc::clone(&starter), config.interfaces_may_wait(), by_routes));
        let links = Links::new(Arc::<WaitingNis>::clone(&waiting));
        let node = Arc::new(Self {
            core,
            clock,
            starter,
            spin,
            name: config.name.clone(),
            started_ns,
            metrics: config.metrics.clone(),
            heat: HeatTable::new(clock.now()),
            setting_states: SettingStates::new(&config),
            claims: Claims::default(),
            history: Arc::clone(&config.history),
            threads: [discovery, monitor],
            waiting,
            links,
        });
        node.core.admin().add_ni(Nid::LOOPBACK, NiTunables::default(), drivers::LOOPBACK)?;
        node.while_importing(|| start::apply(&*node, &config))?;
        Ok(node)
    }

    /// Runs `import`, in which a file is imported at the start: the settings that it changes count as set by a file, and its interfaces
    /// may wait (`LNET_WAIT_FOR_INTERFACES`).
    pub fn while_importing<T>(&self, import: impl FnOnce() -> T) -> T {
        self.waiting.while_starting(|| self.setting_states.while_importing(import))
    }

    /// Gives interfaces that are added by their names large NIDs from now on.
    pub(crate) fn use_large_nids(&self) {
        self.starter.has_large_nids.store(true, Ordering::Relaxed);
        self.setting_states.note_large_nids();
    }

    /// Logs a warning if the node has only the loopback and waits for no interface, as that may not be intended.
    pub fn warn_if_only_loopback(&self) {
        if self.waiting.list().is_empty() && self.core.nets().nis().all(|ni| ni.nid().is_loopback()) {
            write_line!(
                LogClass::NoNetwork,
                "this node has no network but the loopback; it reaches no other node, and none reaches it, until a \
                 net is added (LNET_NETWORKS, as in LNET_NETWORKS=tcp; or `lnetctl net add`)"
            );
        }
    }

    /// The core of the node: MEs, MDs, EQs, PUT and GET.
    pub const fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Claims match bits for this process; [`Errno::AddressInUse`] if somebody has some of them.
    pub fn claim(&self, bits: ClaimedBits) -> Result<(), Errno> {
        self.claims.claim(Owner::NodeProcess, self.core.pid().0, bits)
    }

    /// Ends a claim of this process.
    pub fn release(&self, bits: ClaimedBits) -> Result<(), Errno> {
        self.claims.release(Owner::NodeProcess, bits)
    }

    /// The name that distinguishes the node from others on the machine (`LNET_NODE`).
    pub const fn name(&self) -> &NodeName {
        &self.name
    }

    /// The time at which the node started, in milliseconds since 1970-01-01 UTC.
    pub(crate) const fn started_ms(&self) -> u64 {
        self.started_ns / 1_000_000
    }

    /// The time on the node's clock.
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Adds an interface on `net`: by name, by address, or the machine's first. An error is logged;
    /// [`Errno::ProtocolNotSupported`] for a kind of net without a driver, [`Errno::Exists`] if the interface exists.
    pub fn add_ni(&self, net: NetId, interface: Option<&str>) -> Result<Nid, StartError> {
        let driver = self.starter.drivers.for_net(net).map_err(logged)?;
        let found = driver.find_interface(net, interface, self.starter.nid_size()).map_err(logged)?;
        let config = NiConfig { interface: Some(found.name), ..driver.ni_tunables().into() };
        self.start_ni(found.nid, config, &mut Vec::new()).map_err(logged)
    }

    /// Like [`Node::add_ni`], by NID: the address of the NID must be local.
    pub fn add_nid(&self, nid: Nid) -> Result<Nid, StartError> {
        let driver = self.starter.drivers.for_net(nid.net()).map_err(logged)?;
        self.start_ni(nid, driver.ni_tunables().into(), &mut Vec::new()).map_err(logged)
    }

    /// Adds a resolved interface with this configuration. An error is not logged; warnings are, and are added to `warnings`.
    pub(crate) fn start_ni(
        &self,
        nid: Nid,
        config: NiConfig,
        warnings: &mut Vec<String>,
    ) -> Result<Nid, StartError> {
        self.starter.start(nid, config, warnings)?;
        self.links.cover(&self.core, nid);
        self.waiting.release_routes();
        Ok(nid)
    }

    /// Lets an interface wait that the host lacks, for the reason `error`, as far as [`WaitingNis::admits`] it. Gives the error back where
    /// it cannot wait; where the machine tells nobody of its links and addresses none can.
    pub(crate) fn wait_for(&self, ni: AddLocalNi, error: StartError) -> Result<(), StartError> {
        if !error.may_pass || !self.waiting.admits(&ni) || !self.links.watch(&self.core) {
            return Err(error);
        }
        self.waiting.add(ni, &error.text);
        // It may have come before the watch began.
        self.waiting.retry().into_iter().for_each(|nid| self.links.cover(&self.core, nid));
        Ok(())
    }

    /// Removes an interface: see [`lnet_core::Admin::remove_ni`].
    pub fn remove_ni(&self, nid: Nid) -> Result<(), Errno> {
        self.core.admin().remove_ni(nid)
    }

    /// Serves control requests on sockets in the directory that the environment names (`LNET_RUNTIME_DIR`), until the returned
    /// server is stopped. Shut the node down first: clients that wait for a response get an error then.
    pub fn serve(self: &Arc<Self>) -> io::Result<ControlServer> {
        let mut config = ControlConfig::from_env(self.name.clone())?;
        config.history = Some(Arc::clone(&self.history));
        ControlServer::start(config, Arc::clone(self) as SharedBackend)
    }

    /// Serves metrics and health over HTTP until the returned server is dropped, if the configuration of the start names an address
    /// (`LNET_METRICS`). A failure is logged as a warning: the node works without. A node that is shut down first answers the last
    /// requests with errors.
    pub fn serve_metrics(self: &Arc<Self>) -> Option<MetricsServer> {
        let config = self.metrics.clone()?;
        let node = Arc::clone(self);
        let nodes = move || {
            let backend = Arc::clone(&node) as SharedBackend;
            vec![NamedNode { name: node.name.to_string(), backend }]
        };
        let served = MetricsListener::bind(config).and_then(|listener| listener.serve(Arc::new(nodes)));
        served
            .inspect_err(|error| {
                write_line!(
                    LogClass::MetricsUnavailable,
                    "metrics: cannot be served ({error}); the node runs without"
                )
            })
            .ok()
    }

    /// Stops the node. No event is delivered after the return. A second call has no effect. ACKs and REPLYs in
    /// flight have half a second to arrive, PUTs and GETs of this node two seconds to leave; the number of lost ones is logged.
    pub fn shutdown(&self) {
        self.drain();
        self.links.end();
        self.threads.iter().for_each(CoreThread::request_stop);
        self.core.admin().shutdown();
        self.starter.drivers.shutdown();
        self.threads.iter().for_each(CoreThread::join);
    }

    /// Waits for messages in flight: a program that exits after its last call must not lose messages that it has sent, nor
    /// leave a peer waiting for a response until the timeout.
    fn drain(&self) {
        let begun = self.now();
        let has_time = |timeout| self.now().since(begun) < timeout;
        while has_time(ANSWER_DRAIN_TIMEOUT) && self.core.has_pending_responses()
            || has_time(REQUEST_DRAIN_TIMEOUT) && self.core.data_path().unsent_requests() > 0
        {
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Logs why an interface was not added.
pub(crate) fn logged(error: StartError) -> StartError {
    write_line!(LogClass::NiNotStarted, "{error}");
    error
}

/// The time that the shutdown waits for the last responses to other nodes to arrive.
const ANSWER_DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// The time that the shutdown waits for this node's PUTs and GETs to leave. A first message, with its discovery, takes less.
const REQUEST_DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// The interval at which the shutdown checks for messages in flight.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

impl Drop for Node {
    fn drop(&mut self) {
        self.shutdown();
    }
}

/// A number that distinguishes this incarnation of the node from earlier ones: the wall clock in nanoseconds.
fn wall_clock_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64)
}

/// The way of a driver's events to the core.
#[derive(Debug)]
struct NiEvents(Weak<Core>);

impl InterfaceEvents for NiEvents {
    fn device_state(&self, nid: Nid, why: Option<&str>) {
        if let Some(core) = self.0.upgrade() {
            core.admin().set_ni_fatal(nid, FatalReporter::Driver, why);
        }
    }
}
