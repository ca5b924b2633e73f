//! `lnetctl program`

use super::{Verbosity, number};
use clap::{Args, Subcommand};

/// Programs that use the node.
#[derive(Debug, Subcommand)]
pub enum Program {
    /// Show the programs that are attached to the node, and how many attachments it has refused
    Show(ProgramShow),
}

/// Options of `program show`.
#[derive(Debug, Args)]
pub struct ProgramShow {
    /// Only the program of this process
    #[arg(short, long, value_name = "ID", value_parser = number::count)]
    pub process: Option<u32>,
    #[command(flatten)]
    /// The amount of detail for each program.
    pub verbosity: Verbosity,
}
