//! The parts that the command lines of `lnetctl` and `lst` share: options for every command, numbers, and the text that refuses a
//! line.
#![forbid(unsafe_code)]

pub mod globals;
pub mod number;
pub mod refusal;
