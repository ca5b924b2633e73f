//! The environment of the parts of a node: clock, settings, identity, shutdown, log.
//!
//! One [`Environment`] belongs to each node and is passed by reference.

mod config;
mod config_lock;
mod notify;
pub mod time;

pub use config::CoreConfig;
pub(crate) use config_lock::{ConfigGuard, ConfigLock};
pub(crate) use notify::Notify;

use arc_swap::ArcSwap;
use lnet_log::{LogClass, RateLimitedLog};
use lnet_settings::Settings;
use lnet_wire::Pid;
use std::fmt::{Arguments, Display};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use time::Time;

/// The environment of a node's parts. Any thread may call its methods.
#[derive(Debug)]
pub(crate) struct Environment {
    config: CoreConfig,
    settings: ArcSwap<Settings>,
    /// Copies of the settings that every message needs.
    transaction_timeout: AtomicU32,
    response_tracking: AtomicU32,
    compare_queued_bytes: AtomicBool,
    router_sensitivity: AtomicU32,
    avoid_asym_router_failure: AtomicBool,
    drop_asym_route: AtomicBool,
    ending: AtomicBool,
    log: RateLimitedLog,
}

impl Environment {
    pub(crate) fn new(config: CoreConfig, log: RateLimitedLog) -> Self {
        let Settings { transaction_timeout, response_tracking, compare_queued_bytes, .. } = config.settings;
        let Settings { router_sensitivity, avoid_asym_router_failure, drop_asym_route, .. } = config.settings;
        Self {
            settings: ArcSwap::from_pointee(config.first_settings()),
            transaction_timeout: transaction_timeout.into(),
            response_tracking: response_tracking.into(),
            compare_queued_bytes: compare_queued_bytes.into(),
            router_sensitivity: router_sensitivity.into(),
            avoid_asym_router_failure: avoid_asym_router_failure.into(),
            drop_asym_route: drop_asym_route.into(),
            config,
            ending: AtomicBool::new(false),
            log,
        }
    }

    /// The start configuration. Settings may have changed since: see [`Environment::settings`].
    pub(crate) const fn config(&self) -> &CoreConfig {
        &self.config
    }

    /// The time of the node's clock.
    pub(crate) fn now(&self) -> Time {
        self.config.clock.now()
    }

    /// The exact time of the node's clock, for delays that are measured.
    pub(crate) fn exact_now(&self) -> Time {
        self.config.clock.exact()
    }

    /// The process id of every interface.
    pub(crate) const fn pid(&self) -> Pid {
        self.config.pid
    }

    /// The current settings.
    pub(crate) fn settings(&self) -> Settings {
        **self.settings.load()
    }

    pub(crate) fn set_settings(&self, settings: Settings) {
        self.transaction_timeout.store(settings.transaction_timeout, Ordering::Relaxed);
        self.response_tracking.store(settings.response_tracking, Ordering::Relaxed);
        self.compare_queued_bytes.store(settings.compare_queued_bytes, Ordering::Relaxed);
        self.router_sensitivity.store(settings.router_sensitivity, Ordering::Relaxed);
        self.avoid_asym_router_failure.store(settings.avoid_asym_router_failure, Ordering::Relaxed);
        self.drop_asym_route.store(settings.drop_asym_route, Ordering::Relaxed);
        self.settings.store(Arc::new(settings));
    }

    /// The transaction timeout of a message and its response.
    pub(crate) fn transaction_timeout(&self) -> Duration {
        Duration::from_secs(self.transaction_timeout.load(Ordering::Relaxed).into())
    }

    /// The time for all steps of a discovery together.
    pub(crate) fn discovery_timeout(&self) -> Duration {
        Duration::from_secs(self.settings.load().discovery_timeout.into())
    }

    /// The kinds of responses that are tracked, see [`Settings::response_tracking`].
    pub(crate) fn response_tracking(&self) -> u32 {
        self.response_tracking.load(Ordering::Relaxed)
    }

    /// See [`Settings::compare_queued_bytes`].
    pub(crate) fn compare_queued_bytes(&self) -> bool {
        self.compare_queued_bytes.load(Ordering::Relaxed)
    }

    /// See [`Settings::router_sensitivity`].
    pub(crate) fn router_sensitivity(&self) -> u32 {
        self.router_sensitivity.load(Ordering::Relaxed)
    }

    /// See [`Settings::avoid_asym_router_failure`].
    pub(crate) fn avoid_asym_router_failure(&self) -> bool {
        self.avoid_asym_router_failure.load(Ordering::Relaxed)
    }

    /// See [`Settings::drop_asym_route`].
    pub(crate) fn drop_asym_route(&self) -> bool {
        self.drop_asym_route.load(Ordering::Relaxed)
    }

    /// Whether the node's shutdown has begun.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    /// Writes a line to the log, rate-limited by its class and subject. The subject is a NID, a path or a name.
    pub(crate) fn log(&self, class: LogClass, subject: impl Display, line: Arguments<'_>) {
        self.log.write(self.now(), class, subject, line);
    }

    /// Adds a change of a state at once to the history of the node; [`Environment::log_lasting`] writes its line when the state has
    /// lasted. Lines about subjects that are not configured do not suppress those about one that `is_configured`.
    pub(crate) fn keep(
        &self,
        is_configured: bool,
        class: LogClass,
        subject: impl Display,
        line: Arguments<'_>,
    ) {
        self.log.keep(self.now(), class, is_configured, subject, line);
    }

    /// Writes a line about a state that has lasted, whose changes are in the history already.
    pub(crate) fn log_lasting(
        &self,
        is_configured: bool,
        class: LogClass,
        subject: impl Display,
        line: Arguments<'_>,
    ) {
        self.log.write_kept(self.now(), class, is_configured, subject, line);
    }

    /// Logs the numbers of suppressed lines for the periods that have ended; returns the end of the next period.
    pub(crate) fn poll_log(&self, now: Time) -> Option<Time> {
        self.log.poll(now).map(Time)
    }

    /// Records that the shutdown has begun.
    pub(crate) fn begin_ending(&self) {
        self.ending.store(true, Ordering::Release);
    }
}
