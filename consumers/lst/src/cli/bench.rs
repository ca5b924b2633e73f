//! `lst bench`

use super::number;
use clap::Args;
use std::time::Duration;

/// One measurement.
#[derive(Debug, Args)]
pub struct Bench {
    /// Whom to measure: NIDs, such as 192.0.2.[1-2]@tcp
    pub nids: String,
    /// ping, or brw with read|write, size=N[k|m], check=simple|full [default: brw write size=1M]
    #[arg(value_name = "TEST")]
    pub test: Vec<String>,
    /// Who sends [default: this node]
    #[arg(long, value_name = "NIDS")]
    pub from: Option<String>,
    /// RPCs at once between two nodes, up to 1024
    #[arg(short, long, value_name = "N", default_value = "8", value_parser = number::positive)]
    pub concurrency: u32,
    /// Which clients have which servers [default: every client all of them]
    #[arg(short, long, value_name = "D:S")]
    pub distribute: Option<String>,
    /// How many seconds to measure; fractions are allowed
    #[arg(short, long, value_name = "SECONDS", default_value = "5", value_parser = number::seconds)]
    pub time: Duration,
    /// Take nodes from other sessions
    #[arg(short, long)]
    pub force: bool,
    /// Watch the nodes meanwhile
    #[arg(long)]
    pub live: bool,
}
