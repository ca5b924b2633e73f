//! `lnetctl cluster`: from options to the functions of `lnet_cluster`.

mod check;
mod collect;
mod compare;
mod drill;
mod outcome;
mod progress;
mod remote;

use crate::cli::Cluster;
use crate::commands::{CommandOutcome, Context};

/// Carries out a command about the nodes of a cluster.
pub fn run(command: &Cluster, cx: &mut Context<'_>) -> CommandOutcome {
    match command {
        Cluster::Check(command) => check::run(command, cx),
        Cluster::Collect(command) => collect::run(command, cx),
    }
}
