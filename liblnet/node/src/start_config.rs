//! What a node is started with, from the environment.

use crate::networks::{self, Network};
use crate::tunables::TUNABLES;
use lnet_core::{Errno, NiTunables};
use socklnd::SocklndConfig;
use std::num::NonZeroUsize;
use std::time::Duration;

/// What a node is started with.
#[derive(Clone, Debug)]
pub struct StartConfig {
    /// What the node is called where several run on one machine (`LNET_NODE`); the process id otherwise.
    pub name: String,
    /// The nets it is on, besides the loopback.
    pub networks: Vec<Network>,
    /// For every interface.
    pub ni: NiTunables,
    /// For the TCP driver.
    pub socklnd: SocklndConfig,
    /// How long a thread that waits for an event asks again and again before it sleeps; zero is not at all.
    pub wait_spin: Duration,
    /// CPU partitions.
    pub cpts: NonZeroUsize,
}

impl Default for StartConfig {
    fn default() -> Self {
        Self {
            name: std::process::id().to_string(),
            networks: Vec::new(),
            ni: NiTunables::default(),
            socklnd: SocklndConfig::default(),
            wait_spin: default_spin(),
            cpts: NonZeroUsize::MIN,
        }
    }
}

/// On one CPU, who spins keeps the one from running that it waits for.
fn default_spin() -> Duration {
    let alone = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() == 1);
    if alone { Duration::ZERO } else { Duration::from_micros(50) }
}

/// Ways to configure a node that come with later work. Ignoring one would start a node that is not what
/// its owner asked for.
const NOT_YET: [&str; 3] = ["LNET_CONFIG", "LNET_IP2NETS", "LNET_ROUTES"];

impl StartConfig {
    /// From the environment: `LNET_NETWORKS` and the variables of [`TUNABLES`]. Without any, a node that is
    /// only on the loopback. The log says what is wrong: [`Errno::Invalid`], or [`Errno::NotSupported`] for
    /// a variable that has no effect yet.
    pub fn from_env() -> Result<Self, Errno> {
        Self::from_lookup(|name| std::env::var(name).ok())
    }

    /// The same from any source of variables.
    pub fn from_lookup(look_up: impl Fn(&str) -> Option<String>) -> Result<Self, Errno> {
        let look_up = |name: &str| look_up(name).filter(|value| !value.trim().is_empty());
        if let Some(name) = NOT_YET.iter().find(|name| look_up(name).is_some()) {
            log::error!("{name} is set, but not supported yet; use LNET_NETWORKS");
            return Err(Errno::NotSupported);
        }
        let mut config = Self::default();
        if let Some(text) = look_up("LNET_NETWORKS") {
            config.networks = networks::parse(&text).map_err(|error| {
                log::error!("LNET_NETWORKS=\"{text}\": {error}");
                match error.what {
                    networks::Wrong::NoDriver(_) => Errno::ProtocolNotSupported,
                    networks::Wrong::CptsNotSupported => Errno::NotSupported,
                    _ => Errno::Invalid,
                }
            })?;
        }
        for tunable in TUNABLES {
            if let Some(text) = look_up(tunable.variable) {
                (tunable.set)(&mut config, text.trim()).map_err(|wants| {
                    log::error!("{}=\"{text}\": wanted is {wants}", tunable.variable);
                    Errno::Invalid
                })?;
            }
        }
        Ok(config)
    }
}
