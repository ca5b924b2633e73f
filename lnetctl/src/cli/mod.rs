//! The command line: what there is to say. One file for each group of commands.
//!
//! The documentation of options is what `--help` prints, in which brackets are no links.
#![allow(rustdoc::broken_intra_doc_links)]

mod cluster;
mod doctor;
mod events;
mod exporter;
mod fault;
mod globals;
mod lnet;
mod net;
mod number;
mod others;
mod peer;
mod ping;
mod program;
mod report;
mod route;
mod selection;
mod set;
mod stats;
mod top;
mod udsp;
mod yaml;

pub use cluster::{Cluster, ClusterCheck, ClusterCollect, DrillOptions};
pub use doctor::Doctor;
pub use events::Events;
pub use exporter::Exporter;
pub use fault::{Delay, DelayAdd, Drop, DropAdd, Fault, FaultDel, FaultFilter, FaultShow};
pub use globals::{Format, Globals};
pub use lnet::Lnet;
pub use net::{Net, NetAdd, NetDel, NetSet, NetShow};
pub use others::{CptOfNid, Debug, Global, Numa, PeerCredits};
pub use peer::{Peer, PeerAdd, PeerDel, PeerExplain, PeerSet, PeerShow};
pub use ping::{Discover, OwnNode, Ping};
pub use program::{Program, ProgramShow};
pub use report::Report;
pub use route::{Route, RouteAdd, RouteDel, RouteShow};
pub use selection::{Adding, Deleting, NetRules, NidRules, PeerRules, Selection};
pub use set::{Routing, Set, SettingValue, Value};
pub use stats::{Stats, StatsCommand, StatsRate, StatsShow};
pub use top::{Sort, Top};
pub use udsp::{Udsp, UdspAdd, UdspDel, UdspShow};
pub use yaml::{Apply, Convert, Export, Import};

use clap::{CommandFactory, Parser, Subcommand};

/// Configures and shows LNet nodes on this machine.
///
/// Without a command it reads commands, one a line: from the terminal with a prompt, or from standard input
/// until the first that fails.
///
/// What is shown goes to standard output, as YAML. Commands that change something say nothing when it went
/// well. A failure is told on standard error, as YAML: what was tried, on what, the number of the error, and
/// what helps.
///
/// Options may be shortened as long as they are unambiguous (--prim for --prim_nid); commands may not.
/// Numbers are decimal, hexadecimal (0x...) or octal (0...).
#[derive(Debug, Parser)]
#[command(
    name = "lnetctl",
    version,
    infer_long_args = true,
    disable_help_subcommand = true,
    max_term_width = 100,
    after_help = EXIT_STATUS
)]
pub struct Cli {
    #[command(flatten)]
    globals: Globals,
    /// Print the names of all commands
    #[arg(long)]
    list_commands: bool,
    #[command(subcommand)]
    /// The command to carry out.
    pub command: Command,
}

pub(crate) const EXIT_STATUS: &str = "\
Exit status: 0 when everything went well; 255 for something on the command line that cannot be read; \
256 - N for error N of the system, such as 239 for EEXIST; 1 after --help of a command (0 for import, \
export, ping and discover).";

