//! The start configuration of a node.

use crate::driver_configs::DriverConfigs;
use lnet_core::Settings;
use lnet_core::cpt::Layout;
use lnet_core::lnd::NidSize;
use lnet_dlc::ip2nets::Rule;
use lnet_dlc::networks::Network;
use lnet_dlc::request::AddRoute;
use lnet_dlc::runtime_dir::NodeName;
use lnet_log::History;
use lnet_metrics::MetricsConfig;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The start of forwarding with the node (RT-42).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Forwarding {
    /// The node forwards if one of its routes names a NID of the node itself as the gateway.
    #[default]
    ByRoutes,
    /// The node forwards.
    Enabled,
    /// The node does not forward.
    Disabled,
}

/// Whether the node starts although an interface of its configuration is not there yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InterfaceWait {
    /// As the program has it that the node runs in: [`StartConfig::waits_by_default`].
    #[default]
    ByProgram,
    /// The node starts, and the interface is started when it is there.
    Enabled,
    /// The start ends with an error.
    Disabled,
}

/// The start configuration of a node. The nets, rules, routes and the file are all applied, in this order;
/// [`StartConfig::from_env`] sets either the file or the others.
#[derive(Clone, Debug)]
pub struct StartConfig {
    /// The name that distinguishes the node from others on the machine (`LNET_NODE`); by default the process id.
    pub name: NodeName,
    /// The nets to add besides the loopback.
    pub networks: Vec<Network>,
    /// The rules that select nets by the machine's addresses; if there are any, at least one must match.
    pub ip2nets: Vec<Rule>,
    /// Whether a rule that names a missing interface ends the start, or only causes a warning.
    pub ip2nets_strict: bool,
    /// The size of the NIDs of interfaces that are given by their names.
    pub nid_size: NidSize,
    /// The routes to other nets. Routes with unreachable gateways are skipped.
    pub routes: Vec<AddRoute>,
    /// Whether the node forwards messages between its nets from the start.
    pub forwarding: Forwarding,
    /// The numbers of tiny, small and large router buffers over all CPTs, if the node forwards from its start; 0: the default
    /// (RT-40).
    pub router_buffers: [u32; 3],
    /// Whether the node starts although an interface is not there yet.
    pub interface_wait: InterfaceWait,
    /// Whether it does where nobody says: of use to a program that runs from the boot of a machine on, and not to one whose user waits for it,
    /// who would learn nothing of a name that is wrong.
    pub waits_by_default: bool,
    /// Whether the start waits until each gateway has responded or failed (RT-25).
    pub check_routers_before_use: bool,
    /// The path of a YAML file to import.
    pub config_file: Option<PathBuf>,
    /// What is served over HTTP, and where, once [`crate::Node::serve_metrics`] is called; `None`: nothing.
    pub metrics: Option<MetricsConfig>,
    /// The settings of the node, which can be changed while it runs.
    pub settings: Settings,
    /// The node's drivers, each with its tunables.
    pub drivers: DriverConfigs,
    /// The time for which a thread that waits for an event spins before it sleeps; zero: it does not spin.
    pub wait_spin: Duration,
    /// Whether the node has Multi-Rail: see [`lnet_core::CoreConfig::multi_rail`].
    pub multi_rail: bool,
    /// The number of peer NIs above which received messages add no more.
    pub max_peers: usize,
    /// The number of pending ACKs and REPLYs above which requests are dropped.
    pub max_pending_responses: u32,
    /// The CPU partitions of the machine.
    pub cpts: Layout,
    /// Where changes of state are kept.
    pub history: Arc<History>,
    /// The settings that environment variables have set, each with the variable.
    pub set_by_variables: Vec<(&'static str, &'static str)>,
    /// The directory with CPUs, NUMA nodes and devices: `/sys`, or one with the same layout.
    pub sysfs: PathBuf,
}

impl Default for StartConfig {
    fn default() -> Self {
        Self {
            name: NodeName::of_this_process(),
            networks: Vec::new(),
            ip2nets: Vec::new(),
            ip2nets_strict: true,
            nid_size: NidSize::Short,
            routes: Vec::new(),
            forwarding: Forwarding::ByRoutes,
            router_buffers: [0; 3],
            interface_wait: InterfaceWait::ByProgram,
            waits_by_default: false,
            check_routers_before_use: false,
            config_file: None,
            metrics: None,
            settings: Settings::default(),
            drivers: DriverConfigs::default(),
            wait_spin: default_spin(),
            multi_rail: true,
            max_peers: 65_536,
            max_pending_responses: 65_536,
            cpts: Layout::Default,
            history: Arc::new(History::new(SystemTime::now)),
            set_by_variables: Vec::new(),
            sysfs: "/sys".into(),
        }
    }
}

impl StartConfig {
    /// Whether interfaces that are not there yet may wait.
    pub(crate) const fn interfaces_may_wait(&self) -> bool {
        match self.interface_wait {
            InterfaceWait::ByProgram => self.waits_by_default,
            InterfaceWait::Enabled => true,
            InterfaceWait::Disabled => false,
        }
    }
}

/// The default of `wait_spin`. With one CPU a spinning thread keeps the thread that it waits for from running.
fn default_spin() -> Duration {
    let alone = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() == 1);
    if alone { Duration::ZERO } else { Duration::from_micros(200) }
}
