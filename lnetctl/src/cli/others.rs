//! Small commands.

use super::number;
use clap::{Args, Subcommand};
use lnet_wire::Nid;

/// All settings.
#[derive(Debug, Subcommand)]
pub enum Global {
    /// Show all settings of the node
    Show,
}

/// For finding faults.
#[derive(Debug, Subcommand)]
pub enum Debug {
    /// Show the NIDs that are being recovered
    Recovery {
        /// Of this node
        #[arg(short, long)]
        local: bool,
        /// Of other nodes
        #[arg(short, long)]
        peer: bool,
    },
    /// Show all that is known of a peer, as `peer show` does on the highest level
    Peer {
        /// A NID of the peer
        #[arg(short, long)]
        nid: String,
    },
}

/// The older form of `global show`, before release 2.11.
#[derive(Debug, Subcommand)]
pub enum Numa {
    /// Show the NUMA range
    Show,
}

/// The older form of `peer show --verbose`, before release 2.10.
#[derive(Debug, Subcommand)]
pub enum PeerCredits {
    /// Show peers with their credits
    Show,
}

/// Options of `cpt-of-nid`, which shows the CPU partitions of NIDs.
#[derive(Debug, Args)]
pub struct CptOfNid {
    /// NIDs; without --ncpt, with the number of CPU partitions of the node
    #[arg(value_name = "NID", value_parser = number::nid)]
    pub nids: Vec<Nid>,
    /// One NID; --ncpt is mandatory
    #[arg(short, long, conflicts_with = "nids", value_parser = number::nid)]
    pub nid: Option<Nid>,
    /// How many CPU partitions there are
    #[arg(short = 'c', long, value_name = "N", value_parser = number::count)]
    pub ncpt: Option<u32>,
}
