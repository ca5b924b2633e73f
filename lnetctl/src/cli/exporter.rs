//! The exporter of metrics.

use super::number;
use clap::Args;
use lnet_metrics::Address;
use lnet_wire::Nid;

/// Serves metrics, health and a page for browsers over HTTP.
#[derive(Debug, Args)]
pub struct Exporter {
    /// PORT or HOST:PORT; without a host on the loopback interface; there is no authentication
    #[arg(value_name = "ADDR")]
    pub address: Address,
    /// Peers that have to be reachable from each node for /healthz to say that all is well, separated by commas
    #[arg(long, value_name = "NIDS", value_delimiter = ',', value_parser = number::nid)]
    pub expect: Vec<Nid>,
    /// Serve some metrics a second time, under the names that lustrefs-exporter gives them
    #[arg(long)]
    pub lustre_names: bool,
}
