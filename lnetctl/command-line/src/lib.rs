//! What the command lines of `lnetctl` and `lst` have in common: options for every command, numbers, and how a
//! line is refused.
#![forbid(unsafe_code)]

pub mod globals;
pub mod number;
pub mod refusal;
