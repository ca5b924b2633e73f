//! What a domain or a transfer machine says in the log if the program asks for it (motr-net 1.1).
#![allow(missing_docs, clippy::missing_safety_doc, reason = "the headers document the functions of C")]

use super::address::StartAddress;
use super::domain::debug_of;
use super::machine::machine;
use crate::net::guard::Guard;
use crate::net::queue::Queue;
use crate::net::types::{m0_net_buffer_event, m0_net_domain, m0_net_transfer_mc, tm_state};
use lnet_log::{LogClass, write_line};
use std::ffi::c_uint;
use std::fmt;
use std::sync::atomic::Ordering;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_lnet_dom_set_debug(dom: *mut m0_net_domain, dbg: c_uint) {
    // SAFETY: the contract of the C functions (`crate::net`).
    unsafe {
        if dom.is_null() || (*dom).nd_xprt_private.is_null() {
            return;
        }
        debug_of(dom).store(dbg != 0, Ordering::Relaxed);
    }
    show_lines(dbg);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_lnet_tm_set_debug(tm: *mut m0_net_transfer_mc, dbg: c_uint) {
    // SAFETY: the contract of the C functions (`crate::net`).
    unsafe {
        if tm.is_null() || (*tm).ntm_xprt_private.is_null() {
            return;
        }
        let _tm = Guard::tm(tm);
        machine(tm).debug = dbg != 0;
    }
    show_lines(dbg);
}

/// Lets the lines of this file through, unless the environment says how much is to be logged.
fn show_lines(dbg: c_uint) {
    lnet_log::install("m0net", log::LevelFilter::Warn);
    if dbg != 0
        && std::env::var_os("LNET_DEBUG").is_none()
        && log::max_level() < LogClass::MotrTransport.level()
    {
        log::set_max_level(LogClass::MotrTransport.level().to_level_filter());
    }
}

/// Says that a machine is about to have another state.
///
/// # Safety
/// A machine of this transport, not locked.
pub(super) unsafe fn state(tm: *mut m0_net_transfer_mc, state: c_uint, status: i32) {
    let name = match state {
        tm_state::STARTED => "STARTED",
        tm_state::STOPPED => "STOPPED",
        _ => "FAILED",
    };
    // SAFETY: by contract.
    let subject = unsafe {
        let _tm = Guard::tm(tm);
        is_on(tm).then(|| Subject::of(tm))
    };
    if let Some(subject) = subject {
        write_line!(LogClass::MotrTransport, "{subject}: {name} ({})", Status(status));
    }
}

/// Says that an operation of a buffer has come to an event. The machine is locked.
///
/// # Safety
/// A machine of this transport; the buffer of the event is queued there.
pub(super) unsafe fn buffer_event(tm: *mut m0_net_transfer_mc, event: &m0_net_buffer_event) {
    // SAFETY: by contract.
    unsafe {
        if is_on(tm) {
            let (subject, buffer, bytes) = (Subject::of(tm), event.nbe_buffer, event.nbe_length);
            let status = Status(event.nbe_status);
            if let Some(queue) = Queue::from_number((*buffer).nb_qtype) {
                write_line!(
                    LogClass::MotrTransport,
                    "{subject}: {queue:?} of buffer {buffer:p}: {bytes} bytes ({status})"
                );
            }
        }
    }
}

/// Whether the program has asked for it. The machine is locked.
///
/// # Safety
/// A machine of this transport.
unsafe fn is_on(tm: *mut m0_net_transfer_mc) -> bool {
    // SAFETY: by contract.
    unsafe { machine(tm).debug || debug_of((*tm).ntm_dom).load(Ordering::Relaxed) }
}

/// A machine, by its address.
struct Subject(Option<StartAddress>);

impl Subject {
    /// # Safety
    /// A machine of this transport, locked.
    unsafe fn of(tm: *mut m0_net_transfer_mc) -> Self {
        // SAFETY: by contract.
        Self(unsafe { machine(tm).start })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(address) => write!(f, "transfer machine {address}"),
            None => f.write_str("transfer machine without an address"),
        }
    }
}

/// The status of an event: 0 or a negative error number.
struct Status(i32);

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("success"),
            error => std::io::Error::from_raw_os_error(error.saturating_neg()).fmt(f),
        }
    }
}
