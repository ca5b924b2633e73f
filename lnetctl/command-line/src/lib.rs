//! The parts that the command lines of `lnetctl` and `lst` share: options for every command, numbers, texts, the refusal of a line,
//! manual pages and completions.
#![forbid(unsafe_code)]

pub mod generate;
pub mod globals;
pub mod number;
pub mod refusal;
pub mod text;
