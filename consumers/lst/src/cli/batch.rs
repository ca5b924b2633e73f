//! `lst add_batch`, `run`, `stop`, `list_batch`, `query`

use super::number;
use clap::Args;
use std::time::Duration;

const DEFAULT: &str = "batch";

/// A batch.
#[derive(Debug, Args)]
pub struct AddBatch {
    /// Name of the batch
    pub batch: String,
}

/// A batch starts.
#[derive(Debug, Args)]
pub struct Run {
    /// Passed to the nodes, which ignore it
    #[arg(short, long, value_name = "SECONDS", default_value = "0")]
    pub timeout: u32,
    /// Watch the nodes of the batch until q is pressed or the batch has ended: bandwidths, rates, errors
    #[arg(long)]
    pub live: bool,
    /// With --live: seconds between two pictures; fractions are allowed
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = number::seconds)]
    pub interval: Duration,
    /// Name of the batch
    #[arg(default_value = DEFAULT)]
    pub batch: String,
}

/// A batch ends.
#[derive(Debug, Args)]
pub struct Stop {
    /// Give up RPCs that are in flight
    #[arg(short, long)]
    pub force: bool,
    /// Name of the batch
    #[arg(default_value = DEFAULT)]
    pub batch: String,
}

/// Batches are shown.
#[derive(Debug, Args)]
pub struct ListBatch {
    /// Only the test with this number in the batch, from 1 on
    #[arg(short, long, value_name = "N")]
    pub test: Option<u32>,
    /// Show servers instead of clients
    #[arg(short, long)]
    pub server: bool,
    /// Show nodes that have the session
    #[arg(short, long)]
    pub active: bool,
    /// Show nodes that do not have the session
    #[arg(short, long)]
    pub invalid: bool,
    /// Show all nodes
    #[arg(short = 'l', long)]
    pub all: bool,
    /// Name of the batch; without it the names of all batches are shown
    pub batch: Option<String>,
}

/// A batch is queried.
#[derive(Debug, Args)]
pub struct Query {
    /// Only the test with this number in the batch, from 1 on
    #[arg(short, long, value_name = "N")]
    pub test: Option<u32>,
    /// Ask the servers of the batch instead of its clients; servers run no test themselves
    #[arg(short, long)]
    pub server: bool,
    /// Seconds to wait for the nodes
    #[arg(short = 'o', long, value_name = "SECONDS", default_value = "5", value_parser = number::positive)]
    pub timeout: u32,
    /// With --loop: seconds between two queries
    #[arg(short, long, value_name = "SECONDS", default_value = "5", value_parser = number::positive)]
    pub delay: u32,
    /// Number of queries
    #[arg(short = 'c', long = "loop", value_name = "N", default_value = "1", value_parser = number::positive)]
    pub repeat: u32,
    /// Show nodes on which a test of the batch runs
    #[arg(short, long)]
    pub active: bool,
    /// Show nodes on which no test of the batch runs
    #[arg(short, long)]
    pub idle: bool,
    /// Show nodes that refuse the query
    #[arg(short, long)]
    pub error: bool,
    /// Show all nodes
    #[arg(short = 'l', long)]
    pub all: bool,
    /// Name of the batch
    #[arg(default_value = DEFAULT)]
    pub batch: String,
}
