//! The LNet node as a state machine: portals, descriptors, events, topology, credits, path selection.
//!
//! The core has no sockets, threads or clock: a driver ([`lnd`]) receives and sends messages, and the caller provides
//! everything else. No lock is held while a driver or an event handler runs.
//!
//! The engines (`objects`, `topology`, `sending`, `health`, `discovery`, `fault`) are based on `model` and `environment`. What
//! happens is composed of them: `data_path/` has the path of a message (`put_get`, `send`, `receive`, ...), `admin/` the
//! configuration, `monitor/` the work of the node's threads, and `core/` joins these. ARCHITECTURE.md has the picture.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

mod admin;
mod confirm;
mod core;
pub mod cpt;
pub mod credit;
mod data_path;
pub mod discovery;
mod environment;
pub mod event;
pub mod fault;
pub mod health;
mod md;
pub mod memory;
mod model;
mod monitor;
mod objects;
pub mod policy;
pub mod router;
pub mod select;
mod sending;
pub mod stats;
mod sync;
pub mod topology;

pub use crate::core::Core;
pub use admin::Admin;
pub use cpt::{CptTable, Placement};
pub use data_path::DataPath;
pub use environment::{CoreConfig, time};
pub use event::{Event, EventHandler, EventKind, EventParty, Polled};
pub use health::{Cause, Delivery, SendFailure};
pub use lnet_settings::{DiscoveryMode, MAX_HEALTH, Setting, Settings};
pub use lnet_wire::Errno;
pub use memory::{DeferredAck, EqHandle, MdHandle, MdMemory, MdOptions, MdSpec, MeHandle, Near};
pub use model::{
    AddressFamilies, AddressFamily, ArrivingMessage, CarriedOrigin, Confirmation, CreditWaiver,
    MessageOrigin, OutgoingMessage, PartialMessages, Pooled, Provenance, Target, lnd, message,
};
pub use monitor::Monitor;
pub use objects::{InsertPosition, MatchId};
pub use time::{Clock, ManualClock, Time};
pub use topology::{FatalReporter, Ni, NiConfig, NiTunables};
