//! `lst stat`, `lst show_error`

use super::number;
use clap::Args;

/// Counters, again and again.
#[derive(Debug, Args)]
pub struct Stat {
    /// Seconds to wait for the nodes, 3 to 30
    #[arg(short, long, value_name = "SECONDS", default_value = "5", value_parser = number::positive)]
    pub timeout: u32,
    /// Seconds between two samples
    #[arg(short, long, value_name = "SECONDS", default_value = "5", value_parser = number::positive)]
    pub delay: u32,
    /// Number of blocks after which the command ends [default: no limit]
    #[arg(long, value_name = "N", value_parser = number::positive)]
    pub count: Option<u32>,
    /// Show LNet messages, which is the default
    #[arg(short, long)]
    pub lnet: bool,
    /// Show RPCs; the nodes report none
    #[arg(short = 'c', long)]
    pub rpc: bool,
    /// Show bandwidths, and rates only with --rate
    #[arg(short, long)]
    pub bw: bool,
    /// Show rates, and bandwidths only with --bw
    #[arg(short = 'a', long)]
    pub rate: bool,
    /// Show what the clients of a group of servers read: what the group sends
    #[arg(short, long)]
    pub read: bool,
    /// Show what the clients of a group of servers write: what the group receives
    #[arg(short, long)]
    pub write: bool,
    /// Show the mean of the nodes
    #[arg(short = 'g', long)]
    pub avg: bool,
    /// Show the minimum of the nodes
    #[arg(short = 'n', long)]
    pub min: bool,
    /// Show the maximum of the nodes
    #[arg(short = 'x', long)]
    pub max: bool,
    /// Bandwidths in 1000000 bytes a second instead of 1048576
    #[arg(short, long)]
    pub mbs: bool,
    /// Groups, or NIDs of nodes in the session
    #[arg(value_name = "GROUP|NIDS", required = true)]
    pub targets: Vec<String>,
}

/// Nodes with errors.
#[derive(Debug, Args)]
pub struct ShowError {
    /// Errors of tests in this session only, and not those of RPCs since the nodes began
    #[arg(short, long)]
    pub session: bool,
    /// Groups, or NIDs of nodes in the session
    #[arg(value_name = "GROUP|NIDS", required = true)]
    pub targets: Vec<String>,
}
