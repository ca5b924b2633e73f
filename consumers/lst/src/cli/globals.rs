//! Options that may stand anywhere on the command line.

use clap::ValueEnum;
use lnet_command_line::globals::{self, GlobalsError};

/// For every command.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Globals {
    /// Node whose console is used; needed only if several nodes of this machine have a session
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// Format of the output: text (the default) or json
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
}

/// The form of a command's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// In the form of the kernel's lst.
    #[default]
    Text,
    /// One JSON value a line.
    Json,
}

impl Globals {
    /// Takes them from the line; what is behind `--` stays. Their names cannot be shortened.
    pub fn take(words: &[String]) -> Result<(Self, Vec<String>), GlobalsError> {
        let (given, rest) = globals::take(words)?;
        Ok((Self { node: given.node, format: given.format }, rest))
    }
}
