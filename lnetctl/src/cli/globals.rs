//! Options that may stand anywhere on the command line.

use clap::ValueEnum;
use lnet_command_line::globals::{self, GlobalsError};
use lnet_dlc::runtime_dir::NodeName;

/// For every command.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Globals {
    /// Name of the node; needed only if several nodes run on this machine [default: LNET_NODE, if that is set]
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// Format of the output: yaml (the default) or json
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
}

/// The form in which results are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// In the form of lnetctl 2.15.
    #[default]
    Yaml,
    /// One value; {} for nothing, and errors too.
    Json,
}

impl Globals {
    /// Takes them from the line; what is behind `--` stays. Their names cannot be shortened.
    pub fn take(words: &[String]) -> Result<(Self, Vec<String>), GlobalsError> {
        let (given, rest) = globals::take(words)?;
        Ok((Self { node: given.node, format: given.format }, rest))
    }

    /// Returns these options with the node that `LNET_NODE` names, if no node was given.
    #[must_use]
    pub fn or_environment(self) -> Self {
        Self { node: self.node.or_else(NodeName::of_environment), ..self }
    }
}
