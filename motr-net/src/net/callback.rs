//! Counting the callbacks that are running: `m0_net_tm_fini` waits for them, and `ntm_chan` is broadcast when none is left (motr-net 6.2).

use super::types::m0_net_transfer_mc;
use crate::support::m0_chan_broadcast;

/// A callback is about to run. The machine is locked.
///
/// # Safety
/// The machine is initialised.
pub(crate) unsafe fn begin(tm: *mut m0_net_transfer_mc) {
    // SAFETY: by contract.
    unsafe { (*tm).ntm_callback_counter += 1 };
}

/// It has returned: broadcasts if none is left. The machine is locked.
///
/// # Safety
/// The machine is initialised.
pub(crate) unsafe fn end(tm: *mut m0_net_transfer_mc) {
    // SAFETY: by contract.
    unsafe {
        (*tm).ntm_callback_counter -= 1;
        if (*tm).ntm_callback_counter == 0 {
            m0_chan_broadcast(&raw mut (*tm).ntm_chan);
        }
    }
}
