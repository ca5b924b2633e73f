//! `lst stat`, `lst show_error`

use super::number;
use clap::Args;

/// Counters, again and again.
#[derive(Debug, Args)]
pub struct Stat {
    /// How many seconds to wait for nodes, 3 to 30
    #[arg(short, long, value_name = "SECONDS", default_value = "5", value_parser = number::positive)]
    pub timeout: u32,
    /// Seconds from one look to the next
    #[arg(short, long, value_name = "SECONDS", default_value = "5", value_parser = number::positive)]
    pub delay: u32,
    /// After so many blocks it ends [default: never]
    #[arg(long, value_name = "N", value_parser = number::positive)]
    pub count: Option<u32>,
    /// Show LNet messages, which is the default
    #[arg(short, long)]
    pub lnet: bool,
    /// Show RPCs, of which there is nothing
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
    /// Show the least of them
    #[arg(short = 'n', long)]
    pub min: bool,
    /// Show the most of them
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
