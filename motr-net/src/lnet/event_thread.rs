//! The thread of a transfer machine (motr-net 6.3): starts it in LNet, delivers its events, ends operations whose deadline has passed, and
//! stops it.

use super::address::StartAddress;
use super::debug;
use super::delivery::deliver;
use super::domain::backend_of;
use super::end_point::end_point;
use super::machine::{ADDRESSES, Running, Shared, Stopping, machine};
use super::match_bits::BufferId;
use super::timeouts::end_timed_out;
use crate::backend::EventQueue;
use crate::errno::Errno;
use crate::net::buffer::cancel;
use crate::net::guard::Guard;
use crate::net::queue::Queue;
use crate::net::tm_event::m0_net_tm_event_post;
use crate::net::tm_queues::queues_are_empty;
use crate::net::types::{m0_net_end_point, m0_net_tm_event, m0_net_transfer_mc, tm_event_type, tm_state};
use crate::support::{TIME_NEVER, confine_this_thread, m0_chan, m0_chan_signal_lock, m0_time_now, m0_time_t};
use crate::sync::lock;
use std::ffi::c_uint;
use std::ptr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The longest wait, in case a wake-up could not be made.
const MAX_WAIT: Duration = Duration::from_secs(1);
/// The longest wait for callbacks of a machine that stops.
const MAX_STOP_WAIT: Duration = Duration::from_millis(20);

/// The portals of LNet; 0 is its own.
const PORTALS: std::ops::Range<u32> = 1..64;

/// Makes the thread of a machine, which is locked: it starts the machine if it has a start address, and ends when it has stopped.
///
/// # Safety
/// A machine of this transport, which stays until the thread is joined.
pub(super) unsafe fn spawn(tm: *mut m0_net_transfer_mc) -> Result<(), Errno> {
    struct Tm(*mut m0_net_transfer_mc);
    // SAFETY: the machine may be used by any thread.
    unsafe impl Send for Tm {}
    let tm_of_thread = Tm(tm);
    let run = move || {
        let Tm(tm) = { tm_of_thread };
        // SAFETY: by contract.
        unsafe { run(tm) };
    };
    let thread = lnet_os::thread::spawn(thread::Builder::new().name("m0_net_tm".into()), run)?;
    // SAFETY: by contract.
    unsafe { machine(tm).thread = Some(thread) };
    Ok(())
}

/// # Safety
/// A machine of this transport.
unsafe fn run(tm: *mut m0_net_transfer_mc) {
    // SAFETY: by contract.
    unsafe {
        let (start_address, processors) = {
            let _tm = Guard::tm(tm);
            (machine(tm).start, machine(tm).processors.clone())
        };
        if let Some(address) = start_address {
            let confined = processors.map_or(Ok(0), |words| Errno::check(confine_this_thread(&words)));
            match confined.and_then(|_| start(tm, address)) {
                Ok(own) => {
                    post(tm, tm_state::STARTED, 0, own);
                    serve(tm);
                }
                Err(errno) => {
                    give_back(tm);
                    // Of one that is stopped already the program waits for STOPPED, and may not use it after that.
                    if !is_stopping(tm) {
                        post(tm, tm_state::FAILED, errno.to_c(), ptr::null_mut());
                        if !is_stopping(tm) {
                            return;
                        }
                    }
                }
            }
        }
        stop(tm);
        post(tm, tm_state::STOPPED, 0, ptr::null_mut());
    }
}

/// # Safety
/// A machine of this transport, not locked.
unsafe fn is_stopping(tm: *mut m0_net_transfer_mc) -> bool {
    // SAFETY: by contract.
    unsafe {
        let _tm = Guard::tm(tm);
        machine(tm).stopping.is_some()
    }
}

/// Starts a machine in LNet; its own end point, with the reference that the machine keeps.
///
/// Errors: `EINVAL`: the portal; `ENOENT`: not an address of this node; `EADDRINUSE`, `EADDRNOTAVAIL`; `ENOMEM`.
///
/// # Safety
/// A machine of this transport.
unsafe fn start(tm: *mut m0_net_transfer_mc, wanted: StartAddress) -> Result<*mut m0_net_end_point, Errno> {
    // SAFETY: by contract.
    unsafe {
        if !PORTALS.contains(&wanted.portal) {
            return Err(Errno::INVALID);
        }
        let backend = backend_of((*tm).ntm_dom);
        let nid = wanted.nid.to_u64();
        let is_local = backend.local_processes().iter().any(|it| Some(it.nid) == nid && it.pid == wanted.pid);
        if !is_local {
            return Err(Errno::NOT_FOUND);
        }
        let address = lock(&ADDRESSES).claim(wanted)?;
        let opened = backend.open().and_then(|queue| {
            let _tm = Guard::tm(tm);
            let own = end_point(tm, address)?;
            let queue: Arc<dyn EventQueue> = queue.into();
            machine(tm).start = Some(address.into());
            machine(tm).running = Some(Running { address, queue, next_id: BufferId::FIRST });
            Ok(own)
        });
        if opened.is_err() {
            lock(&ADDRESSES).release(&address);
        }
        opened
    }
}

