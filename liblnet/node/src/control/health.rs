//! Requests about health values.

use lnet_core::{Core, Errno, MAX_HEALTH};
use lnet_dlc::ranges::HEALTH;
use lnet_dlc::request::{SetHealth, SetHealthKind};

/// Sets health values; -1 is the maximum, as in the kernel. [`Errno::Invalid`] for any other value out of range,
/// [`Errno::NotFound`] for an unknown NID.
pub(super) fn set(core: &Core, set: SetHealth) -> Result<(), Errno> {
    let is_there = |nid| match set.kind {
        SetHealthKind::LocalNi => core.nets().ni(nid).is_some(),
        SetHealthKind::PeerNi => core.admin().peer(nid).is_some(),
    };
    if set.nid.is_some_and(|nid| !is_there(nid)) {
        return Err(Errno::NotFound);
    }
    let value = match set.value {
        -1 => MAX_HEALTH,
        value => HEALTH.count(value.into()).map_err(|_| Errno::Invalid)?,
    };
    match set.kind {
        SetHealthKind::LocalNi => core.admin().set_ni_health(set.nid, value),
        SetHealthKind::PeerNi => core.admin().set_peer_ni_health(set.nid, value),
    }
    Ok(())
}
