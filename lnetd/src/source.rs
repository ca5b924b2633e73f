//! The source of the configuration at start: a file, the environment, or neither.

use crate::options::Options;
use lnet_dlc::import::{self, Source};
use lnet_dlc::networks;
use lnet_dlc::yaml::{Purpose, text_of};
use lnet_dlc::{Backend, Report};
use lnet_node::{CONFIGURATION, StartConfig, warn_of_unknown_variables};
use lnet_wire::Errno;
use std::fs;
use std::path::{Path, PathBuf};

/// The file of the whole machine.
const DEFAULT_FILE: &str = "/etc/lnet/lnet.conf";

/// The source of the nets at start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Nets {
    File(PathBuf),
    Environment,
    LoopbackOnly,
}

impl Nets {
    /// Selects the source by the options and the environment; the help of the options gives the order.
    pub(crate) fn of(options: &Options) -> Self {
        let is_set = |(name, _): &(&str, _)| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        match &options.config {
            Some(file) => Self::File(file.clone()),
            None if options.loopback_only => Self::LoopbackOnly,
            None if options.from_environment || CONFIGURATION.iter().any(is_set) => Self::Environment,
            None if Path::new(DEFAULT_FILE).exists() => Self::File(DEFAULT_FILE.into()),
            None => Self::LoopbackOnly,
        }
    }

    /// Returns the configuration that the node starts with, before any file is read. Variables that configure nets count only if
    /// the environment is the source. The error is the errno of a variable that cannot be read.
    pub(crate) fn start_config(&self) -> Result<StartConfig, Errno> {
        warn_of_unknown_variables();
        let mut config = StartConfig::from_lookup(|name| match self {
            Self::Environment => std::env::var(name).ok(),
            // All other variables are tunables, which always apply.
            _ if CONFIGURATION.iter().any(|(its, _)| *its == name) => None,
            _ => std::env::var(name).ok(),
        })?;
        let nothing_said = config.networks.is_empty() && config.ip2nets.is_empty();
        if *self == Self::Environment && nothing_said && config.config_file.is_none() {
            // The default is that of the kernel's modules without parameters.
            config.networks = networks::parse("tcp").unwrap_or_default();
        }
        Ok(config)
    }

    /// Reads the file, if there is one, and checks everything in it that can be checked without a node. Errors are logged, and
    /// returned as [`Errno::Invalid`].
    pub(crate) fn read(&self) -> Result<Option<File>, Errno> {
        let Self::File(path) = self else { return Ok(None) };
        let name = path.display().to_string();
        let text = fs::File::open(path).and_then(text_of).map_err(|error| {
            log::error!("{name}: {error}");
            match error.kind() {
                std::io::ErrorKind::InvalidData => Errno::Invalid,
                _ => Errno::from(error),
            }
        })?;
        let file = File { name, text };
        let mut report = Report::new();
        let (rc, _) = import::check(None, file.source(), &mut report);
        if rc.is_ok() {
            return Ok(Some(file));
        }
        log::error!("{} cannot be used:\n{}", file.name, report.errors_to_yaml().trim_end());
        Err(Errno::Invalid)
    }
}

/// A configuration file that can be used.
pub(crate) struct File {
    name: String,
    text: String,
}

impl File {
    fn source(&self) -> Source<'_> {
        Source { name: &self.name, text: &self.text }
    }

    /// Applies the file to the node. Entries that the node refuses are logged and left out, as in the kernel: a router with one
    /// broken interface is still a router. Returns whether all entries were applied.
    pub(crate) fn apply(&self, node: &dyn Backend) -> bool {
        let mut report = Report::new();
        let rc = import::import(node, self.source(), Purpose::Add, &mut report);
        if !rc.is_ok() {
            log::error!("{}: not all of it is in force:\n{}", self.name, report.errors_to_yaml().trim_end());
        }
        rc.is_ok()
    }
}
