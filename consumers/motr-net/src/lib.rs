//! Motr's network layer with its LNet transport, for programs in C, on the LNet C API alone.
//!
//! | module | holds | uses |
//! |---|---|---|
//! | `contract`, [`object`], [`errno`], `sync` | preconditions, pointers that C shares, error numbers, locks | |
//! | [`support`] | the small types of Motr that programs touch: mutex, channel, lists, bufvec, bitmap, time | those |
//! | [`net`], [`families`] | the network layer for any transport: domains, transfer machines, end points, buffers, pools | `support` |
//! | [`backend`] | the interface to LNet | `errno` |
//! | [`lnet`] | the transport | `net`, `backend` |
//! | [`init`] | start and end of a program | `lnet` |
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod backend;
mod contract;
pub mod errno;
pub mod families;
pub mod init;
pub mod lnet;
pub mod net;
pub mod object;
pub mod support;
mod sync;
