//! What every part of a node may ask of its surroundings: the time, the settings, who the node is, whether it is ending, the
//! log.
//!
//! One [`Environment`] belongs to each node and is passed by reference.

mod config;
mod config_lock;
mod notify;
pub mod settings;
pub mod time;

pub use config::CoreConfig;
pub(crate) use config_lock::{ConfigGuard, ConfigLock};
pub(crate) use notify::Notify;

use arc_swap::ArcSwap;
use lnet_log::{LogClass, RateLimitedLog};
use lnet_wire::Pid;
use settings::Settings;
use std::fmt::{Arguments, Display};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use time::Time;

/// The surroundings of a node's parts. Any thread may ask.
#[derive(Debug)]
pub(crate) struct Environment {
    config: CoreConfig,
    settings: ArcSwap<Settings>,
    ending: AtomicBool,
    log: RateLimitedLog,
}

impl Environment {
    pub(crate) fn new(config: CoreConfig, log: RateLimitedLog) -> Self {
        let settings = ArcSwap::from_pointee(config.settings);
        Self { config, settings, ending: AtomicBool::new(false), log }
    }

    /// What the node was given at its start. Settings may have changed since: see [`Environment::settings`].
    pub(crate) const fn config(&self) -> &CoreConfig {
        &self.config
    }

    /// The time, by the node's one clock.
    pub(crate) fn now(&self) -> Time {
        self.config.clock.now()
    }

    /// The process id of every interface.
    pub(crate) const fn pid(&self) -> Pid {
        self.config.pid
    }

    /// The settings as they are.
    pub(crate) fn settings(&self) -> Settings {
        **self.settings.load()
    }

    pub(crate) fn set_settings(&self, settings: Settings) {
        self.settings.store(Arc::new(settings));
    }

    /// How long a message and its response may take.
    pub(crate) fn transaction_timeout(&self) -> Duration {
        Duration::from_secs(self.settings().transaction_timeout.into())
    }

    /// Whether the node's shutdown has begun.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    /// Writes a line to the log, as often as its class and subject may be heard of. The subject is a NID, a path, a name.
    pub(crate) fn log(&self, class: LogClass, subject: impl Display, line: Arguments<'_>) {
        self.log.write(self.now(), class, subject, line);
    }

    /// Says what was suppressed in the periods that have ended; when there will be more to say.
    pub(crate) fn poll_log(&self, now: Time) -> Option<Time> {
        self.log.poll(now).map(Time)
    }

    /// From now on the node is ending.
    pub(crate) fn begin_ending(&self) {
        self.ending.store(true, Ordering::Release);
    }
}
