//! `lst generate`: the manual page and completions.

use crate::cli::{Cli, EXIT_STATUS};
use clap::CommandFactory;
use lnet_command_line::generate::{Pages, Program};

const EXAMPLES: &str = include_str!("cli/examples.md");

const FILES: &[(&str, &str)] = &[
    ("/run/lnet/NAME.sock", "The control socket of the node NAME of root, for sessions that live in lnetd."),
    ("$XDG_RUNTIME_DIR/lnet/NAME.sock", "That of another user."),
];

/// `lst`, whose page has a section for each command.
pub fn program() -> Program {
    Program {
        definition: Cli::command(),
        exit_status: EXIT_STATUS,
        pages: Pages::One,
        examples: EXAMPLES,
        files: FILES,
        see_also: &[(
            "",
            &["lnetd(8)", "lnetctl(8)", "lnet(7)", "lnet-environment(7)", "lnet_selftest_start(3)"],
        )],
        values: None,
    }
}
