//! `lst survey`

use super::number;
use clap::{ArgAction, Args};
use std::time::Duration;

/// Measurements of many pairs.
#[derive(Debug, Args)]
pub struct Survey {
    /// NIDs of the clients, such as 192.0.2.[1-9]@tcp, or a group of the current session; may be given several times
    #[arg(long, value_name = "NIDS", required = true, action = ArgAction::Append)]
    pub from: Vec<String>,
    /// NIDs of the servers, or a group; may be given several times [default: all pairs of the clients]
    #[arg(long, value_name = "NIDS", action = ArgAction::Append)]
    pub to: Vec<String>,
    /// brw with read|write, size=N[k|m], check=simple|full; or ping, for round trips alone [default: brw write size=1M]
    #[arg(value_name = "TEST")]
    pub test: Vec<String>,
    /// Transfers at once between the nodes of a pair, up to 1024; pings are sent one at a time
    #[arg(short, long, value_name = "N", default_value = "8", value_parser = number::positive)]
    pub concurrency: u32,
    /// Seconds of each measurement; fractions are allowed
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = number::seconds)]
    pub time: Duration,
    /// Pairs that are measured at the same time, none of which have a node in common
    #[arg(long, value_name = "N", default_value = "1", value_parser = number::positive)]
    pub at_once: u32,
    /// Percentage of the median below which a rate is slow
    #[arg(long, value_name = "PERCENT", default_value = "50", value_parser = clap::value_parser!(u8).range(1..=100))]
    pub slow_below: u8,
    /// Take nodes from other sessions
    #[arg(short, long)]
    pub force: bool,
}
