//! `lnetctl generate`: manual pages and completions.

use crate::cli::{Cli, EXIT_STATUS};
use clap::CommandFactory;
use lnet_command_line::generate::{Pages, Program};

/// `lnetctl`, with a page for each command or group of commands.
pub fn program() -> Program {
    Program { definition: Cli::command(), exit_status: EXIT_STATUS, pages: Pages::EachCommand, see_also: "" }
}
