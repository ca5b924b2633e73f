//! What a node is started with.

use lnet_core::cpt::Layout;
use lnet_core::{NiTunables, Settings};
use lnet_dlc::ip2nets::Rule;
use lnet_dlc::networks::Network;
use lnet_dlc::request::AddRoute;
use lnet_dlc::runtime_dir::NodeName;
use socklnd::{DeliveryAcks, SocklndConfig};
use std::path::PathBuf;
use std::time::Duration;

/// What a node is started with. Of the nets, rules, routes and the file, all that there are apply, in this
/// order; [`StartConfig::from_env`] fills in the file or the others.
#[derive(Clone, Debug)]
pub struct StartConfig {
    /// What the node is called where several run on one machine (`LNET_NODE`); the process id otherwise.
    pub name: NodeName,
    /// The nets it is on, besides the loopback.
    pub networks: Vec<Network>,
    /// By which of the machine's addresses it is on which nets; with rules, at least one must match.
    pub ip2nets: Vec<Rule>,
    /// Whether an interface that a rule names and this machine does not have so ends the start, or only
    /// brings a warning.
    pub ip2nets_strict: bool,
    /// By whom other nets are reached. Those by nodes that this one cannot reach are passed over.
    pub routes: Vec<AddRoute>,
    /// A YAML file to import.
    pub config_file: Option<PathBuf>,
    /// Settings of the whole node, which can be changed while it runs.
    pub settings: Settings,
    /// For every interface.
    pub ni: NiTunables,
    /// For the TCP driver.
    pub socklnd: SocklndConfig,
    /// Whether peers of this implementation are told that this node is one of theirs. If not, each takes the other for a
    /// kernel node.
    pub says_implementation: bool,
    /// How long a thread that waits for an event asks again and again before it sleeps; zero is not at all.
    pub wait_spin: Duration,
    /// Whether peers' interfaces are compared by their queued bytes before their credits (snd-035).
    pub compare_queued_bytes: bool,
    /// How many peer NIs there may be before others' messages make no more.
    pub max_peers: usize,
    /// How many ACKs and REPLYs may wait until their peers take them before what asks for more is dropped.
    pub max_pending_responses: u32,
    /// Into which CPU partitions the machine is divided.
    pub cpts: Layout,
    /// Where the system tells of CPUs, NUMA nodes and devices: `/sys`, or what is laid out like it.
    pub sysfs: PathBuf,
}

impl Default for StartConfig {
    fn default() -> Self {
        Self {
            name: NodeName::of_this_process(),
            networks: Vec::new(),
            ip2nets: Vec::new(),
            ip2nets_strict: true,
            routes: Vec::new(),
            config_file: None,
            settings: Settings::default(),
            ni: NiTunables::default(),
            socklnd: SocklndConfig { delivery_acks: DeliveryAcks::All, ..SocklndConfig::default() },
            says_implementation: true,
            wait_spin: default_spin(),
            compare_queued_bytes: false,
            max_peers: 65_536,
            max_pending_responses: 65_536,
            cpts: Layout::Default,
            sysfs: "/sys".into(),
        }
    }
}

/// On one CPU, who spins keeps the one from running that it waits for.
fn default_spin() -> Duration {
    let alone = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() == 1);
    if alone { Duration::ZERO } else { Duration::from_micros(50) }
}
