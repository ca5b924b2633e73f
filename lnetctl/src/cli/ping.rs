//! `lnetctl ping`, `lnetctl discover`

use super::number;
use clap::Args;
use lnet_dlc::ranges::{PING_TIMEOUT_MS, Range};

/// The range of `--timeout`, in seconds.
const TIMEOUT: Range = Range { most: PING_TIMEOUT_MS.most / 1000, ..PING_TIMEOUT_MS };

/// The node of a command where none runs.
#[derive(Debug, Args)]
pub struct OwnNode {
    /// Networks of a node for the length of this command, in the form of LNET_NETWORKS, such as 'tcp(eth0)'; only where no node runs, and
    /// none is named [default: LNET_NETWORKS, if that is set]
    #[arg(long, value_name = "NETWORKS")]
    pub networks: Option<String>,
}

/// Asks other nodes for their NIDs.
#[derive(Debug, Args)]
pub struct Ping {
    /// NIDs, also several between commas; without @NET they are on tcp; the name of a host may stand in place of its address; PID-NID is
    /// a process of a node
    #[arg(value_name = "NID", required = true)]
    pub nids: Vec<String>,
    /// Seconds to wait for an answer: 1 to 180 [default: 1]
    #[arg(short, long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = number::counted(TIMEOUT))]
    pub timeout: Option<u32>,
    /// NID of this node to send from
    #[arg(short, long, value_name = "NID")]
    pub source: Option<String>,
    #[command(flatten)]
    /// The node to ping from where none runs.
    pub own: OwnNode,
}

/// Discovers other nodes.
#[derive(Debug, Args)]
pub struct Discover {
    /// NIDs, also several between commas; without @NET they are on tcp
    #[arg(value_name = "NID", required = true)]
    pub nids: Vec<String>,
    /// Also push this node's NIDs to nodes that have them already
    #[arg(short, long)]
    pub force: bool,
    #[command(flatten)]
    /// The node that discovers where none runs.
    pub own: OwnNode,
}
