//! A live view.

use super::number;
use clap::{Args, ValueEnum};
use std::time::Duration;

/// A live view.
#[derive(Debug, Args)]
pub struct Top {
    /// Seconds between two pictures; fractions are allowed
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = number::seconds)]
    pub interval: Duration,
    /// Print one picture as text, with all rows, after one interval, and end
    #[arg(long)]
    pub once: bool,
    /// How peers are ordered at first
    #[arg(short, long, value_name = "ORDER", value_enum, default_value_t = Sort::Traffic)]
    pub sort: Sort,
    /// Maximum number of peers to show, the first of the list
    #[arg(long, value_name = "N", default_value = "1000", value_parser = number::count)]
    pub max_peers: u32,
}

/// Orders of peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// The busiest first: by bytes, then by messages per second.
    #[default]
    Traffic,
    /// By NID.
    Nid,
    /// The worst health first.
    Health,
    /// The fewest credits first.
    Credits,
}
