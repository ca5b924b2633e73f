//! Motr's network layer with its LNet transport, for programs in C, on the LNet C API alone.
//!
//! | module | holds | uses |
//! |---|---|---|
//! | [`support`] | the small types of Motr that programs touch: mutex, channel, lists, bufvec, bitmap, time | |

#![deny(unsafe_op_in_unsafe_fn)]

mod contract;
pub mod support;
