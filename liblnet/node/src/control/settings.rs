//! The settings of the node, and health values.

use lnet_core::settings::{MAX_HEALTH, Settings};
use lnet_core::{Core, DiscoveryMode, Errno};
use lnet_dlc::ranges::HEALTH;
use lnet_dlc::request::{SetHealth, SetHealthKind, Tunable, Tunables};

/// The kernel's deprecated tunable: accepted without effect, and always shown with this value.
const RECOVERY_INTERVAL: u32 = 1;

pub(super) fn set_numa_range(core: &Core, range: u32) -> Result<(), Errno> {
    core.change_settings(|settings| {
        settings.numa_range = range;
        Ok(())
    })
}

pub(super) fn set(core: &Core, tunable: Tunable, value: i64) -> Result<(), Errno> {
    core.change_settings(|settings| match tunable {
        Tunable::MaxInterfaces => settings.set_max_interfaces(value),
        Tunable::Discovery => {
            settings.discovery = match value {
                0 => DiscoveryMode::Off,
                2 => DiscoveryMode::Verify,
                _ => DiscoveryMode::On,
            };
            Ok(())
        }
        Tunable::DropAsymRoute => {
            settings.drop_asym_route = value != 0;
            Ok(())
        }
        Tunable::RetryCount => settings.set_retry_count(value),
        Tunable::TransactionTimeout => settings.set_transaction_timeout(value),
        Tunable::DiscoveryTimeout => settings.set_discovery_timeout(value),
        Tunable::HealthSensitivity => settings.set_health_sensitivity(value),
        Tunable::RecoveryInterval => Ok(()),
        Tunable::RouterSensitivity => settings.set_router_sensitivity(value),
        Tunable::ResponseTracking => settings.set_response_tracking(value),
        Tunable::RecoveryLimit => settings.set_recovery_limit(value),
        Tunable::MaxRecoveryPingInterval => settings.set_max_recovery_ping_interval(value),
        Tunable::CompareQueuedBytes => {
            settings.compare_queued_bytes = value != 0;
            Ok(())
        }
    })
}

pub(super) fn all(settings: &Settings) -> Tunables {
    Tunables {
        max_interfaces: settings.max_interfaces,
        discovery: match settings.discovery {
            DiscoveryMode::Off => 0,
            DiscoveryMode::On => 1,
            DiscoveryMode::Verify => 2,
        },
        drop_asym_route: settings.drop_asym_route.into(),
        retry_count: settings.retry_count,
        transaction_timeout: settings.transaction_timeout,
        discovery_timeout: settings.discovery_timeout,
        health_sensitivity: settings.health_sensitivity,
        recovery_interval: RECOVERY_INTERVAL,
        router_sensitivity: settings.router_sensitivity,
        response_tracking: settings.response_tracking,
        recovery_limit: settings.recovery_limit,
        max_recovery_ping_interval: settings.max_recovery_ping_interval,
        compare_queued_bytes: settings.compare_queued_bytes.into(),
        lnd_timeout: settings.lnd_timeout(),
    }
}

/// -1 is the maximum, as in the kernel; [`Errno::Invalid`] for any other value out of range, [`Errno::NotFound`] for a NID that is not
/// there.
pub(super) fn set_health(core: &Core, set: SetHealth) -> Result<(), Errno> {
    let is_there = |nid| match set.kind {
        SetHealthKind::LocalNi => core.nets().ni(nid).is_some(),
        SetHealthKind::PeerNi => core.peer(nid).is_some(),
    };
    if set.nid.is_some_and(|nid| !is_there(nid)) {
        return Err(Errno::NotFound);
    }
    let value = match set.value {
        -1 => MAX_HEALTH,
        value => HEALTH.count(value.into()).map_err(|_| Errno::Invalid)?,
    };
    match set.kind {
        SetHealthKind::LocalNi => core.set_ni_health(set.nid, value),
        SetHealthKind::PeerNi => core.set_peer_ni_health(set.nid, value),
    }
    Ok(())
}
