//! A node's configuration from environment variables.

mod unknown_variables;

pub use unknown_variables::{variable_prefixes, warn_of_unknown_variables};

use crate::start_config::StartConfig;
use crate::tunables;
use lnet_core::{Errno, Settings};
use lnet_dlc::{ip2nets, networks, routes};
use lnet_log::{LogClass, write_line};
use lnet_metrics::MetricsConfig;
use lnet_settings::RejectedVariable;
use std::fmt::Display;

const NODE: &str = "LNET_NODE";
const CONFIG: &str = "LNET_CONFIG";
const NETWORKS: &str = "LNET_NETWORKS";
const IP2NETS: &str = "LNET_IP2NETS";
const ROUTES: &str = "LNET_ROUTES";

/// The variables that configure a node, each with a short description.
pub const CONFIGURATION: &[(&str, &str)] = &[
    (
        CONFIG,
        "a YAML file that is imported at the start, such as `lnetctl export --backup` writes; with it, the other \
         three are not used",
    ),
    (
        NETWORKS,
        "the node's nets and interfaces: `tcp(eth0,eth1[0,1]),tcp1(eth2)`; an interface may be given by one of its \
         addresses; without any, the machine's first is taken; CPU partitions stand in brackets",
    ),
    (
        IP2NETS,
        "the same by the machine's addresses: `tcp(eth0) 192.0.2.*; tcp1 198.51.100.[1-9/2]`; not together with \
         LNET_NETWORKS; at least one rule must match",
    ),
    (
        ROUTES,
        "by which nodes other nets are reached: `tcp1 192.0.2.[1-2]@tcp; tcp2 2 192.0.2.3@tcp:1` (net, hops, gateways \
         with their priorities)",
    ),
];

impl StartConfig {
    /// Reads the configuration from the environment: the variables of [`CONFIGURATION`], of the node's settings and of the
    /// drivers' tunables. Without any, the node has only the loopback. Logs errors ([`Errno::Invalid`]) and variables without
    /// effect.
    pub fn from_env() -> Result<Self, Errno> {
        warn_of_unknown_variables();
        Self::from_lookup(|name| std::env::var(name).ok())
    }

    /// Like [`StartConfig::from_env`], from any source of variables.
    pub fn from_lookup(look_up: impl Fn(&str) -> Option<String>) -> Result<Self, Errno> {
        let look_up = |name: &str| look_up(name).filter(|value| !value.trim().is_empty());
        let mut config = Self::default();
        if let Some(name) = look_up(NODE) {
            config.name = name.trim().parse().map_err(|error| {
                write_line!(LogClass::ConfigInvalid, "{NODE}=\"{name}\": {error}");
                Errno::Invalid
            })?;
        }
        config.metrics = MetricsConfig::from_lookup(look_up).map_err(|error| {
            write_line!(LogClass::ConfigInvalid, "{error}");
            Errno::Invalid
        })?;
        match look_up(CONFIG) {
            Some(file) => {
                config.config_file = Some(file.trim().into());
                for name in [NETWORKS, IP2NETS, ROUTES].into_iter().filter(|name| look_up(name).is_some()) {
                    write_line!(
                        LogClass::ConfigIgnored,
                        "{name} ignored ({CONFIG} is set); unset one of them"
                    );
                }
            }
            None => config.read_strings(look_up)?,
        }
        config.set_by_variables = tunables::apply(&mut config, &look_up).map_err(|rejected| {
            let RejectedVariable { name, text, wanted } = rejected;
            write_line!(LogClass::ConfigInvalid, "{name}=\"{text}\": wanted is {wanted}");
            Errno::Invalid
        })?;
        config.settings.agree().inspect_err(|_| {
            let Settings { retry_count, transaction_timeout, .. } = config.settings;
            write_line!(
                LogClass::ConfigInvalid,
                "LNET_RETRY_COUNT={retry_count}: does not fit into a transaction timeout of {transaction_timeout} s; \
                 LNET_TRANSACTION_TIMEOUT has to be greater than LNET_RETRY_COUNT"
            );
        })?;
        Ok(config)
    }

    fn read_strings(&mut self, look_up: impl Fn(&str) -> Option<String>) -> Result<(), Errno> {
        if look_up(NETWORKS).is_some() && look_up(IP2NETS).is_some() {
            write_line!(LogClass::ConfigInvalid, "{NETWORKS} and {IP2NETS} are both set; unset one of them");
            return Err(Errno::Invalid);
        }
        self.networks = read(NETWORKS, look_up(NETWORKS), networks::parse)?;
        self.ip2nets = read(IP2NETS, look_up(IP2NETS), ip2nets::parse_string)?;
        self.routes = read(ROUTES, look_up(ROUTES), routes::parse)?;
        Ok(())
    }
}

/// Parses the value of the variable `name`; the default if it is not set.
fn read<T: Default, E: Display>(
    name: &str,
    text: Option<String>,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, Errno> {
    let Some(text) = text else { return Ok(T::default()) };
    parse(&text).map_err(|error| {
        write_line!(LogClass::ConfigInvalid, "{name}=\"{text}\": {error}");
        Errno::Invalid
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(variables: &[(&str, &str)]) -> Result<StartConfig, Errno> {
        StartConfig::from_lookup(|name| {
            variables.iter().find(|(its, _)| *its == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_network_strings_are_read_unless_a_file_is_given() {
        let strings = [(NETWORKS, "tcp(127.0.1.1)"), (ROUTES, "tcp1 127.0.1.[2-3]@tcp")];
        let config = start(&strings).unwrap();
        assert_eq!((config.networks.len(), config.ip2nets.len(), config.routes.len()), (1, 0, 2));
        let config = start(&[(IP2NETS, "tcp(eth0) 10.0.0.*; tcp1 10.0.1.*"), (NETWORKS, " ")]).unwrap();
        assert_eq!((config.networks.len(), config.ip2nets.len(), config.routes.len()), (0, 2, 0));
        assert_eq!(config.config_file, None);
        let config = start(&[strings[0], strings[1], (IP2NETS, "?"), (CONFIG, " lnet.conf\n")]).unwrap();
        assert_eq!((config.networks.len(), config.ip2nets.len(), config.routes.len()), (0, 0, 0));
        assert_eq!(config.config_file, Some("lnet.conf".into()));
    }

    #[test]
    fn invalid_strings_and_two_sources_of_nets_are_rejected() {
        let table: [&[(&str, &str)]; 6] = [
            &[(NETWORKS, "tcp(")],
            &[(IP2NETS, "tcp(eth0")],
            &[(ROUTES, "tcp1")],
            &[(NETWORKS, "tcp"), (IP2NETS, "tcp 10.0.0.*")],
            &[(IP2NETS, "tcp 10.0.0.*"), ("LNET_IP2NETS_STRICT", "yes")],
            &[("LNET_METRICS", "everywhere")],
        ];
        for variables in table {
            assert_eq!(start(variables).err(), Some(Errno::Invalid), "{variables:?}");
        }
    }
}
