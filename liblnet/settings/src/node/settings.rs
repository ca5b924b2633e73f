//! The settings of a node as a plain struct (core-behaviour 11).

use lnet_wire::Errno;
use std::time::Duration;

/// The maximum of health values and of the sensitivity to failures; a healthy interface has this value.
pub const MAX_HEALTH: u32 = 1000;

/// The default of [`Settings::max_interfaces`], as in kernels after 2.17.0; until then it was 200.
pub(crate) const DEFAULT_MAX_INTERFACES: u32 = 4096;

/// The settings of a node as its parts read them. The rows of the table explain each and its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// NUMA distances that differ by no more than this count as equal (cfg-090).
    pub numa_range: u32,
    /// The maximum number of interfaces of a peer.
    pub max_interfaces: u32,
    /// The discovery mode.
    pub discovery: DiscoveryMode,
    /// Whether a peer is pinged before its first use although discovery is off, as in the kernel (DI-32).
    pub first_ping: bool,
    /// Whether `Core::primary_nid` returns the NID that is known without waiting, as in the kernel (OM-25); otherwise it
    /// waits for the discovery of the peer.
    pub lock_primary: bool,
    /// Whether a router sends large messages on while they arrive.
    pub cut_through: bool,
    /// Whether a message is dropped that arrived on another path than its response would take.
    pub drop_asym_route: bool,
    /// Whether a gateway on the net of a route must have a live interface there (`avoid_asym_router_failure`).
    pub avoid_asym_router_failure: bool,
    /// The seconds between two checks of a gateway; 0: gateways are not checked (`alive_router_check_interval`).
    pub alive_router_check_interval: u32,
    /// The seconds after the interval of gateway checks for which a router waits for a message on each of its nets
    /// (`router_ping_timeout`, RT-32).
    pub router_ping_timeout: u32,
    /// The number of times that a message may be resent.
    pub retry_count: u32,
    /// The timeout of a message and its response, in seconds; never 0.
    pub transaction_timeout: u32,
    /// The timeout of a discovery as a whole, and of a message that waits for one, in seconds; never 0.
    pub discovery_timeout: u32,
    /// The amount by which a failure lowers a health value.
    pub health_sensitivity: u32,
    /// The health, in percent, that an interface of a router must have to be used.
    pub router_sensitivity: u32,
    /// The messages whose responses are tracked: 0: those of LNet itself, 1: GETs, 2: PUTs, 3: both.
    pub response_tracking: u32,
    /// The seconds for which an unhealthy interface is pinged; 0: unlimited.
    pub recovery_limit: u32,
    /// The maximum interval, in seconds, between pings of an unhealthy interface (HE-51); never 0.
    pub max_recovery_ping_interval: u32,
    /// Whether peer NIs are compared by their queued bytes before their credits (snd-035); the kernel does not.
    pub compare_queued_bytes: bool,
    /// Whether a message that may have arrived is resent to a peer that does not deduplicate: at least once instead
    /// of at most once. To nodes of this library delivery is exactly once either way.
    pub resend_unconfirmed: bool,
}

/// The discovery mode (core-behaviour 5.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiscoveryMode {
    /// Peers are used as configured, or with the one NID by which they are known.
    Off,
    /// Peers are pinged for their NIDs before they are used, and pushed those of this node.
    #[default]
    On,
    /// As [`DiscoveryMode::On`], but ping information is only compared with the known NIDs; differences are reported.
    Verify,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            numa_range: 0,
            max_interfaces: DEFAULT_MAX_INTERFACES,
            discovery: DiscoveryMode::On,
            first_ping: true,
            lock_primary: true,
            cut_through: true,
            drop_asym_route: false,
            avoid_asym_router_failure: true,
            alive_router_check_interval: 60,
            router_ping_timeout: 50,
            retry_count: 2,
            transaction_timeout: 50,
            discovery_timeout: 10,
            health_sensitivity: 100,
            router_sensitivity: 100,
            response_tracking: 3,
            recovery_limit: 0,
            max_recovery_ping_interval: 900,
            compare_queued_bytes: false,
            resend_unconfirmed: false,
        }
    }
}

impl Settings {
    /// The time in which each node has pinged its gateways and received the replies.
    pub const fn gateway_check_period(&self) -> Duration {
        let seconds = self.alive_router_check_interval.saturating_add(self.router_ping_timeout);
        Duration::from_secs(seconds as u64)
    }

    /// Makes settings that were given together consistent: without health sensitivity there are no retries (HE-2).
    /// [`Errno::Invalid`] if the retries do not fit into the transaction timeout (HE-30).
    pub fn agree(&mut self) -> Result<(), Errno> {
        if self.health_sensitivity == 0 {
            self.retry_count = 0;
        }
        if self.retry_count < self.transaction_timeout { Ok(()) } else { Err(Errno::Invalid) }
    }

    /// The timeout of a driver for one message, in seconds, chosen so that all attempts fit into the transaction timeout (HE-30).
    pub const fn lnd_timeout(&self) -> u32 {
        self.transaction_timeout.saturating_sub(1) / self.retry_count.saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setting;

    #[test]
    fn the_drivers_timeout_follows_from_transaction_timeout_and_retry_count() {
        let mut settings = Settings::default();
        assert_eq!(settings.lnd_timeout(), 16);
        settings.set(Setting::RetryCount, 0).unwrap();
        assert_eq!(settings.lnd_timeout(), 49);
        settings.set(Setting::RetryCount, 3).unwrap();
        assert_eq!(settings.lnd_timeout(), 12);
    }

    #[test]
    fn settings_that_contradict_each_other_are_rejected() {
        // Each row has the transaction timeout, the retries, the sensitivity, and the resulting retries.
        let table = [
            ((1, 0, 100), Ok(0)),
            ((3, 2, 100), Ok(2)),
            ((2, 2, 100), Err(Errno::Invalid)),
            ((50, 2, 0), Ok(0)),
            ((2, 2, 0), Ok(0)),
            ((0, 0, 0), Err(Errno::Invalid)),
        ];
        for ((transaction_timeout, retry_count, health_sensitivity), expected) in table {
            let given = Settings::default();
            let mut settings = Settings { transaction_timeout, retry_count, health_sensitivity, ..given };
            let retries = settings.agree().map(|()| settings.retry_count);
            assert_eq!(retries, expected, "{transaction_timeout} {retry_count} {health_sensitivity}");
        }
    }

    #[test]
    fn without_sensitivity_there_are_no_retries() {
        let mut settings = Settings::default();
        settings.set(Setting::HealthSensitivity, 0).unwrap();
        assert_eq!(settings.retry_count, 0);
        assert_eq!(settings.set(Setting::RetryCount, 1), Err(Errno::Invalid));
    }
}
