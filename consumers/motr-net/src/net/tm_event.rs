//! The events of transfer machines (motr-net 1.4).

use super::callback;
use super::guard::Guard;
use super::provision::{give_back_receive_buffers, provision};
use super::types::{m0_net_tm_event, tm_event_type, tm_state};
use crate::contract::require;
use crate::object::Object;

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_tm_event_post(ev: Object<m0_net_tm_event>) {
    const NAME: &str = "m0_net_tm_event_post";
    let event = &ev;
    let tm = event.nte_tm;
    require!(NAME, !tm.is_null(), "the event has no transfer machine");
    let is_change = event.nte_type == tm_event_type::STATE_CHANGE;
    let started = is_change && event.nte_next_state == tm_state::STARTED;
    let is_over = is_change && matches!(event.nte_next_state, tm_state::STOPPED | tm_state::FAILED);
    if is_over && !tm.ntm_recv_pool.get().is_null() {
        give_back_receive_buffers(tm);
    }
    let callback = {
        let _tm = Guard::tm(tm);
        if is_change {
            // A machine that the program stops during its start has been started, and continues to stop.
            if !started || tm.ntm_state.get() != tm_state::STOPPING {
                tm.ntm_state.set(event.nte_next_state);
            }
            if started {
                require!(NAME, !event.nte_ep.is_null(), "a started transfer machine has an end point");
                tm.ntm_ep.set(event.nte_ep);
            } else {
                tm.ntm_recv_queue_deficit.set(0);
            }
        }
        callback::begin(tm);
        tm.ntm_callbacks.get().ntc_event_cb
    };
    if let Some(callback) = callback {
        callback(ev);
    }
    if started && !tm.ntm_recv_pool.get().is_null() {
        provision(tm);
    }
    let _tm = Guard::tm(tm);
    callback::end(tm);
}
