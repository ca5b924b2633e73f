//! Events that the program fetches (motr-net 6.4).

use super::domain::ops;
use super::guard::Guard;
use super::types::{m0_net_transfer_mc, tm_state};
use crate::Errno;
use crate::contract::require;
use crate::object::Object;
use crate::support::m0_chan;
use std::ffi::c_int;

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_event_deliver_synchronously(tm: Object<m0_net_transfer_mc>) -> c_int {
    if tm.is_null() || tm.ntm_state.get() == tm_state::UNDEFINED {
        return Errno::Invalid.to_c();
    }
    let _tm = Guard::tm(tm);
    if tm.ntm_state.get() != tm_state::INITIALIZED {
        return Errno::Invalid.to_c();
    }
    let Some(deliver_sync) = ops(tm.ntm_dom.get()).xo_bev_deliver_sync else {
        return Errno::NoFunction.to_c();
    };
    let rc = deliver_sync(tm);
    if rc >= 0 {
        tm.ntm_bev_auto_deliver.set(false);
    }
    rc.min(0)
}

/// Ends the process unless the program may fetch events.
fn require_synchronous(name: &str, tm: Object<m0_net_transfer_mc>) {
    require!(name, !tm.ntm_bev_auto_deliver.get(), "the transfer machine delivers events itself");
    let state = tm.ntm_state.get();
    let was_started = matches!(state, tm_state::STARTED | tm_state::STOPPING | tm_state::STOPPED);
    require!(name, was_started, "the transfer machine is not started: its state is {state}");
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_event_pending(tm: Object<m0_net_transfer_mc>) -> bool {
    let _tm = Guard::tm(tm);
    require_synchronous("m0_net_buffer_event_pending", tm);
    ops(tm.ntm_dom.get()).xo_bev_pending.is_some_and(|pending| pending(tm))
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_event_deliver_all(tm: Object<m0_net_transfer_mc>) {
    let _tm = Guard::tm(tm);
    require_synchronous("m0_net_buffer_event_deliver_all", tm);
    if let Some(deliver_all) = ops(tm.ntm_dom.get()).xo_bev_deliver_all {
        deliver_all(tm);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_event_notify(tm: Object<m0_net_transfer_mc>, chan: Object<m0_chan>) {
    const NAME: &str = "m0_net_buffer_event_notify";
    let _tm = Guard::tm(tm);
    require!(NAME, !chan.is_null(), "there is no channel");
    require_synchronous(NAME, tm);
    if let Some(notify) = ops(tm.ntm_dom.get()).xo_bev_notify {
        notify(tm, chan);
    }
}
