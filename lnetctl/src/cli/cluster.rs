//! `lnetctl cluster`

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// The commands about all nodes of a cluster.
#[derive(Debug, Subcommand)]
pub enum Cluster {
    /// Find what is wrong with the configurations of all nodes together
    ///
    /// Nodes that cannot reach each other, gateways that do not forward, duplicate NIDs, settings that differ, single points of failure and
    /// more: docs/cluster-check.md explains each finding. Every finding has its file and line, why it matters, and what mends it.
    ///
    /// The worst comes first, and a summary last. Exit status: 0 without errors, 1 with errors, 2 if a file cannot be read.
    Check(ClusterCheck),
}

/// Options of `cluster check`.
#[derive(Debug, Args)]
pub struct ClusterCheck {
    /// Directories of configurations, configurations, and topology files
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Fail with warnings, too; notes never fail
    #[arg(long)]
    pub strict: bool,
}