/// Stops a machine in LNet, which has no operation in progress.
///
/// # Safety
/// A machine of this transport.
unsafe fn stop(tm: *mut m0_net_transfer_mc) {
    // SAFETY: by contract. The queue ends without the lock: that waits for the last handler.
    let running = unsafe {
        let _tm = Guard::tm(tm);
        machine(tm).notify = ptr::null_mut();
        machine(tm).running.take()
    };
    if let Some(Running { address, queue, .. }) = running {
        drop(queue);
        lock(&ADDRESSES).release(&address);
    }
    // SAFETY: by contract.
    unsafe { give_back(tm) };
}

/// The machine is none of its domain's that are started any more.
///
/// # Safety
/// A machine of this transport.
unsafe fn give_back(tm: *mut m0_net_transfer_mc) {
    // SAFETY: by contract.
    unsafe {
        let _tm = Guard::tm(tm);
        machine(tm).held = None;
    }
}

/// # Safety
/// A machine of this transport, not locked.
unsafe fn post(tm: *mut m0_net_transfer_mc, state: c_uint, status: i32, ep: *mut m0_net_end_point) {
    let event = m0_net_tm_event {
        nte_type: tm_event_type::STATE_CHANGE,
        nte_tm: tm,
        nte_time: m0_time_now(),
        nte_status: status,
        nte_next_state: state,
        nte_ep: ep,
        nte_payload: ptr::null_mut(),
    };
    // SAFETY: by contract.
    unsafe {
        debug::state(tm, state, status);
        m0_net_tm_event_post(&raw const event);
    }
}

/// What the thread does when it has looked at the machine.
enum Next {
    /// Signals a channel.
    Signal(*mut m0_chan),
    /// Looks again.
    Again,
    /// Waits for events, or until woken.
    WaitForEvents(Duration),
    /// Waits until woken.
    Sleep(Duration),
    /// Nothing is left to do.
    End,
}

/// Serves a started machine until it has stopped.
///
/// # Safety
/// A machine of this transport.
unsafe fn serve(tm: *mut m0_net_transfer_mc) {
    // SAFETY: by contract. The queue goes before the machine stops in LNet.
    unsafe {
        let (shared, queue): (Arc<Shared>, Arc<dyn EventQueue>) = {
            let _tm = Guard::tm(tm);
            let machine = machine(tm);
            let Some(running) = &machine.running else { return };
            (Arc::clone(&machine.shared), Arc::clone(&running.queue))
        };
        loop {
            match look(tm) {
                Next::Signal(chan) => m0_chan_signal_lock(chan),
                Next::Again => {}
                Next::WaitForEvents(time) => shared.waker.wait_for_event(&*queue, time),
                Next::Sleep(time) => shared.waker.sleep(time),
                Next::End => return,
            }
        }
    }
}

/// Does what is due.
///
/// # Safety
/// A machine of this transport.
unsafe fn look(tm: *mut m0_net_transfer_mc) -> Next {
    // SAFETY: by contract.
    unsafe {
        let _tm = Guard::tm(tm);
        let stopping = machine(tm).stopping;
        let now = m0_time_now();
        let delivers = (*tm).ntm_bev_auto_deliver || stopping.is_some_and(|it| it.deliver_at <= now);
        if delivers {
            deliver(tm);
        }
        end_timed_out(tm, now);
        if let Some(Stopping { cancel_at, .. }) = stopping
            && cancel_at <= now
        {
            cancel(tm, &Queue::ALL, |_| true);
            machine(tm).stopping = stopping.map(|it| Stopping { cancel_at: TIME_NEVER, ..it });
        }
        let machine = machine(tm);
        let has_events = !machine.shared.ring.is_empty();
        if stopping.is_some() && queues_are_empty(tm) && (*tm).ntm_callback_counter == 0 {
            return Next::End;
        }
        if has_events && !machine.notify.is_null() {
            return Next::Signal(std::mem::replace(&mut machine.notify, ptr::null_mut()));
        }
        if has_events && delivers && !machine.is_delivering {
            return Next::Again;
        }
        let mut wait = until(machine.nearest_deadline, now).min(MAX_WAIT);
        if let Some(Stopping { cancel_at, deliver_at }) = machine.stopping {
            let deliver_at = if delivers { TIME_NEVER } else { deliver_at };
            wait = wait.min(until(cancel_at, now)).min(until(deliver_at, now)).min(MAX_STOP_WAIT);
        }
        if delivers || !machine.notify.is_null() { Next::WaitForEvents(wait) } else { Next::Sleep(wait) }
    }
}

fn until(time: m0_time_t, now: m0_time_t) -> Duration {
    Duration::from_nanos(time.saturating_sub(now))
}
