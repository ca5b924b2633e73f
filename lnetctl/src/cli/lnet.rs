//! `lnetctl lnet`

use clap::Subcommand;

/// Brings LNet up or down.
#[derive(Debug, Subcommand)]
pub enum Lnet {
    /// Start LNet; start the daemon if no node runs
    ///
    /// The daemon logs to NAME.log beside its control socket, NAME.sock.
    Configure {
        /// With the nets of the start configuration (LNET_NETWORKS, LNET_IP2NETS, LNET_ROUTES); without it the
        /// node has the loopback only
        #[arg(short, long)]
        all: bool,
        /// An interface that is given by its name has the NID with its IPv6 address, if it has one that is not link-local;
        /// on a node that runs, from now on
        #[arg(short, long)]
        large: bool,
    },
    /// Stop LNet with its nets, peers, routes and rules; the daemon ends, and its settings are lost
    Unconfigure,
}
