//! The check of a cluster: the configuration of every node in, what is wrong with them together out.
//!
//! - [`input`]: reads directories of exported configuration and topology files; the only part that opens files.
//! - [`model`]: the cluster as a value: classes of nodes that are configured alike.
//! - [`reach`]: which classes reach which, also when a part is lost.
//! - [`checks`]: the table of findings, and the checks that make them.
//! - [`compare`]: what changes for whom between two configurations.
//! - [`drill`]: the loss of parts under load, in the simulator.
//! - [`report`]: findings as text, as JSON and as a picture.
//!
//! Nothing here opens a network. All but [`input`] are functions of their arguments.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod checks;
pub mod compare;
pub mod drill;
pub mod input;
pub mod model;
pub mod reach;
pub mod report;
mod text;
mod xml;
