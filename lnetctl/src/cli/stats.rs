//! Counters.

use super::number;
use clap::{Args, Subcommand};
use std::time::Duration;

/// Counters.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Stats {
    /// The same as 'stats show --prometheus'
    #[arg(long)]
    pub prometheus: bool,
    /// The subcommand; without one the counters are shown.
    #[command(subcommand)]
    pub command: Option<StatsCommand>,
}

/// Subcommands of `stats`.
#[derive(Debug, Subcommand)]
pub enum StatsCommand {
    /// Show the node's counters
    Show(StatsShow),
    /// Set all counters to 0: the node's, its interfaces' and the peers'
    Reset,
    /// Measure messages and bytes per second, of the node, its nets and its interfaces
    Rate(StatsRate),
}

/// Shows counters.
#[derive(Debug, Args)]
pub struct StatsShow {
    /// Everything that is counted, of the node, its interfaces and all peers, in the text format of
    /// Prometheus
    #[arg(long)]
    pub prometheus: bool,
}

/// Measures.
#[derive(Debug, Args)]
pub struct StatsRate {
    /// Seconds of the measurement; fractions are allowed
    #[arg(value_name = "SECONDS", default_value = "1", value_parser = number::seconds)]
    pub time: Duration,
}
