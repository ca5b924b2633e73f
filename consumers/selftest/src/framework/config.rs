//! The configuration of a test node.

use crate::rpc::RpcConfig;
use std::time::Duration;

/// The configuration of a test node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// The time without requests to the framework after which a session ends; `None`: never.
    pub session_timeout: Option<Duration>,
    /// The configuration of the node's RPCs.
    pub rpc: RpcConfig,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self { session_timeout: Some(Duration::from_secs(100)), rpc: RpcConfig::default() }
    }
}

/// A variable of the environment that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}={value}: wanted is a number{of}")]
pub struct BadVariable {
    name: &'static str,
    value: String,
    of: &'static str,
}

const SECONDS: &str = " of seconds, 0 for never";
const COUNT: &str = " from 1 to 65536";
/// The tunables, each with the name of the kernel module's parameter after `LNET_SELFTEST_`, and its valid values.
const TUNABLES: [(&str, Tunable, &str); 4] = [
    ("LNET_SELFTEST_SESSION_TIMEOUT", |config, number| config.session_timeout = seconds(number), SECONDS),
    ("LNET_SELFTEST_RPC_TIMEOUT", |config, number| config.rpc.timeout = seconds(number), SECONDS),
    ("LNET_SELFTEST_BRW_SRV_WORKITEMS", |config, number| config.rpc.max_brw_buffers = number, COUNT),
    ("LNET_SELFTEST_PING_SRV_WORKITEMS", |config, number| config.rpc.max_ping_buffers = number, COUNT),
];

type Tunable = fn(&mut NodeConfig, u32);

fn seconds(number: u32) -> Option<Duration> {
    (number > 0).then(|| Duration::from_secs(number.into()))
}

impl NodeConfig {
    /// Reads the configuration from variables. `look_up` gives the value of a variable; an empty one counts as not set. The
    /// error names
    /// the variable that cannot be read.
    pub fn from_lookup(look_up: impl Fn(&str) -> Option<String>) -> Result<Self, BadVariable> {
        let mut config = Self::default();
        for (name, set, of) in TUNABLES {
            let Some(value) = look_up(name).filter(|value| !value.trim().is_empty()) else { continue };
            let number =
                value.trim().parse().ok().filter(|number| of == SECONDS || (1..=65536).contains(number));
            set(&mut config, number.ok_or(BadVariable { name, value, of })?);
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<NodeConfig, String> {
        NodeConfig::from_lookup(|name| {
            variables.iter().find(|(its, _)| *its == name).map(|(_, value)| (*value).to_owned())
        })
        .map_err(|error| error.to_string())
    }

    #[test]
    fn variables_have_the_names_of_the_kernels_parameters() {
        assert_eq!(read(&[]), Ok(NodeConfig::default()));
        let config = read(&[
            ("LNET_SELFTEST_SESSION_TIMEOUT", "0"),
            ("LNET_SELFTEST_RPC_TIMEOUT", " 7 "),
            ("LNET_SELFTEST_BRW_SRV_WORKITEMS", "1"),
            ("LNET_SELFTEST_PING_SRV_WORKITEMS", ""),
        ])
        .unwrap();
        assert_eq!((config.session_timeout, config.rpc.timeout), (None, Some(Duration::from_secs(7))));
        assert_eq!((config.rpc.max_brw_buffers, config.rpc.max_ping_buffers), (1, 2048));
    }

    #[test]
    fn what_is_no_number_is_refused_by_name() {
        for (name, value, wanted) in [
            (
                "LNET_SELFTEST_RPC_TIMEOUT",
                "x",
                "LNET_SELFTEST_RPC_TIMEOUT=x: wanted is a number of seconds, 0 for never",
            ),
            (
                "LNET_SELFTEST_BRW_SRV_WORKITEMS",
                "0",
                "LNET_SELFTEST_BRW_SRV_WORKITEMS=0: wanted is a number from 1 to 65536",
            ),
        ] {
            assert_eq!(read(&[(name, value)]), Err(wanted.to_owned()));
        }
    }
}
