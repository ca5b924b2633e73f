//! The command line.

use clap::Parser;
use lnet_dlc::runtime_dir::NodeName;
use lnet_metrics::{Address, MetricsConfig};
use lnet_wire::Nid;
use log::LevelFilter;
use std::path::PathBuf;

/// An LNet node with no program in it: a router, or a node to look at and to try things with.
///
/// It is configured by `lnetctl` while it runs; `lnetctl lnet unconfigure` and SIGTERM end it. What it has at
/// its start comes from a file (--config), from LNET_NETWORKS and its like in the environment if any of them
/// is set, or from /etc/lnet/lnet.conf if that is there. Without any it is on the loopback only.
///
/// Other variables: LNET_RUNTIME_DIR, the directory of the control socket; LNET_STATUS_MODE, an octal mode:
/// makes a second socket for whom it lets in to see, and not change, the configuration; LNET_ATTACH_MODE and LNET_ATTACH_GROUP,
/// the mode (none: nobody may) and the group of the socket by which programs attach to the node; LNET_DEBUG, as
/// --log-level; LNET_LOG_FORMAT, the form of the log: text, json or journald; LNET_METRICS, LNET_METRICS_EXPECT and LNET_METRICS_LUSTRE_NAMES, as the options of these names; the tunables of drivers; and those of LNet selftest, which have the names of the kernel module's parameters:
/// LNET_SELFTEST_SESSION_TIMEOUT and LNET_SELFTEST_RPC_TIMEOUT, in seconds, and LNET_SELFTEST_BRW_SRV_WORKITEMS and
/// LNET_SELFTEST_PING_SRV_WORKITEMS.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Options {
    /// The YAML file with the configuration; nets in the environment are passed over
    #[arg(long, value_name = "FILE", conflicts_with_all = ["loopback_only", "from_environment"])]
    pub(crate) config: Option<PathBuf>,

    /// Start with no nets but the loopback
    #[arg(long, conflicts_with = "from_environment")]
    pub(crate) loopback_only: bool,

    /// Start with the nets that the environment names; read no file but that of LNET_CONFIG
    #[arg(long)]
    pub(crate) from_environment: bool,

    /// Name of the node; its control socket is NAME.sock
    #[arg(long, value_name = "NAME", env = "LNET_NODE", default_value = "lnetd")]
    pub(crate) node: NodeName,

    /// Write the process's number into this file as long as the node is up
    #[arg(long, value_name = "FILE")]
    pub(crate) pid_file: Option<PathBuf>,

    /// Keep what `lnetctl events` shows in this file, over the restarts of the daemon
    #[arg(long, value_name = "FILE")]
    pub(crate) events_file: Option<PathBuf>,

    /// Level of the log on standard error: off, error, warn, info, debug or trace [default: info]
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) log_level: Option<LevelFilter>,

    /// Check the configuration file, print its mistakes and end
    #[arg(long, conflicts_with_all = ["loopback_only", "from_environment"])]
    pub(crate) check: bool,

    /// Take part in the tests of LNet selftest, as consoles (lst) ask for: any that reaches the node, so on trusted nets only
    #[arg(long)]
    pub(crate) selftest: bool,

    /// Serve metrics at http://ADDR/metrics, health at /healthz and a page for browsers at /; ADDR is PORT or HOST:PORT, without a
    /// host on the loopback interface; there is no authentication
    #[arg(long, value_name = "ADDR")]
    pub(crate) metrics: Option<Address>,

    /// Peers that have to be reachable for /healthz to say that the node is healthy, separated by commas
    #[arg(long, value_name = "NIDS", value_delimiter = ',')]
    pub(crate) expect: Vec<Nid>,

    /// Serve some metrics a second time, under the names that lustrefs-exporter gives them
    #[arg(long)]
    pub(crate) lustre_names: bool,

    /// Leave the terminal's session and working directory
    #[arg(long)]
    pub(crate) detach: bool,
}

/// Options of metrics are given, and no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--expect and --lustre-names have no effect without --metrics")]
pub(crate) struct OptionsWithoutMetrics;

impl Options {
    /// What is served over HTTP: as the environment says (`from_environment`), and as the options say, which go before it. The error is for
    /// options without effect.
    pub(crate) fn metrics(
        &self,
        from_environment: Option<MetricsConfig>,
    ) -> Result<Option<MetricsConfig>, OptionsWithoutMetrics> {
        let config = match (&self.metrics, from_environment) {
            (Some(address), Some(config)) => Some(MetricsConfig { address: address.clone(), ..config }),
            (Some(address), None) => {
                Some(MetricsConfig { address: address.clone(), expected: Vec::new(), lustre_names: false })
            }
            (None, config) => config,
        };
        let Some(mut config) = config else {
            return match self.expect.is_empty() && !self.lustre_names {
                true => Ok(None),
                false => Err(OptionsWithoutMetrics),
            };
        };
        if !self.expect.is_empty() {
            config.expected.clone_from(&self.expect);
        }
        config.lustre_names |= self.lustre_names;
        Ok(Some(config))
    }
}

fn level(text: &str) -> Result<LevelFilter, &'static str> {
    text.parse().map_err(|_| "wanted is off, error, warn, info, debug or trace")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_metrics_go_before_the_environment() {
        let variables = |name: &str| match name {
            "LNET_METRICS" => Some("1".to_owned()),
            "LNET_METRICS_EXPECT" => Some("10.0.0.1@tcp".to_owned()),
            _ => None,
        };
        let environment = || MetricsConfig::from_lookup(variables).unwrap();
        let config = |arguments: &[&str], environment| {
            let options = Options::try_parse_from([&["lnetd"], arguments].concat()).unwrap();
            let config = options.metrics(environment)?;
            Ok::<_, OptionsWithoutMetrics>(
                config.map(|it| (it.address.to_string(), it.expected.len(), it.lustre_names)),
            )
        };
        let row = |port: &str, expected, names| Ok(Some((format!("127.0.0.1:{port}"), expected, names)));
        assert_eq!(config(&[], None), Ok(None));
        assert_eq!(config(&[], environment()), row("1", 1, false));
        assert_eq!(config(&["--metrics", "2", "--lustre-names"], None), row("2", 0, true));
        let both = ["--metrics", "2", "--expect", "10.0.0.1@tcp,10.0.0.2@tcp"];
        assert_eq!(config(&both, environment()), row("2", 2, false));
        assert!(config(&["--lustre-names"], None).is_err());
        assert!(config(&["--expect", "10.0.0.1@tcp"], None).is_err());
    }

    #[test]
    fn only_one_source_of_configuration_is_accepted() {
        let parse = |arguments: &[&str]| Options::try_parse_from([&["lnetd"], arguments].concat());
        assert!(parse(&["--config", "a", "--node", "router-1"]).is_ok());
        for arguments in [
            &["--config", "a", "--loopback-only"][..],
            &["--config", "a", "--from-environment"],
            &["--loopback-only", "--from-environment"],
            &["--check", "--loopback-only"],
            &["--node", "../a"],
            &["--log-level", "loud"],
            &["--metrics", "everywhere"],
            &["--expect", "10.0.0.1@nonet"],
        ] {
            assert!(parse(arguments).is_err(), "{arguments:?}");
        }
    }
}
