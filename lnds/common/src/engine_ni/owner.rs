//! The interface's own thread, the owner: it looks for what peers have done, and for what is late.

use super::{EngineNi, Look};
use crate::deliverers::Role;
use crate::outputs::PassOutputs;
use lnet_core::Time;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The time for which the owner leaves the interface to an application's thread that has looked at it. What happens when that thread has
/// stopped waits for this time at most. It is also the time for which the owner waits while too many outputs wait.
const PAUSE: Duration = Duration::from_millis(1);

/// Makes the calling thread the owner, until another becomes it, or until the interface ends, which it carries out.
pub(super) fn run<N: EngineNi>(ni: &N) {
    let shared = ni.shared();
    let owner = shared.owner.fetch_add(1, Ordering::SeqCst) + 1;
    let is_owner = || shared.owner.load(Ordering::SeqCst) == owner;
    let mut next_tick = Some(ni.now());
    let mut app_turns = shared.app_turns.load(Ordering::Relaxed);
    let mut turns = 0;
    while is_owner() && !shared.is_ending.load(Ordering::SeqCst) {
        let now = ni.now();
        if next_tick.is_none_or(|at| now >= at) {
            next_tick = ni.tick(now).map(|after| Time(now.0 + after));
            ni.pass_outputs(Role::Owner);
        }
        let until_tick = next_tick.map(|at| at.since(now));
        let app_turns_now = shared.app_turns.load(Ordering::Relaxed);
        if app_turns_now != app_turns || shared.app_waits.load(Ordering::SeqCst) || ni.is_full() {
            app_turns = app_turns_now;
            let pause = until_tick.map_or(PAUSE, |until| until.min(PAUSE));
            if shared.wait(&[], Some(pause)) {
                ni.step();
            }
            ni.pass_outputs(Role::Owner);
            continue;
        }
        let look = if turns % N::FULL_LOOK_INTERVAL == 0 { Look::Everywhere } else { Look::AtWork };
        let mut state = shared.lock();
        state.owner_sleeps = false;
        if state.is_armed {
            ni.disarm(&mut state.engine);
        }
        let worked = ni.step_with(&mut state, look);
        drop(state);
        ni.pass_outputs(Role::Owner);
        turns = if worked { turns + 1 } else { 0 };
        if !worked && ni.has_nothing_new(Role::Owner) {
            shared.wait(ni.descriptors(), until_tick);
        }
    }
    if is_owner() {
        ni.end();
    }
}
