//! The beginning and the end of a program (`motr/init.h`, `module/instance.h`).
#![allow(missing_docs, reason = "the headers document the functions of C")]

use crate::lnet::transport::{m0_net_lnet_fini, m0_net_lnet_init};
use crate::sync::{Mutex, lock};
use std::ffi::c_int;
use std::ptr;
use std::sync::LazyLock;

/// `struct m0`: what a program gives to `m0_init`. It is not looked at.
#[repr(C)]
#[allow(non_camel_case_types, reason = "C's name")]
#[derive(Debug)]
pub struct m0 {
    /// Zeros.
    pub i_reserved: [u64; 16],
}

/// The program between its first `m0_init` and its last `m0_fini`.
struct Program {
    /// `m0_init` less `m0_fini`.
    calls: usize,
    /// The instance of the first call.
    instance: *mut m0,
}

// SAFETY: the instance is only handed back to the program.
unsafe impl Send for Program {}

static PROGRAM: LazyLock<Mutex<Program>> =
    LazyLock::new(|| Mutex::new(Program { calls: 0, instance: ptr::null_mut() }));

/// The instance of a program that has none: memory that it may write to.
static mut DEFAULT_INSTANCE: m0 = m0 { i_reserved: [0; 16] };

#[unsafe(no_mangle)]
pub extern "C" fn m0_init(instance: *mut m0) -> c_int {
    let mut program = lock(&PROGRAM);
    if program.calls == 0 {
        m0_net_lnet_init();
        let is_none = instance.is_null();
        program.instance = if is_none { &raw mut DEFAULT_INSTANCE } else { instance };
    }
    program.calls += 1;
    0
}

/// Calls without an `m0_init` have no effect.
#[unsafe(no_mangle)]
pub extern "C" fn m0_fini() {
    let mut program = lock(&PROGRAM);
    if program.calls == 1 {
        m0_net_lnet_fini();
        lnet_log::close();
        program.instance = ptr::null_mut();
    }
    program.calls = program.calls.saturating_sub(1);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_get() -> *mut m0 {
    lock(&PROGRAM).instance
}
