//! Lazy portals.

use crate::backend;
use crate::entry::entry;
use lnet_core::Errno;
use std::ffi::c_int;

/// Makes a portal lazy: PUTs that nothing matches wait for a memory descriptor instead of being dropped.
/// GETs never wait.
///
/// Returns 0; -EINVAL for a number that is no portal's. Must not be called from an event handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetSetLazyPortal(portal: c_int) -> c_int {
    entry("LNetSetLazyPortal", || {
        let portal = number(portal)?;
        backend::with(|node| node.set_lazy_portal(portal, true)).map(|()| 0)
    })
}

/// Makes a portal not lazy, and drops the PUTs that wait, before it returns.
///
/// Returns 0, also if the portal was not lazy; -EINVAL for a number that is no portal's. Must not be called from an event
/// handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _LNetClearLazyPortal(portal: c_int) -> c_int {
    entry("LNetClearLazyPortal", || {
        let portal = number(portal)?;
        backend::with(|node| node.set_lazy_portal(portal, false)).map(|()| 0)
    })
}

fn number(portal: c_int) -> Result<u32, Errno> {
    u32::try_from(portal).ok().filter(|portal| *portal < lnet_wire::MAX_PORTALS).ok_or(Errno::Invalid)
}
