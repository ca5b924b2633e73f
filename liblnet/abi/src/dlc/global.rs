//! Settings of the whole node.
//!
//! Every function looks the same, and is written out, because the headers are made from these lines.

use super::{OnFailure, call, show};
use crate::cyaml::node::cYAML;
use lnet_dlc::SeqNo;
use lnet_dlc::ops::global::{self, Setting};
use std::ffi::c_int;

/// Sets by how much NUMA distances may differ. LUSTRE_CFG_RC_GENERIC_ERR for a value that the node refuses;
/// so in all these functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_config_numa_range(
    value: c_int,
    seq_no: c_int,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract NULL, or the caller's and NULL or a tree.
    unsafe { set("lustre_lnet_config_numa_range", Setting::NumaRange, value, seq_no, err_rc) }
}

/// Shows that under global, as numa_range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_show_numa_range(
    seq_no: c_int,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract each NULL, or the caller's and NULL or a tree.
    unsafe { shown("lustre_lnet_show_numa_range", Setting::NumaRange, seq_no, show_rc, err_rc) }
}

/// Sets the most interfaces that a peer may have: from 16.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_config_max_intf(
    value: c_int,
    seq_no: c_int,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract NULL, or the caller's and NULL or a tree.
    unsafe { set("lustre_lnet_config_max_intf", Setting::MaxInterfaces, value, seq_no, err_rc) }
}

/// Shows that under global, as max_interfaces.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_show_max_intf(
    seq_no: c_int,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract each NULL, or the caller's and NULL or a tree.
    unsafe { shown("lustre_lnet_show_max_intf", Setting::MaxInterfaces, seq_no, show_rc, err_rc) }
}

/// Sets whether peers are discovered: 0 not, 1 yes, 2 only to compare what they
/// say with what is known of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_config_discovery(
    value: c_int,
    seq_no: c_int,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract NULL, or the caller's and NULL or a tree.
    unsafe { set("lustre_lnet_config_discovery", Setting::Discovery, value, seq_no, err_rc) }
}

/// Shows that under global, as discovery.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_show_discovery(
    seq_no: c_int,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract each NULL, or the caller's and NULL or a tree.
    unsafe { shown("lustre_lnet_show_discovery", Setting::Discovery, seq_no, show_rc, err_rc) }
}

/// Sets whether messages are dropped that came by another way than the
/// answer would go: 0 or 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_config_drop_asym_route(
    value: c_int,
    seq_no: c_int,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract NULL, or the caller's and NULL or a tree.
    unsafe { set("lustre_lnet_config_drop_asym_route", Setting::DropAsymRoute, value, seq_no, err_rc) }
}

/// Shows that under global, as drop_asym_route.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_show_drop_asym_route(
    seq_no: c_int,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract each NULL, or the caller's and NULL or a tree.
    unsafe { shown("lustre_lnet_show_drop_asym_route", Setting::DropAsymRoute, seq_no, show_rc, err_rc) }
}

/// Sets how often a message is sent again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_config_retry_count(
    value: c_int,
    seq_no: c_int,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract NULL, or the caller's and NULL or a tree.
    unsafe { set("lustre_lnet_config_retry_count", Setting::RetryCount, value, seq_no, err_rc) }
}

/// Shows that under global, as retry_count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_show_retry_count(
    seq_no: c_int,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract each NULL, or the caller's and NULL or a tree.
    unsafe { shown("lustre_lnet_show_retry_count", Setting::RetryCount, seq_no, show_rc, err_rc) }
}

/// Sets the seconds that a message and its answer may take.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_config_transaction_to(
    value: c_int,
    seq_no: c_int,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract NULL, or the caller's and NULL or a tree.
    unsafe { set("lustre_lnet_config_transaction_to", Setting::TransactionTimeout, value, seq_no, err_rc) }
}

/// Shows that under global, as transaction_timeout.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_show_transaction_to(
    seq_no: c_int,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract each NULL, or the caller's and NULL or a tree.
    unsafe { shown("lustre_lnet_show_transaction_to", Setting::TransactionTimeout, seq_no, show_rc, err_rc) }
}

/// Sets the seconds that a discovery may take, all of its steps together, from 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_config_discovery_to(
    value: c_int,
    seq_no: c_int,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract NULL, or the caller's and NULL or a tree.
    unsafe { set("lustre_lnet_config_discovery_to", Setting::DiscoveryTimeout, value, seq_no, err_rc) }
}

/// Shows that under global, as discovery_timeout.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_show_discovery_to(
    seq_no: c_int,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract each NULL, or the caller's and NULL or a tree.
    unsafe { shown("lustre_lnet_show_discovery_to", Setting::DiscoveryTimeout, seq_no, show_rc, err_rc) }
}

/// Sets by how much a failure lowers a health value, 0 to 1000.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_config_hsensitivity(
    value: c_int,
    seq_no: c_int,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract NULL, or the caller's and NULL or a tree.
    unsafe { set("lustre_lnet_config_hsensitivity", Setting::HealthSensitivity, value, seq_no, err_rc) }
}

/// Shows that under global, as health_sensitivity.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_show_hsensitivity(
    seq_no: c_int,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract each NULL, or the caller's and NULL or a tree.
    unsafe { shown("lustre_lnet_show_hsensitivity", Setting::HealthSensitivity, seq_no, show_rc, err_rc) }
}