/// The commands of `lnetctl`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start or stop LNet
    ///
    /// A node needs a process. Programs that use LNet have one of their own, or attach to that of a daemon; where none runs,
    /// 'lnet configure' starts the daemon lnetd, whose node has the loopback only. 'net add' or 'import' gives it nets. 'lnet
    /// unconfigure' ends it.
    #[command(subcommand)]
    Lnet(Lnet),
    /// Routes: nets that are reached through other nodes
    ///
    /// A node reaches a net that none of its interfaces is on by a gateway: a router that is on one of its nets, and forwards. A route
    /// names the net and the gateway. Give several routes for a net where there are several routers: the node checks each of them, and
    /// uses those that are up. The nodes on the other side need routes back.
    #[command(subcommand)]
    Route(Route),
    /// Nets and the interfaces on them
    ///
    /// A node is on nets by its interfaces, each of which has an address on the net: its NID. Several interfaces on one net, or on several nets
    /// that peers are on as well, are rails: messages are spread over them, and avoid those that fail. Interfaces may come and go
    /// while the node runs.
    #[command(subcommand)]
    Net(Net),
    /// What this node has as a router
    ///
    /// A node forwards messages between its nets after 'set routing 1'. It keeps them in router buffers meanwhile, whose numbers 'set
    /// tiny_buffers' and its like change. Few credits and a mincredits below 0 say that messages have waited for buffers.
    #[command(subcommand)]
    Routing(Routing),
    /// Settings of the whole node
    ///
    /// Each has a number or a word as its value, and takes effect at once. 'global show' shows the values, 'tunables' also their defaults
    /// and who set them. A file of configuration has them in its block 'global'; at the start an environment variable sets each.
    #[command(subcommand)]
    Set(Set),
    /// Read a YAML file of configuration
    ///
    /// Every form of configuration that lnetctl wrote since 2.7 is read. A file with a mistake is not begun,
    /// and every mistake is reported with its line. After that a failing item does not stop the others; the
    /// last failure is the exit status.
    Import(Import),
    /// Print the whole configuration as YAML
    ///
    /// Nets, routes, routing, buffers, peers, settings, selection rules. It fails if something of it cannot be read; standard output then
    /// has the rest, and a file is left as it was.
    Export(Export),
    /// Counters of the node
    ///
    /// What the node has sent, received, forwarded and dropped, and how sending failed: local_... where this node is the cause, remote_...
    /// the peer, network_... the path. Counters that grow tell where to look next: 'net show -v 3' and 'peer show -v 3' have those of each
    /// interface.
    Stats(Stats),
    /// For finding faults
    ///
    /// A NID whose health has suffered is in recovery: it is pinged until it is healthy again. This shows which ones are, on either side.
    #[command(subcommand)]
    Debug(Debug),
    /// All settings of the node
    ///
    /// In the form of the block 'global' of a file of configuration. 'set' changes one of them.
    #[command(subcommand)]
    Global(Global),
    /// All settings of the node and tunables of its drivers, with values, defaults and who set them
    ///
    /// Use it where a value is not the expected one: it says whether the default, the environment, a file or a command has set it, and
    /// whether it can change while the node runs.
    Tunables,
    /// Other nodes: their NIDs, state and health, and the path that messages to them take
    ///
    /// A peer is another node that this one exchanges messages with, and all NIDs by which it can be reached. Most peers need no
    /// configuration: a node discovers their NIDs at the first message, and forgets peers that nobody uses. Add a peer by hand where
    /// discovery is off, or to fix its NIDs.
    ///
    /// When messages to a node fail, 'peer show -v 3' shows its credits, counters and health, and 'peer explain' which path the next
    /// message takes, and why no other.
    #[command(subcommand)]
    Peer(Peer),
    /// Ask other nodes for their NIDs
    ///
    /// A ping says whether LNet is up on another node and can be reached, and by which NIDs else. It stores nothing: 'discover' does.
    ///
    /// It fails if one of the words found no answer; between commas, one answer is enough.
    Ping(Ping),
    /// Discover other nodes: learn all their NIDs, and tell them those of this node
    ///
    /// Nodes do so by themselves before the first message to a peer. The command does it again, whatever is known of the peer, and
    /// waits for the result: after a change of interfaces, or to see why a peer is used by one NID only.
    ///
    /// It fails if one of the words found no answer; between commas, one answer is enough.
    Discover(Discover),
    /// Show the service ID by which the node's o2ib interfaces are reached
    ///
    /// Subnet managers and firewalls of InfiniBand tell LNet's connections by it. A node without o2ib interfaces has none.
    ServiceId,
    /// Selection rules: which interfaces are preferred for what
    ///
    /// The User Defined Selection Policy: where a node has several paths to another, rules say which nets, interfaces, peers, pairs and
    /// routers come first. Health goes before rules, so that a preferred interface that fails is left until it recovers. Without rules
    /// all paths that work are used alike. 'peer explain' shows what a rule does.
    #[command(subcommand, alias = "policy")]
    Udsp(Udsp),
    /// Selection rules by what they are about: nets, NIDs, pairs
    #[command(subcommand, hide = true)]
    Selection(Selection),
    /// Run the system's helper that sets up routing tables for machines with several interfaces
    ///
    /// Runs /usr/sbin/ksocklnd-config, or the program of that name that the environment variable
    /// KSOCKLND_CONFIG names, with the interfaces of all TCP nets, separated by commas.
    SetupMrrouting,
    /// Show to which CPU partition a NID belongs
    ///
    /// The CPUs of a machine are divided into partitions, and the state of a peer is kept in one of them, which follows from its NID. This is for
    /// finding out why one CPU has more to do than others.
    CptOfNid(CptOfNid),
    /// Show the NUMA range
    #[command(subcommand, hide = true)]
    Numa(Numa),
    /// Show peers with their credits
    #[command(subcommand, name = "peer_credits", hide = true)]
    PeerCredits(PeerCredits),
    /// Make the node what a file says, and change only what differs
    ///
    /// The file is one that import takes. Nets, routes, configured peers and selection rules that the file does not have are removed, each
    /// kind if the file has its block: 'route: []' removes all routes. Blocks and settings that the file does not have stay as they are.
    /// Pings and discoveries of the file are not carried out. An interface whose tunables cannot change while it exists is removed and
    /// added again. A file with a mistake is not begun; a second time there is nothing to change.
    Apply(Apply),
    /// Print the options of Lustre's kernel modules as YAML
    ///
    /// Reads what /etc/modprobe.d has for the modules lnet, ksocklnd and ko2iblnd: networks or ip2nets, routes, forwarding, router buffers,
    /// settings of the node, and tunables of the drivers, which become those of the interfaces on their nets. The result is a file for
    /// import. Options that no key of a file has are named on standard error. Nothing of Lustre is needed, and no node.
    Convert(Convert),
    /// Lose or delay messages on purpose, to test what is built on LNet
    ///
    /// Rules say which messages of this node are lost, fail or come late, by sender, receiver, type and portal. With them a program can
    /// be tested against failing networks without touching cables. Rules end with the node, or by 'del'.
    #[command(subcommand)]
    Fault(Fault),
    /// Look for what keeps this host, or the path to another node, from working
    ///
    /// Looks at interfaces in one subnet, the firewall, the port, the right to low ports, locked memory and the clock; and, where a node
    /// runs, at its interfaces: whether they are up, send by their own links, and can be connected to. With a NID it then tries the path
    /// to that node: its name, the route, a TCP connection, whether it is accepted, the HELLO and a ping; it stops at the first step that
    /// fails. Each line says what was seen and what to do. Fails if something is wrong; warnings are no failure.
    Doctor(Doctor),
    /// Put all that is known about the node and this host into one archive, for whoever is asked for help
    ///
    /// It has the configuration, the states of nets and peers, counters, settings with who set them, programs, the log of a daemon that
    /// lnetctl started, versions, limits, and what doctor finds. It has NIDs, names of interfaces and of programs, and the variables of this
    /// library, but no other variable and nothing of what messages carry. Only its owner may read it. Without a node it has the host.
    Report(Report),
    /// The configurations of all nodes of a cluster together: whether they work, and what depends on a single part
    ///
    /// A check reads files alone: no node, no network and no privilege are needed. A path is a directory with one file NODE.yaml for each node, as
    /// 'lnetctl export' writes it; or one such file; or a topology file, which names classes of nodes, their numbers and addresses.
    #[command(subcommand)]
    Cluster(Cluster),
    /// Programs that have no node of their own and are attached to this one
    ///
    /// A program whose environment names no nets uses the node of the user's lnetd, together with others. This shows them, with their
    /// processes and PIDs in LNet, and what they have on the node.
    #[command(subcommand)]
    Program(Program),
    /// What has happened: changes of interfaces, peers, paths, routes, connections, fault rules and the configuration
    ///
    /// One line each, the oldest first: its time, its level and the line of the log, also where the log has a level at which it is not
    /// written. A change of the configuration names the user, the process and the program that made it. The node keeps the last 4096; lnetd
    /// with --events-file keeps them over its restarts.
    Events(Events),
    /// Watch interfaces and peers, their rates, credits and health
    ///
    /// One line for each interface of the node and for each peer. Look here first when transfers are slow: for rails without traffic, for
    /// health below 1000, and for credits below 0, behind which messages wait.
    ///
    /// q ends it; p stops the picture and lets it go on; s changes the order of the peers; the arrow keys, j,
    /// k, PageUp, PageDown, Home and End move through them.
    Top(Top),
    /// Serve the metrics of all nodes of this host that the user may ask, until a signal ends it
    ///
    /// Prometheus finds them at http://ADDR/metrics; http://ADDR/healthz says whether the nodes are healthy; a browser shows them
    /// as they change at http://ADDR/. --node has no effect.
    Exporter(Exporter),
    /// Summarise the commands, or one of them
    Help {
        /// A command
        command: Option<String>,
    },
    /// End the interactive shell
    Exit,
    /// End the interactive shell
    Quit,
}

/// The names of the commands, in the order of lnetctl 2.15.
pub fn names() -> Vec<String> {
    let command = Cli::command();
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    shown.map(|command| command.get_name().to_owned()).chain(["--list-commands".to_owned()]).collect()
}

/// Options for the amount of detail that is shown.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Verbosity {
    /// Show more; levels 1 to 4, and 5 for what only this program shows; 1 without LEVEL
    #[arg(short, long, alias = "detail", value_name = "LEVEL", num_args = 0..=1, default_missing_value = "1", value_parser = number::count)]
    verbose: Option<u32>,
}

impl Verbosity {
    /// The level; 0 if nothing was said.
    pub fn level(self) -> u32 {
        self.verbose.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_has_no_contradictions() {
        Cli::command().debug_assert();
    }
}
