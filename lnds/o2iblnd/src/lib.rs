//! LNet over InfiniBand and RoCE, on the wire of the kernel's ko2iblnd.
//!
//! - [`proto`] has the bytes that two nodes exchange, with no I/O.
//! - `decide` has the decisions, as functions of their arguments.
//! - `conn` is a connection, `engine` an interface with its peers: state machines over a [`device::Device`].
//! - `memory` is what transfers by RDMA read and write.
//! - `ni` is an interface as the core sees it, with its threads.
//! - `verbs` is the device that libibverbs and librdmacm offer.
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod config;
mod conn;
mod decide;
pub mod device;
mod driver;
mod engine;
mod memory;
mod message;
mod ni;
pub mod proto;
mod tunables;
mod verbs;

pub use config::{O2iblndConfig, ShownTunables};
pub use memory::OnDemandPaging;
