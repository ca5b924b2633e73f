//! The thread of a transfer machine (motr-net 6.3): it starts the machine in LNet, delivers its events, ends operations whose
//! deadline has passed, and stops the machine.

use super::address::{Address, StartAddress};
use super::debug;
use super::delivery::deliver;
use super::domain::lnet_domain;
use super::end_point::end_point;
use super::machine::{ADDRESSES, Running, Shared, Stopping, machine};
use super::match_bits::{BUFFER_BITS, BufferId, of_messages};
use super::timeouts::end_timed_out;
use crate::Errno;
use crate::backend::{Backend, EventQueue};
use crate::net::buffer::cancel;
use crate::net::guard::Guard;
use crate::net::queue::Queue;
use crate::net::tm_event::m0_net_tm_event_post;
use crate::net::tm_queues::queues_are_empty;
use crate::net::types::{m0_net_end_point, m0_net_tm_event, m0_net_transfer_mc, tm_event_type, tm_state};
use crate::object::Object;
use crate::support::{TIME_NEVER, confine_this_thread, m0_chan, m0_chan_signal_lock, m0_time_now, m0_time_t};
use crate::sync::lock;
use std::ffi::c_uint;
use std::ptr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The longest wait, in case a wake-up has failed.
const MAX_WAIT: Duration = Duration::from_secs(1);
/// The longest wait for callbacks of a machine that stops.
const MAX_STOP_WAIT: Duration = Duration::from_millis(20);

/// The portals that transfer machines may use; LNet reserves 0.
const PORTALS: std::ops::Range<u32> = 1..64;

/// Starts the thread of a machine, which is locked. The thread starts the machine if it has a start address, and ends when it
/// has stopped.
pub(super) fn spawn(tm: Object<m0_net_transfer_mc>) -> Result<(), Errno> {
    struct Tm(Object<m0_net_transfer_mc>);
    // SAFETY: any thread may use a machine with its lock (`net/net.h`); this one stays until the thread is joined, by `tm_fini`.
    unsafe impl Send for Tm {}
    let tm_of_thread = Tm(tm);
    let run = move || {
        let Tm(tm) = { tm_of_thread };
        run(tm);
    };
    let thread = lnet_os::thread::spawn(thread::Builder::new().name("m0_net_tm".into()), run)?;
    machine(tm).thread.replace(Some(thread));
    Ok(())
}

fn run(tm: Object<m0_net_transfer_mc>) {
    let (start_address, processors) = {
        let _tm = Guard::tm(tm);
        (machine(tm).start.get(), machine(tm).processors.borrow().clone())
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
                // If the machine is stopped already, the program waits for STOPPED, and may not use the machine after that.
                if !is_stopping(tm) {
                    post(tm, tm_state::FAILED, errno.to_c(), Object::NULL);
                    if !is_stopping(tm) {
                        return;
                    }
                }
            }
        }
    }
    stop(tm);
    post(tm, tm_state::STOPPED, 0, Object::NULL);
}

fn is_stopping(tm: Object<m0_net_transfer_mc>) -> bool {
    let _tm = Guard::tm(tm);
    machine(tm).stopping.get().is_some()
}

/// Starts a machine in LNet. Returns its own end point, with the reference that the machine keeps.
///
/// Errors: `EINVAL`: invalid portal; `ENOENT`: not an address of this node; `EADDRINUSE`, `EADDRNOTAVAIL`; `ENOMEM`.
fn start(tm: Object<m0_net_transfer_mc>, wanted: StartAddress) -> Result<Object<m0_net_end_point>, Errno> {
    if !PORTALS.contains(&wanted.portal) {
        return Err(Errno::Invalid);
    }
    let backend = Arc::clone(&lnet_domain(tm.ntm_dom.get()).backend);
    let nid = wanted.nid.to_u64();
    let local_pid = || backend.local_processes().iter().find(|it| Some(it.nid) == nid).map(|it| it.pid);
    if local_pid().is_none() {
        return Err(Errno::NotFound);
    }
    let address = claim(&*backend, wanted)?;
    // A program that shares a node has its PID once it has claimed something.
    let is_local = (local_pid() == Some(wanted.pid)).then_some(()).ok_or(Errno::NotFound);
    let opened = is_local.and_then(|()| backend.open()).and_then(|queue| {
        let _tm = Guard::tm(tm);
        let own = end_point(tm, address)?;
        let queue: Arc<dyn EventQueue> = queue.into();
        machine(tm).start.set(Some(address.into()));
        machine(tm).next_id.set(BufferId::FIRST);
        machine(tm).running.replace(Some(Running { address, queue }));
        Ok(own)
    });
    if opened.is_err() {
        release(&*backend, &address);
    }
    opened
}

