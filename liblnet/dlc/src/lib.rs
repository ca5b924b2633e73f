//! Dynamic LNet configuration (DLC), the common part of `lnetctl` and liblnetconfig.
//!
//! - [`request`]: the requests to a node, one for each control call of the kernel, and the
//!   [`Backend`] that carries them out: a node in this process or the control socket of another.
//! - [`ops`]: the operations of the DLC API (`lustre_lnet_*`), over a backend.
//! - [`import`], [`apply`] and [`export`]: files of configuration.
//! - [`model`] and [`yaml`]: the configuration as a value, and the YAML that it is written in.
//! - [`schema`]: the JSON Schema of that YAML, for editors.
//! - [`networks`], [`ip2nets`], [`routes`]: the strings that the kernel's module parameters of these names have.
//! - [`modprobe`]: the options of the kernel modules, converted.
//! - [`host_names`]: host names in NIDs.
//! - [`peer_state`]: the names of the bits of a peer's state.
//! - [`ranges`]: the ranges of numbers.
//! - [`value`]: the output of commands, and its text.
//!
//! On targets that are no Unix there are no control sockets: no client, no daemon.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod apply;
#[cfg(unix)]
pub mod client;
pub mod cpts;
#[cfg(unix)]
pub mod daemon;
pub mod export;
#[cfg(unix)]
pub mod frame;
pub mod host_names;
pub mod import;
pub mod interface_spec;
pub mod ip2nets;
mod legacy_syntax;
pub mod model;
pub mod modprobe;
mod nearest;
pub mod networks;
pub mod ops;
pub mod peer_state;
mod present;
pub mod ranges;
pub mod report;
pub mod request;
mod return_code;
pub mod routes;
#[cfg(unix)]
pub mod runtime_dir;
pub mod schema;
pub mod value;
pub mod warned;
pub mod yaml;

#[cfg(unix)]
pub use client::Client;
pub use cpts::CptList;
pub use interface_spec::InterfaceSpec;
pub use nearest::nearest;
pub use report::{Operation, Report, SeqNo};
pub use request::{Backend, Reply, Request, RequestError};
pub use return_code::ReturnCode;
pub use value::Value;
pub use warned::Warned;
