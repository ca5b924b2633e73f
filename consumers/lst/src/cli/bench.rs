//! `lst bench`

use super::number;
use clap::Args;
use std::time::Duration;

/// One measurement.
#[derive(Debug, Args)]
pub struct Bench {
    /// NIDs of the servers, such as 192.0.2.[1-2]@tcp
    pub nids: String,
    /// ping, or brw with read|write, size=N[k|m], check=simple|full [default: brw write size=1M]
    #[arg(value_name = "TEST")]
    pub test: Vec<String>,
    /// NIDs of the clients [default: this node]
    #[arg(long, value_name = "NIDS")]
    pub from: Option<String>,
    /// RPCs at once between two nodes, up to 1024
    #[arg(short, long, value_name = "N", default_value = "8", value_parser = number::positive)]
    pub concurrency: u32,
    /// Number of clients and of servers that belong together [default: every client uses every server]
    #[arg(short, long, value_name = "D:S")]
    pub distribute: Option<String>,
    /// Seconds of the measurement; fractions are allowed
    #[arg(short, long, value_name = "SECONDS", default_value = "5", value_parser = number::seconds)]
    pub time: Duration,
    /// Take nodes from other sessions
    #[arg(short, long)]
    pub force: bool,
    /// Watch the nodes during the measurement
    #[arg(long)]
    pub live: bool,
}
