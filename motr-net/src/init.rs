//! The beginning and the end of a program (`motr/init.h`).

use crate::lnet::transport::{m0_net_lnet_fini, m0_net_lnet_init};
use crate::sync::{Mutex, lock};
use std::ffi::{c_int, c_void};
use std::sync::LazyLock;

/// `m0_init` less `m0_fini`.
static CALLS: LazyLock<Mutex<usize>> = LazyLock::new(Mutex::default);

/// The instance is not looked at.
#[unsafe(no_mangle)]
pub extern "C" fn m0_init(_: *mut c_void) -> c_int {
    let mut calls = lock(&CALLS);
    if *calls == 0 {
        m0_net_lnet_init();
    }
    *calls += 1;
    0
}

/// Calls without an `m0_init` have no effect.
#[unsafe(no_mangle)]
pub extern "C" fn m0_fini() {
    let mut calls = lock(&CALLS);
    *calls = calls.saturating_sub(1);
    if *calls == 0 {
        m0_net_lnet_fini();
    }
}
