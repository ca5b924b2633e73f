//! The count of running callbacks: `m0_net_tm_fini` waits for them, and `ntm_chan` is broadcast when none is left (motr-net 6.2).

use super::types::m0_net_transfer_mc;
use crate::object::Object;
use crate::support::m0_chan_broadcast;

/// Counts a callback that is about to run. The machine is locked.
pub(crate) fn begin(tm: Object<m0_net_transfer_mc>) {
    tm.ntm_callback_counter.update(|it| it + 1);
}

/// Counts a callback that has returned, and broadcasts if none is left. The machine is locked.
pub(crate) fn end(tm: Object<m0_net_transfer_mc>) {
    tm.ntm_callback_counter.update(|it| it - 1);
    if tm.ntm_callback_counter.get() == 0 {
        m0_chan_broadcast(tm.part(|it| &it.ntm_chan));
    }
}
