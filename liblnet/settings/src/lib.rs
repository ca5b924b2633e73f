//! The settings of a node and the tunables of its drivers, one row each.
//!
//! A [`Row`] has everything about one setting: its name, environment variables, place in files and on the command line, C
//! functions, values, when it may change, the sentence that explains it, and the functions that read and write its field.
//! Parsing, range checks, errors, defaults, help and documents are derived from the rows. The path of messages reads plain
//! structs: [`Settings`] of the node, the configuration of a driver.
//!
//! The rows of the node are in `node/table.rs`; each driver's are in its own crate.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

mod access;
mod environment;
pub mod ni_ranges;
mod node;
mod range;
mod row;
mod text;
mod values;

pub use access::{Access, Field};
pub use environment::{RejectedVariable, apply};
pub use node::{DiscoveryMode, MAX_HEALTH, NODE, Setting, Settings, UnknownSetting, c_functions};
pub use range::{MAX_INT, MAX_WORD, OutOfRange, Range};
pub use row::{CFunction, CFunctions, ChangeTime, GlobalKey, Refusal, Row, Spec, Variable};
pub use values::{InvalidValue, Unit, Value, Values, either};
