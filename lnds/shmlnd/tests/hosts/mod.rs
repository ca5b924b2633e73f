//! Nodes of this host.
#![allow(clippy::unwrap_used, clippy::panic, dead_code, missing_docs, unused_imports)]

#[path = "../../../../tests/support/program_host.rs"]
mod program_host;

pub(crate) use program_host::{FOR_EVER, Host, Memory, PORTAL, add};

use lnet_node::{DriverConfigs, StartConfig};
use shmlnd::ShmlndConfig;
use std::sync::atomic::{AtomicU32, Ordering};

impl Host {
    /// A node on the net of this host, with rings of this many KiB.
    pub(crate) fn new(ring: u32) -> Self {
        let driver = ShmlndConfig { ring, ..ShmlndConfig::default() };
        let drivers = DriverConfigs::none().with(driver);
        Self::with(&StartConfig { drivers, ..StartConfig::default() }, &[("shm", None)])
    }
}

/// A net for the nodes of one test.
pub(crate) fn own_net() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("shm{}", 1 + (std::process::id() * 8 + number) % u32::from(u16::MAX))
}
