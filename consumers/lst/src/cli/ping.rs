//! `lst ping`

use super::number;
use clap::{ArgGroup, Args};

/// Nodes are asked.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("whom").required(true).args(["session", "group", "nodes", "batch"]))]
pub struct Ping {
    /// All nodes of the session
    #[arg(short, long)]
    pub session: bool,
    /// The nodes of a group
    #[arg(short, long, value_name = "NAME")]
    pub group: Option<String>,
    /// Some nodes
    #[arg(short, long, value_name = "NIDS")]
    pub nodes: Option<String>,
    /// The clients of a batch
    #[arg(short, long, value_name = "NAME")]
    pub batch: Option<String>,
    /// With --batch: its servers
    #[arg(short = 'v', long)]
    pub server: bool,
    /// How many seconds to wait, 3 to 30
    #[arg(short, long, value_name = "SECONDS", default_value = "5", value_parser = number::positive)]
    pub timeout: u32,
}