/// Sets the recovery interval, which has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_config_recov_intrv(
    value: c_int,
    seq_no: c_int,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract NULL, or the caller's and NULL or a tree.
    unsafe { set("lustre_lnet_config_recov_intrv", Setting::RecoveryInterval, value, seq_no, err_rc) }
}

/// Shows that under global, as recovery_interval.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_show_recov_intrv(
    seq_no: c_int,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract each NULL, or the caller's and NULL or a tree.
    unsafe { shown("lustre_lnet_show_recov_intrv", Setting::RecoveryInterval, seq_no, show_rc, err_rc) }
}

/// Sets the percentage of its health that a router must have.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_config_rtr_sensitivity(
    value: c_int,
    seq_no: c_int,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract NULL, or the caller's and NULL or a tree.
    unsafe { set("lustre_lnet_config_rtr_sensitivity", Setting::RouterSensitivity, value, seq_no, err_rc) }
}

/// Shows that under global, as router_sensitivity.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_show_rtr_sensitivity(
    seq_no: c_int,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract each NULL, or the caller's and NULL or a tree.
    unsafe { shown("lustre_lnet_show_rtr_sensitivity", Setting::RouterSensitivity, seq_no, show_rc, err_rc) }
}

/// Sets for which messages answers are tracked: 0 LNet's own, 1 GETs,
/// 2 PUTs, 3 both.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_config_response_tracking(
    value: c_int,
    seq_no: c_int,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract NULL, or the caller's and NULL or a tree.
    unsafe { set("lustre_lnet_config_response_tracking", Setting::ResponseTracking, value, seq_no, err_rc) }
}

/// Shows that under global, as response_tracking.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_show_response_tracking(
    seq_no: c_int,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract each NULL, or the caller's and NULL or a tree.
    unsafe { shown("lustre_lnet_show_response_tracking", Setting::ResponseTracking, seq_no, show_rc, err_rc) }
}

/// Sets the seconds for which recovery pings go to an unhealthy interface; 0 for ever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_config_recovery_limit(
    value: c_int,
    seq_no: c_int,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract NULL, or the caller's and NULL or a tree.
    unsafe { set("lustre_lnet_config_recovery_limit", Setting::RecoveryLimit, value, seq_no, err_rc) }
}

/// Shows that under global, as recovery_limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_show_recovery_limit(
    seq_no: c_int,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract each NULL, or the caller's and NULL or a tree.
    unsafe { shown("lustre_lnet_show_recovery_limit", Setting::RecoveryLimit, seq_no, show_rc, err_rc) }
}

/// Sets the most seconds between two recovery pings to an unhealthy interface, from 1 on. Not in other implementations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_config_max_recovery_ping_interval(
    value: c_int,
    seq_no: c_int,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract NULL, or the caller's and NULL or a tree.
    unsafe {
        set(
            "lustre_lnet_config_max_recovery_ping_interval",
            Setting::MaxRecoveryPingInterval,
            value,
            seq_no,
            err_rc,
        )
    }
}

/// Shows that under global, as max_recovery_ping_interval. Not in other implementations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_show_max_recovery_ping_interval(
    seq_no: c_int,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract each NULL, or the caller's and NULL or a tree.
    unsafe {
        shown(
            "lustre_lnet_show_max_recovery_ping_interval",
            Setting::MaxRecoveryPingInterval,
            seq_no,
            show_rc,
            err_rc,
        )
    }
}

/// Sets whether a peer's interfaces are compared by their queued bytes before their credits: 0 or 1. Not in other implementations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_config_compare_queued_bytes(
    value: c_int,
    seq_no: c_int,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract NULL, or the caller's and NULL or a tree.
    unsafe {
        set("lustre_lnet_config_compare_queued_bytes", Setting::CompareQueuedBytes, value, seq_no, err_rc)
    }
}

/// Shows that under global, as compare_queued_bytes. Not in other implementations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_show_compare_queued_bytes(
    seq_no: c_int,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract each NULL, or the caller's and NULL or a tree.
    unsafe {
        shown("lustre_lnet_show_compare_queued_bytes", Setting::CompareQueuedBytes, seq_no, show_rc, err_rc)
    }
}

/// Shows under global, as lnd_timeout, the seconds that a driver has for one message. It follows from other
/// settings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_show_lnd_timeout(
    seq_no: c_int,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract each NULL, or the caller's and NULL or a tree.
    unsafe { shown("lustre_lnet_show_lnd_timeout", Setting::LndTimeout, seq_no, show_rc, err_rc) }
}

/// # Safety
/// As `call`.
unsafe fn set(
    name: &'static str,
    setting: Setting,
    value: c_int,
    seq_no: c_int,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: this function's contract.
    unsafe {
        call(name, err_rc, |node, report| {
            global::config(node, setting, value.into(), SeqNo::from_c(seq_no), report)
        })
    }
}

/// # Safety
/// As `show`.
unsafe fn shown(
    name: &'static str,
    setting: Setting,
    seq_no: c_int,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: this function's contract.
    unsafe {
        show(name, show_rc, err_rc, OnFailure::Drop, |node, report| {
            global::show(node, setting, SeqNo::from_c(seq_no), report)
        })
    }
}
