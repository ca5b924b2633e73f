//! The command line: what there is to say. One file for each group of commands.
//!
//! The documentation of options is what `--help` prints, in which brackets are no links.
#![allow(rustdoc::broken_intra_doc_links)]

mod events;
mod fault;
mod globals;
mod lnet;
mod net;
mod number;
mod others;
mod peer;
mod ping;
mod program;
mod route;
mod selection;
mod set;
mod stats;
mod top;
mod udsp;
mod yaml;

pub use events::Events;
pub use fault::{Delay, DelayAdd, Drop, DropAdd, Fault, FaultDel, FaultFilter, FaultShow};
pub use globals::{Format, Globals};
pub use lnet::Lnet;
pub use net::{Net, NetAdd, NetDel, NetSet, NetShow};
pub use others::{CptOfNid, Debug, Global, Numa, PeerCredits};
pub use peer::{Peer, PeerAdd, PeerDel, PeerExplain, PeerSet, PeerShow};
pub use ping::{Discover, Ping};
pub use program::{Program, ProgramShow};
pub use route::{Route, RouteAdd, RouteDel, RouteShow};
pub use selection::{Adding, Deleting, NetRules, NidRules, PeerRules, Selection};
pub use set::{Routing, Set, SettingValue, Value};
pub use stats::{Stats, StatsCommand, StatsRate, StatsShow};
pub use top::{Sort, Top};
pub use udsp::{Udsp, UdspAdd, UdspDel, UdspShow};
pub use yaml::{Export, Import};

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
    #[command(subcommand)]
    Lnet(Lnet),
    /// Routes: nets that are reached through other nodes
    #[command(subcommand)]
    Route(Route),
    /// Nets and the interfaces on them
    #[command(subcommand)]
    Net(Net),
    /// What this node has as a router
    #[command(subcommand)]
    Routing(Routing),
    /// Settings of the whole node
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
    Stats(Stats),
    /// For finding faults
    #[command(subcommand)]
    Debug(Debug),
    /// All settings of the node
    #[command(subcommand)]
    Global(Global),
    /// All settings of the node and tunables of its drivers, with values, defaults and who set them
    Tunables,
    /// Other nodes
    #[command(subcommand)]
    Peer(Peer),
    /// Ask other nodes for their NIDs
    ///
    /// It fails if one of the words found no answer; between commas, one answer is enough.
    Ping(Ping),
    /// Discover other nodes: learn all their NIDs, and tell them those of this node
    ///
    /// It fails if one of the words found no answer; between commas, one answer is enough.
    Discover(Discover),
    /// Show the service ID by which the node's o2ib interfaces are reached
    ServiceId,
    /// Selection rules: which interfaces are preferred for what
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
    CptOfNid(CptOfNid),
    /// Show the NUMA range
    #[command(subcommand, hide = true)]
    Numa(Numa),
    /// Show peers with their credits
    #[command(subcommand, name = "peer_credits", hide = true)]
    PeerCredits(PeerCredits),
    /// Lose or delay messages on purpose, to test what is built on LNet
    #[command(subcommand)]
    Fault(Fault),
    /// Programs that have no node of their own and are attached to this one
    #[command(subcommand)]
    Program(Program),
    /// What has happened: changes of interfaces, peers, paths, routes, connections, fault rules and the configuration
    ///
    /// One line each, the oldest first: its time, its level and the line of the log, also where the log has a level at which it is not
    /// written. The node keeps the last 4096; lnetd with --events-file keeps them over its restarts.
    Events(Events),
    /// Watch interfaces and peers, their rates, credits and health
    ///
    /// q ends it; p stops the picture and lets it go on; s changes the order of the peers; the arrow keys, j,
    /// k, PageUp, PageDown, Home and End move through them.
    Top(Top),
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
