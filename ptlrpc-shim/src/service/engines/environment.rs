//! The environment that all parts of a service use: LNet, the clock, the configuration, the counters.

use super::descriptors::DescriptorSet;
use super::reply_sender::ReplySender;
use crate::clock::{Clock, Time};
use crate::lnet::Node;
use crate::service::config::ServiceConfig;
use crate::service::counters::Counters;
use lnet_log::{LogClass, RateLimitedLog};
use std::fmt::Arguments;
use std::sync::Arc;

/// The environment of a service's parts.
pub(crate) struct Environment {
    pub(crate) node: Arc<Node>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) config: ServiceConfig,
    pub(crate) counters: Arc<Counters>,
    pub(crate) replies: ReplySender,
    /// The descriptors of difficult replies and bulk data.
    pub(crate) descriptors: Arc<DescriptorSet>,
    pub(crate) log: RateLimitedLog,
}

impl Environment {
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Logs a line about the service, rate-limited by its class.
    pub(crate) fn log(&self, class: LogClass, line: Arguments<'_>) {
        self.log.write(self.now(), class, self.name(), line);
    }

    /// The service's name, for the log.
    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }
}
