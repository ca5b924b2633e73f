//! Nodes on a model of RDMA devices.
#![allow(clippy::unwrap_used, dead_code, missing_docs, unused_imports)]

#[path = "../../../../tests/support/program_host.rs"]
mod program_host;

pub(crate) use program_host::{Host, Memory};

use lnet_node::{DriverConfigs, StartConfig};
use o2iblnd::O2iblndConfig;
use o2iblnd::device::model::ModelNet;
use std::net::Ipv4Addr;
use std::sync::Arc;

pub(crate) fn address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, host)
}

impl Host {
    /// A node with an interface at the address of this host.
    pub(crate) fn new(net: &ModelNet, host: u8, change: impl FnOnce(&mut O2iblndConfig)) -> Self {
        let mut driver = O2iblndConfig { devices: Arc::new(net.clone()), ..O2iblndConfig::default() };
        change(&mut driver);
        let mut config =
            StartConfig { drivers: DriverConfigs::none().with(driver), ..StartConfig::default() };
        config.settings.retry_count = 0;
        Self::with(&config, &[("o2ib", Some(&address(host).to_string()))])
    }
}

/// Two nodes.
pub(crate) struct Pair {
    pub(crate) net: ModelNet,
    pub(crate) a: Host,
    pub(crate) b: Host,
}

impl Pair {
    pub(crate) fn new() -> Self {
        Self::with(|_| ())
    }

    pub(crate) fn with(change: impl Fn(&mut O2iblndConfig)) -> Self {
        let net = ModelNet::default();
        let a = Host::new(&net, 1, &change);
        let b = Host::new(&net, 2, &change);
        Self { net, a, b }
    }
}
