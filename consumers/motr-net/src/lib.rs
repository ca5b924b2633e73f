//! Motr's network layer with its LNet transport, for programs in C, on the LNet C API alone.
//!
//! | module | holds | uses |
//! |---|---|---|
//! | `contract`, [`object`], `sync` | preconditions, pointers that C shares, locks | |
//! | [`support`] | the small types of Motr that programs touch: mutex, channel, lists, bufvec, bitmap, time | those |
//! | [`net`], [`families`] | the network layer for any transport: domains, transfer machines, end points, buffers, pools | `support` |
//! | [`backend`] | the interface to LNet | |
//! | [`lnet`] | the transport | `net`, `backend` |
//! | [`init`] | start and end of a program | `lnet` |
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod backend;
mod contract;
pub mod families;
pub mod init;
pub mod lnet;
pub mod net;
pub mod object;
pub mod support;
mod sync;

pub use lnet_api::Errno;
