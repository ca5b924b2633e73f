//! The command line of `lst`. One file for each group of commands.
//!
//! The documentation of options is what `--help` prints, in which brackets are no links.
#![allow(rustdoc::broken_intra_doc_links)]

mod batch;
mod bench;
mod globals;
mod group;
mod number;
mod ping;
mod session;
mod stat;
mod survey;
mod test;

pub use batch::{AddBatch, ListBatch, Query, Run, Stop};
pub use bench::Bench;
pub use globals::{Format, Globals};
pub use group::{AddGroup, DelGroup, ListGroup, UpdateGroup};
pub use ping::Ping;
pub use session::NewSession;
pub use stat::{ShowError, Stat};
pub use survey::Survey;
pub use test::{AddTest, test_spec};

use clap::{CommandFactory, Parser, Subcommand};

/// Tests the network between LNet nodes: the console of LNet selftest.
///
/// A session holds nodes of this library and of the kernel (with its module lnet_selftest), in groups. Tests go from one
/// group to another, and start and end together as a batch. All commands of a session need its key in LST_SESSION: any
/// number but 0, such as `export LST_SESSION=$$`. Between two commands a console in the background keeps the session; it
/// is a node of its own, made from LNET_NETWORKS and its like, or lives in a running `lnetd --selftest`.
///
/// Without a command it reads commands, one a line: from the terminal with a prompt, or from standard input.
///
/// Options may be shortened as long as they are unambiguous (--timeo for --timeout).
#[derive(Debug, Parser)]
#[command(
    name = "lst",
    version,
    infer_long_args = true,
    args_override_self = true,
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
Exit status: 0 when everything went well; 255 for something on the command line that cannot be read, or that the \
console refuses; 254 when some node did not answer; 253 when all answered and some said no.";

/// The commands of `lst`.
#[derive(Debug, Subcommand)]
#[command(rename_all = "snake_case")]
pub enum Command {
    /// Make a session
    NewSession(NewSession),
    /// Take the session from all nodes, and end it
    EndSession,
    /// Show the session, with its key
    ShowSession,
    /// Ask nodes which session they have
    Ping(Ping),
    /// Make a group of nodes
    AddGroup(AddGroup),
    /// Delete a group
    DelGroup(DelGroup),
    /// Give nodes of a group the session again, or take nodes out of it
    UpdateGroup(UpdateGroup),
    /// Show groups, or the nodes of some
    ListGroup(ListGroup),
    /// Show how many messages nodes exchange, and how many bytes
    Stat(Stat),
    /// Show the nodes that had errors
    ShowError(ShowError),
    /// Make a batch of tests
    AddBatch(AddBatch),
    /// Start the tests of a batch
    Run(Run),
    /// End the tests of a batch
    Stop(Stop),
    /// Show batches, or the tests and nodes of one
    ListBatch(ListBatch),
    /// Show whether a batch runs
    Query(Query),
    /// Put a test into a batch
    AddTest(AddTest),
    /// Measure a node: session, groups, test, result, and all is undone
    ///
    /// Needs no session and no LST_SESSION. The node that is measured has to run selftest: `lnetd --selftest`, or the
    /// kernel with its module lnet_selftest. Interrupting it ends its session, too.
    Bench(Bench),
    /// Measure every pair of nodes: a matrix of bandwidths and round trips, the slow link and the failed pairs
    ///
    /// Needs no session and no LST_SESSION. The nodes have to run selftest, as for bench. Each pair takes as long as two
    /// measurements: one of the test, one of pings. Interrupting it ends its session, and shows what was measured.
    ///
    /// A pair is slow if its rate is below half of the median of the other pairs with this client, and of those with this
    /// server. A node most of whose pairs are slow is named in their place.
    Survey(Survey),
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

/// The names of the commands.
pub fn names() -> Vec<String> {
    let command = Cli::command();
    command.get_subcommands().map(|command| command.get_name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_has_no_contradictions() {
        Cli::command().debug_assert();
    }
}
