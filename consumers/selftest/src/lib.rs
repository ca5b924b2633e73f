//! LNet selftest (LST): nodes that run tests of the network, and consoles that control them, on the LNet C API alone.
//!
//! Messages are those of the kernel's module lnet_selftest, so nodes and consoles of either kind work together.
//!
//! | module | holds | uses |
//! |---|---|---|
//! | [`wire`] | constants and messages: pure | |
//! | [`rpc`] | RPCs on LNet | `wire` |
//! | `load` | the loads of tests: brw and ping | `rpc` |
//! | [`framework`] | a test node: sessions, batches, tests | `load` |
//! | [`console`] | sessions, groups, batches and tests of a console: pure | |
//! | `c` | a test node for C programs: `include/lnet/selftest.h` | `framework` |
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

mod c;
pub mod console;
pub mod framework;
mod load;
pub mod rpc;
pub mod wire;
