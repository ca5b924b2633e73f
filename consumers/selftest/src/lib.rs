//! LNet selftest (LST): nodes that run tests of the network, and consoles that drive them, on the LNet C API alone.
//!
//! The wire is that of the kernel's module lnet_selftest: nodes and consoles of either kind work with each other.
//!
//! | module | holds | uses |
//! |---|---|---|
//! | [`wire`] | constants and messages: pure | |
//! | [`rpc`] | RPCs on LNet | `wire` |
//! | `load` | what tests do: brw and ping | `rpc` |
//! | [`framework`] | a test node: sessions, batches, tests | `load` |
//! | [`console`] | sessions, groups, batches and tests as a console has them: pure | |
//! | `c` | a test node for programs in C: `include/lnet/selftest.h` | `framework` |
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

mod c;
pub mod console;
pub mod framework;
mod load;
pub mod rpc;
pub mod wire;
