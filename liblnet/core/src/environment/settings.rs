//! The settings of a node (core-behaviour 11), and their valid values.

use lnet_wire::Errno;
use std::time::Duration;

/// The maximum of health values and of the sensitivity to failures; a healthy interface has this value.
pub const MAX_HEALTH: u32 = 1000;
/// A lower number of interfaces becomes [`DEFAULT_MAX_INTERFACES`].
const MIN_INTERFACES: i64 = 16;
/// The default maximum number of interfaces of a peer.
const DEFAULT_MAX_INTERFACES: u32 = 200;

/// The settings. The setters check their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// NUMA distances that differ by no more than this count as equal (cfg-090).
    pub numa_range: u32,
    /// The maximum number of interfaces of a peer.
    pub max_interfaces: u32,
    /// Whether and how peers are discovered.
    pub discovery: DiscoveryMode,
    /// Whether a peer is pinged before its first use although discovery is off, as in the kernel (DI-32).
    pub first_ping: bool,
    /// Whether [`crate::Core::primary_nid`] returns at once what is known, as in the kernel (OM-25); otherwise it
    /// waits for the discovery of the peer.
    pub lock_primary: bool,
    /// Whether a message is dropped that came on another path than its response would take.
    pub drop_asym_route: bool,
    /// Whether a gateway on the net of a route must have a live interface there (`avoid_asym_router_failure`).
    pub avoid_asym_router_failure: bool,
    /// The seconds between two checks of a gateway; 0: it is not checked (`alive_router_check_interval`).
    pub alive_router_check_interval: u32,
    /// The seconds after the interval of gateway checks for which a router waits for a message on each of its nets
    /// (`router_ping_timeout`, RT-32).
    pub router_ping_timeout: u32,
    /// How often a message is resent.
    pub retry_count: u32,
    /// The seconds for a message and its response; never 0.
    pub transaction_timeout: u32,
    /// The seconds for all steps of a discovery together, and for which a message waits for one; never 0.
    pub discovery_timeout: u32,
    /// By how much a failure lowers a health value.
    pub health_sensitivity: u32,
    /// The health, in percent, that an interface of a router must have to be used.
    pub router_sensitivity: u32,
    /// The messages whose responses are tracked: 0 LNet's own, 1 GETs, 2 PUTs, 3 both.
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
    /// Peers are as configured, or have the one NID by which they are known.
    Off,
    /// Peers are pinged for their NIDs before they are used, and pushed those of this node.
    #[default]
    On,
    /// As [`DiscoveryMode::On`], but ping information is only compared with what is known; differences are reported.
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
    /// The time in which each node has asked its gateways, and has been answered.
    pub(crate) const fn gateway_check_period(&self) -> Duration {
        let seconds = self.alive_router_check_interval.saturating_add(self.router_ping_timeout);
        Duration::from_secs(seconds as u64)
    }

    /// Too low values become the default, as in the kernel.
    pub fn set_max_interfaces(&mut self, value: i64) -> Result<(), Errno> {
        let enough = if value < MIN_INTERFACES { DEFAULT_MAX_INTERFACES.into() } else { value };
        self.max_interfaces = within(enough, 0, u32::MAX)?;
        Ok(())
    }

    /// At most the transaction timeout; 0 if the health sensitivity is 0.
    pub fn set_retry_count(&mut self, value: i64) -> Result<(), Errno> {
        let count = within(value, 0, self.transaction_timeout)?;
        if count > 0 && self.health_sensitivity == 0 {
            return Err(Errno::Invalid);
        }
        self.retry_count = count;
        Ok(())
    }

    /// Above the retry count.
    pub fn set_transaction_timeout(&mut self, value: i64) -> Result<(), Errno> {
        let least = self.retry_count.checked_add(1).ok_or(Errno::Invalid)?;
        self.transaction_timeout = within(value, least, u32::MAX)?;
        Ok(())
    }

    /// Any number of seconds but 0.
    pub fn set_discovery_timeout(&mut self, value: i64) -> Result<(), Errno> {
        self.discovery_timeout = within(value, 1, i32::MAX as u32)?;
        Ok(())
    }

    /// 0 switches off health, and retries with it.
    pub fn set_health_sensitivity(&mut self, value: i64) -> Result<(), Errno> {
        self.health_sensitivity = within(value, 0, MAX_HEALTH)?;
        if self.health_sensitivity == 0 {
            self.retry_count = 0;
        }
        Ok(())
    }

    /// A percentage.
    pub fn set_router_sensitivity(&mut self, value: i64) -> Result<(), Errno> {
        self.router_sensitivity = within(value, 0, 100)?;
        Ok(())
    }

    /// 0 to 3.
    pub fn set_response_tracking(&mut self, value: i64) -> Result<(), Errno> {
        self.response_tracking = within(value, 0, 3)?;
        Ok(())
    }

    /// Any number of seconds.
    pub fn set_recovery_limit(&mut self, value: i64) -> Result<(), Errno> {
        self.recovery_limit = within(value, 0, i32::MAX as u32)?;
        Ok(())
    }

    /// Any number of seconds but 0.
    pub fn set_max_recovery_ping_interval(&mut self, value: i64) -> Result<(), Errno> {
        self.max_recovery_ping_interval = within(value, 1, i32::MAX as u32)?;
        Ok(())
    }

    /// Makes settings that were given together consistent: without health sensitivity there are no retries (HE-2).
    /// [`Errno::Invalid`] if the retries do not fit into the transaction timeout (HE-30).
    pub fn agree(&mut self) -> Result<(), Errno> {
        if self.health_sensitivity == 0 {
            self.retry_count = 0;
        }
        if self.retry_count < self.transaction_timeout { Ok(()) } else { Err(Errno::Invalid) }
    }

    /// The seconds that a driver has for one message, so that all attempts fit into the transaction timeout (HE-30).
    pub const fn lnd_timeout(&self) -> u32 {
        self.transaction_timeout.saturating_sub(1) / self.retry_count.saturating_add(1)
    }
}

