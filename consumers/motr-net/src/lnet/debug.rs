//! Log lines of a domain or a transfer machine, which the program switches on (motr-net 1.1).
#![allow(missing_docs, reason = "the headers document the functions of C")]

use super::address::StartAddress;
use super::domain::lnet_domain;
use super::machine::machine;
use crate::net::guard::Guard;
use crate::net::queue::Queue;
use crate::net::types::{m0_net_buffer_event, m0_net_domain, m0_net_transfer_mc, tm_state};
use crate::object::Object;
use lnet_log::{LogClass, write_line};
use std::ffi::c_uint;
use std::fmt;
use std::sync::atomic::Ordering;

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_lnet_dom_set_debug(dom: Object<m0_net_domain>, dbg: c_uint) {
    if dom.is_null() || dom.nd_xprt_private.get().is_null() {
        return;
    }
    lnet_domain(dom).debug.store(dbg != 0, Ordering::Relaxed);
    show_lines(dbg);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_lnet_tm_set_debug(tm: Object<m0_net_transfer_mc>, dbg: c_uint) {
    {
        if tm.is_null() || tm.ntm_xprt_private.get().is_null() {
            return;
        }
        let _tm = Guard::tm(tm);
        machine(tm).debug.set(dbg != 0);
    }
    show_lines(dbg);
}

/// Lets the lines of this file through, unless the environment sets the log level.
fn show_lines(dbg: c_uint) {
    lnet_log::install("m0net", log::LevelFilter::Warn);
    if dbg != 0
        && std::env::var_os("LNET_DEBUG").is_none()
        && log::max_level() < LogClass::MotrTransport.level()
    {
        log::set_max_level(LogClass::MotrTransport.level().to_level_filter());
    }
}

/// Logs that a machine is about to change its state.
pub(super) fn state(tm: Object<m0_net_transfer_mc>, state: c_uint, status: i32) {
    let name = match state {
        tm_state::STARTED => "STARTED",
        tm_state::STOPPED => "STOPPED",
        _ => "FAILED",
    };
    let subject = {
        let _tm = Guard::tm(tm);
        is_on(tm).then(|| Subject::of(tm))
    };
    if let Some(subject) = subject {
        write_line!(LogClass::MotrTransport, "{subject}: {name} ({})", Status(status));
    }
}

/// Logs an event of a buffer. The machine is locked.
pub(super) fn buffer_event(tm: Object<m0_net_transfer_mc>, event: &m0_net_buffer_event) {
    if is_on(tm) {
        let (subject, buffer, bytes) = (Subject::of(tm), event.nbe_buffer, event.nbe_length);
        let status = Status(event.nbe_status);
        if let Some(queue) = Queue::from_number(buffer.nb_qtype.get()) {
            write_line!(
                LogClass::MotrTransport,
                "{subject}: {queue:?} of buffer {buffer:?}: {bytes} bytes ({status})"
            );
        }
    }
}

/// Whether the program has switched on these lines. The machine is locked.
fn is_on(tm: Object<m0_net_transfer_mc>) -> bool {
    machine(tm).debug.get() || lnet_domain(tm.ntm_dom.get()).debug.load(Ordering::Relaxed)
}

/// A machine as the subject of a log line, by its address.
struct Subject(Option<StartAddress>);

impl Subject {
    fn of(tm: Object<m0_net_transfer_mc>) -> Self {
        Self(machine(tm).start.get())
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
