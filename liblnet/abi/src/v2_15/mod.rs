//! The forms of functions that came with the releases up to 2.15 and that 2.10 does not have (c-abi 4).
//!
//! A C function `LNetMDAttach` is `_LNetMDAttach_2_15` here (see `build.rs`). The functions convert their arguments, and then make the calls
//! that those of 2.10 make.

pub mod data;
pub mod event;
pub mod handler;
pub mod md;
pub mod me;
pub mod ni;
pub mod nid;
pub mod nidstr;
pub mod peer;
pub mod types;
