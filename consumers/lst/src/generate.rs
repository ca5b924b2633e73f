//! `lst generate`: the manual page and completions.

use crate::cli::{Cli, EXIT_STATUS};
use clap::CommandFactory;
use lnet_command_line::generate::{Pages, Program};

/// `lst`, whose page has a section for each command.
pub fn program() -> Program {
    Program {
        definition: Cli::command(),
        exit_status: EXIT_STATUS,
        pages: Pages::One,
        see_also: "lnetd(8), lnetctl(8)",
    }
}
