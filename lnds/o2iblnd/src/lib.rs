//! LNet over InfiniBand and RoCE, on the wire of the kernel's ko2iblnd.
//!
//! [`proto`] has the bytes that two nodes exchange, with no I/O.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod proto;