/// Claims an address in this process and on its node; without a TMID the highest that is free on both.
///
/// Errors: `EADDRINUSE`, `EADDRNOTAVAIL`, `ENOMEM`.
fn claim(backend: &dyn Backend, wanted: StartAddress) -> Result<Address, Errno> {
    let mut of_others = Vec::new();
    let claimed = loop {
        let address = match lock(&ADDRESSES).claim(wanted) {
            Ok(address) => address,
            Err(errno) => break Err(errno),
        };
        match backend.claim(address.portal, of_messages(address.tmid), BUFFER_BITS) {
            Ok(()) => break Ok(address),
            Err(Errno::AddressInUse) if wanted.tmid.is_none() => of_others.push(address),
            Err(errno) => {
                of_others.push(address);
                break Err(errno);
            }
        }
    };
    of_others.iter().for_each(|address| lock(&ADDRESSES).release(address));
    claimed
}

/// Ends the claim of an address.
fn release(backend: &dyn Backend, address: &Address) {
    backend.release(address.portal, of_messages(address.tmid), BUFFER_BITS);
    lock(&ADDRESSES).release(address);
}

/// Stops a machine in LNet; it has no operation in progress.
fn stop(tm: Object<m0_net_transfer_mc>) {
    let running = {
        let _tm = Guard::tm(tm);
        machine(tm).notify.take();
        machine(tm).running.take()
    };
    if let Some(Running { address, queue }) = running {
        // The lock is not held, as this waits for the last handler.
        drop(queue);
        release(&*lnet_domain(tm.ntm_dom.get()).backend, &address);
    }
    give_back(tm);
}

/// Returns the machine to the budget of its domain for started machines.
fn give_back(tm: Object<m0_net_transfer_mc>) {
    let _tm = Guard::tm(tm);
    machine(tm).held.take();
}

fn post(tm: Object<m0_net_transfer_mc>, state: c_uint, status: i32, ep: Object<m0_net_end_point>) {
    let mut event = m0_net_tm_event {
        nte_type: tm_event_type::STATE_CHANGE,
        nte_tm: tm,
        nte_time: m0_time_now(),
        nte_status: status,
        nte_next_state: state,
        nte_ep: ep,
        nte_payload: ptr::null_mut(),
    };
    debug::state(tm, state, status);
    // SAFETY: the event stays until the call returns.
    m0_net_tm_event_post(unsafe { Object::new(&raw mut event) });
}

/// The next action of the thread, decided with the machine locked.
enum Next {
    /// Signal a channel.
    Signal(Object<m0_chan>),
    /// Check the machine again.
    Again,
    /// Wait for events, or until woken.
    WaitForEvents(Duration),
    /// Wait until woken.
    Sleep(Duration),
    /// End the thread.
    End,
}

/// Serves a started machine until it has stopped.
fn serve(tm: Object<m0_net_transfer_mc>) {
    let (shared, queue): (Arc<Shared>, Arc<dyn EventQueue>) = {
        let _tm = Guard::tm(tm);
        let machine = machine(tm);
        let Some(running) = machine.running() else { return };
        (Arc::clone(&machine.shared), running.queue)
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

/// Performs the actions that are due, and decides the next one.
fn look(tm: Object<m0_net_transfer_mc>) -> Next {
    let _tm = Guard::tm(tm);
    let stopping = machine(tm).stopping.get();
    let now = m0_time_now();
    let delivers = tm.ntm_bev_auto_deliver.get() || stopping.is_some_and(|it| it.deliver_at <= now);
    if delivers {
        deliver(tm);
    }
    end_timed_out(tm, now);
    if let Some(Stopping { cancel_at, .. }) = stopping
        && cancel_at <= now
    {
        cancel(tm, &Queue::ALL, |_| true);
        machine(tm).stopping.set(stopping.map(|it| Stopping { cancel_at: TIME_NEVER, ..it }));
    }
    let machine = machine(tm);
    let has_events = !machine.shared.ring.is_empty();
    if stopping.is_some() && queues_are_empty(tm) && tm.ntm_callback_counter.get() == 0 {
        return Next::End;
    }
    if has_events && !machine.notify.get().is_null() {
        return Next::Signal(machine.notify.take());
    }
    if has_events && delivers && !machine.is_delivering.get() {
        return Next::Again;
    }
    let mut wait = until(machine.nearest_deadline.get(), now).min(MAX_WAIT);
    if let Some(Stopping { cancel_at, deliver_at }) = machine.stopping.get() {
        let deliver_at = if delivers { TIME_NEVER } else { deliver_at };
        wait = wait.min(until(cancel_at, now)).min(until(deliver_at, now)).min(MAX_STOP_WAIT);
    }
    if delivers || !machine.notify.get().is_null() { Next::WaitForEvents(wait) } else { Next::Sleep(wait) }
}

fn until(time: m0_time_t, now: m0_time_t) -> Duration {
    Duration::from_nanos(time.saturating_sub(now))
}
