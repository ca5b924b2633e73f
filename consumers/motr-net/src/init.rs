//! Start and end of a program that uses the library (`motr/init.h`, `module/instance.h`).
#![allow(missing_docs, reason = "the headers document the functions of C")]

use crate::lnet::transport::{m0_net_lnet_fini, m0_net_lnet_init};
use crate::sync::{Mutex, lock};
use std::ffi::c_int;
use std::ptr;
use std::sync::LazyLock;

/// `struct m0`, which a program passes to `m0_init`. The library does not read it.
#[repr(C)]
#[allow(non_camel_case_types, reason = "C's name")]
#[derive(Debug)]
pub struct m0 {
    /// Zeros.
    pub i_reserved: [u64; 16],
}

/// The state of the program between its first `m0_init` and its last `m0_fini`.
struct Program {
    /// The number of calls of `m0_init` less those of `m0_fini`.
    calls: usize,
    /// The instance of the first call.
    instance: *mut m0,
}

// SAFETY: the instance is only handed back to the program.
unsafe impl Send for Program {}

static PROGRAM: LazyLock<Mutex<Program>> =
    LazyLock::new(|| Mutex::new(Program { calls: 0, instance: ptr::null_mut() }));

/// The instance of a program that has passed none: memory that the program may write to.
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

/// Without a preceding `m0_init` the call has no effect.
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
