//! `lnetctl cluster`

use clap::{ArgGroup, Args, Subcommand};
use lnet_cluster::report::picture::Form;
use std::path::PathBuf;

/// The commands about all nodes of a cluster.
#[derive(Debug, Subcommand)]
pub enum Cluster {
    /// Find what is wrong with the configurations of all nodes together
    ///
    /// Nodes that cannot reach each other, gateways that do not forward, duplicate NIDs, settings that differ, single points of failure and
    /// more: docs/cluster-check.md explains each finding. Every finding has its file and line, why it matters, and what mends it.
    ///
    /// The worst comes first, and a summary last. Exit status: 0 without errors, 1 with errors, 2 if a file cannot be read.
    ///
    /// With --lose, --lose-any or --load it makes a drill instead: a sample of the nodes runs in a simulator under load, with the code that real
    /// nodes run, and loses interfaces, routers, nets or switches. The report says which operations failed or were late, how traffic was
    /// spread before and after, and which paths were chosen. The same options give the same report. Exit status: 1 if an operation between
    /// nodes that were not lost failed.
    ///
    /// With --compare it says what changes for whom from one configuration to another: nodes, settings, routes, paths, findings. Exit status: 1
    /// if nodes lose their path to others, or an error appears.
    Check(ClusterCheck),
    /// Gather the configurations, states and counters of all nodes in a directory, for `cluster check`
    ///
    /// Runs `lnetctl export` on each host, and `lnetctl` of other commands that show its state, by the command --via: the host takes the
    /// place of {}. Nodes with the kernel modules are read by their own lnetctl. HOST.yaml is the configuration, the directory HOST has
    /// the rest. Hosts that cannot be read are named with the reason, and keep no file; then the exit status is 1.
    Collect(ClusterCollect),
}

/// Options of `cluster check`.
#[derive(Debug, Args)]
pub struct ClusterCheck {
    /// Directories of configurations, configurations, and topology files
    #[arg(value_name = "PATH", required_unless_present = "compare")]
    pub paths: Vec<PathBuf>,
    /// Fail with warnings, too; notes never fail
    #[arg(long, conflicts_with_all = ["drill", "compare"])]
    pub strict: bool,
    /// Draw the nets, classes and routers with the findings, as SVG or for Graphviz: FILE.svg, FILE.dot
    #[arg(long, value_name = "FILE", value_parser = picture_file, conflicts_with_all = ["drill", "compare"])]
    pub picture: Option<PathBuf>,
    /// Show what changes from the configuration OLD to NEW; each is a directory or a file, as PATH is
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], conflicts_with_all = ["paths", "drill"])]
    pub compare: Option<Vec<PathBuf>>,
    /// The losses and the load of a drill, if one is asked for.
    #[command(flatten)]
    pub drill: DrillOptions,
}

/// Options of drills.
#[derive(Debug, Args)]
#[group(skip)]
#[command(group = ArgGroup::new("drill").multiple(true))]
pub struct DrillOptions {
    /// Lose NODE, NODE:INTERFACE, a NID, a net or switch:LABEL, five seconds after the start or at @TIME, such as mds1:eth1@10s; may be given
    /// several times
    #[arg(long, value_name = "ELEMENT", group = "drill")]
    pub lose: Vec<String>,
    /// Lose each rail, net, router, switch or node in turn, and show the worst: of nodes of one class one, and its interfaces for rails
    #[arg(long, value_name = "KIND", group = "drill")]
    pub lose_any: Option<String>,
    /// Operations of each node: put or get, size, number in flight [default: put:1M,x8]
    #[arg(long, value_name = "LOAD", group = "drill")]
    pub load: Option<String>,
    /// The simulated time in which operations begin [default: 30s]
    #[arg(long = "for", value_name = "TIME", requires = "drill")]
    pub duration: Option<String>,
    /// The seed of all random numbers of the simulation [default: 1]
    #[arg(long, value_name = "NUMBER", requires = "drill")]
    pub seed: Option<u64>,
    /// The number of nodes of each class that are simulated, besides all routers [default: 4]
    #[arg(long, value_name = "NUMBER", requires = "drill", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub clients: Option<u64>,
    /// Simulate nodes of the kernel, which send a message again only if it has not left
    #[arg(long, requires = "drill")]
    pub kernel_nodes: bool,
    /// Draw the throughput over time into this file, as SVG
    #[arg(long, value_name = "FILE", requires = "drill")]
    pub chart: Option<PathBuf>,
}

impl DrillOptions {
    /// Whether a drill is asked for.
    pub const fn is_given(&self) -> bool {
        !self.lose.is_empty() || self.lose_any.is_some() || self.load.is_some()
    }
}

/// Options of `cluster collect`.
#[derive(Debug, Args)]
pub struct ClusterCollect {
    /// The hosts
    #[arg(value_name = "HOST", required_unless_present = "nids")]
    pub hosts: Vec<String>,
    /// A file with a NID on each line: hosts are their addresses, files are named after the NIDs. What follows # is a comment
    #[arg(long, value_name = "FILE")]
    pub nids: Option<PathBuf>,
    /// The command that runs a program on a host, whose name takes the place of {}. It is split at spaces, and no shell reads it
    #[arg(long, value_name = "COMMAND", default_value = "ssh -o BatchMode=yes {}")]
    pub via: String,
    /// The directory for the files; it is made if it is not there
    #[arg(long, short, value_name = "DIRECTORY", default_value = "cluster")]
    pub output: PathBuf,
    /// The number of hosts that are asked at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: u16,
    /// The time in seconds after which a command on a host is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub timeout: u64,
}

/// A file whose suffix says the form of a picture.
fn picture_file(file: &str) -> Result<PathBuf, String> {
    let file = PathBuf::from(file);
    match Form::of_file(&file) {
        Some(_) => Ok(file),
        None => Err("the name must end with .svg, .dot or .gv".to_owned()),
    }
}
