//! What the command lines of `lnetctl` and `lst` have in common: options for every command, and numbers.
#![forbid(unsafe_code)]

pub mod globals;
pub mod number;