fn within(value: i64, least: u32, most: u32) -> Result<u32, Errno> {
    u32::try_from(value).ok().filter(|value| (least..=most).contains(value)).ok_or(Errno::Invalid)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    type Set = fn(&mut Settings, i64) -> Result<(), Errno>;

    #[test]
    fn settings_accept_what_the_kernel_accepts() {
        let table: [(&str, Set, &[i64], &[i64]); 8] = [
            ("retry_count", Settings::set_retry_count, &[0, 5, 50], &[-1, 51, 1000]),
            (
                "transaction_timeout",
                Settings::set_transaction_timeout,
                &[3, 50, 100_000],
                &[0, 1, 2, -1, 1 << 32],
            ),
            ("discovery_timeout", Settings::set_discovery_timeout, &[1, 10, 100_000], &[0, -1, 1 << 31]),
            ("health_sensitivity", Settings::set_health_sensitivity, &[0, 100, 1000], &[-1, 1001]),
            ("router_sensitivity", Settings::set_router_sensitivity, &[0, 100], &[-1, 101]),
            ("response_tracking", Settings::set_response_tracking, &[0, 3], &[-1, 4]),
            ("recovery_limit", Settings::set_recovery_limit, &[0, 10], &[-1]),
            (
                "max_recovery_ping_interval",
                Settings::set_max_recovery_ping_interval,
                &[1, 900, 100_000],
                &[0, -1, 1 << 31],
            ),
        ];
        for (name, set, good, bad) in table {
            for value in good {
                assert_eq!(set(&mut Settings::default(), *value), Ok(()), "{name} {value}");
            }
            for value in bad {
                let mut settings = Settings::default();
                assert_eq!(set(&mut settings, *value), Err(Errno::Invalid), "{name} {value}");
                assert_eq!(settings, Settings::default(), "{name} {value}");
            }
        }
    }

    #[test]
    fn too_few_interfaces_become_the_default() {
        let mut settings = Settings::default();
        for (value, expected) in [(100, 100), (2, 200), (-1, 200), (16, 16)] {
            assert_eq!(settings.set_max_interfaces(value), Ok(()));
            assert_eq!(settings.max_interfaces, expected);
        }
    }

    #[test]
    fn the_drivers_timeout_follows_from_transaction_timeout_and_retry_count() {
        let mut settings = Settings::default();
        assert_eq!(settings.lnd_timeout(), 16);
        settings.set_retry_count(0).unwrap();
        assert_eq!(settings.lnd_timeout(), 49);
        settings.set_retry_count(3).unwrap();
        assert_eq!(settings.lnd_timeout(), 12);
    }

    #[test]
    fn settings_that_contradict_each_other_are_rejected() {
        // (transaction time-out, retries, sensitivity), and the retries that there are then.
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
        settings.set_health_sensitivity(0).unwrap();
        assert_eq!(settings.retry_count, 0);
        assert_eq!(settings.set_retry_count(1), Err(Errno::Invalid));
    }
}
