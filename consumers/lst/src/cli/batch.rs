//! `lst add_batch`, `run`, `stop`, `list_batch`, `query`

use super::number;
use clap::Args;
use std::time::Duration;

const DEFAULT: &str = "batch";

/// A batch.
#[derive(Debug, Args)]
pub struct AddBatch {
    /// Its name
    pub batch: String,
}

/// A batch starts.
#[derive(Debug, Args)]
pub struct Run {
    /// Told to the nodes, which do not look at it
    #[arg(short, long, value_name = "SECONDS", default_value = "0")]
    pub timeout: u32,
    /// Watch its nodes until q is pressed or it has ended: bandwidths, rates, errors
    #[arg(long)]
    pub live: bool,
    /// With --live: seconds from one look to the next; fractions are allowed
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = number::seconds)]
    pub interval: Duration,
    /// Its name
    #[arg(default_value = DEFAULT)]
    pub batch: String,
}

/// A batch ends.
#[derive(Debug, Args)]
pub struct Stop {
    /// Give up RPCs that are in flight
    #[arg(short, long)]
    pub force: bool,
    /// Its name
    #[arg(default_value = DEFAULT)]
    pub batch: String,
}

/// Batches are shown.
#[derive(Debug, Args)]
pub struct ListBatch {
    /// Only this of its tests, from 1 on
    #[arg(short, long, value_name = "N")]
    pub test: Option<u32>,
    /// Show servers instead of clients
    #[arg(short, long)]
    pub server: bool,
    /// Show nodes that have the session
    #[arg(short, long)]
    pub active: bool,
    /// Show nodes that do not
    #[arg(short, long)]
    pub invalid: bool,
    /// Show all nodes
    #[arg(short = 'l', long)]
    pub all: bool,
    /// Which; without it, the names of all
    pub batch: Option<String>,
}

/// A batch is asked for.
#[derive(Debug, Args)]
pub struct Query {
    /// Only for this of its tests, from 1 on
    #[arg(short, long, value_name = "N")]
    pub test: Option<u32>,
    /// Of its servers, which run nothing of their own
    #[arg(short, long)]
    pub server: bool,
    /// How many seconds to wait for nodes
    #[arg(short = 'o', long, value_name = "SECONDS", default_value = "5", value_parser = number::positive)]
    pub timeout: u32,
    /// With --loop: seconds from one question to the next
    #[arg(short, long, value_name = "SECONDS", default_value = "5", value_parser = number::positive)]
    pub delay: u32,
    /// How often to ask
    #[arg(short = 'c', long = "loop", value_name = "N", default_value = "1", value_parser = number::positive)]
    pub repeat: u32,
    /// Show nodes that run something of it
    #[arg(short, long)]
    pub active: bool,
    /// Show nodes that do not
    #[arg(short, long)]
    pub idle: bool,
    /// Show nodes that say no
    #[arg(short, long)]
    pub error: bool,
    /// Show all nodes
    #[arg(short = 'l', long)]
    pub all: bool,
    /// Its name
    #[arg(default_value = DEFAULT)]
    pub batch: String,
}
