//! The forms of functions that came with 2.17 and that 2.15 does not have (c-abi 4): NIDs are pointers.
//!
//! A C function `LNetPut` is `_LNetPut_2_17` here (see `build.rs`).

pub mod data;
pub mod md;
pub mod ni;
pub mod nid_updates;
pub mod peer;
pub mod types;
