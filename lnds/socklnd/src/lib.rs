//! LNet over TCP, on the wire of the kernel's ksocklnd.
//!
//! [`Socklnd`] is the driver, [`SocklndConfig`] its tunables. [`proto`] has the bytes that two nodes exchange,
//! with no I/O. Connecting and accepting are in `connd`, the decisions in
//! `decide`, one connection's sending and receiving in `conn`, what leaves late in `late_schedule`, the threads for both
//! in `scheduler`.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

mod config;
mod conn;
mod connd;
mod counters;
mod decide;
mod driver;
mod driver_thread;
mod handshake;
pub mod hello_probe;
mod late_schedule;
mod next_read;
mod ni;
mod ni_peers;
mod ni_table;
mod owner_backoff;
mod peer;
pub mod proto;
mod remote_nodes;
mod scheduler;
mod shared;
#[allow(unsafe_code)]
mod socket_io;
mod sockets;
mod spare_memory;
mod sync;
#[allow(unsafe_code)]
mod tcp;
mod tunables;
mod wake;
mod wakeups;

pub use config::{AcceptFrom, SocklndConfig};
pub use counters::SocklndCounters;
pub use decide::delivery_acks::DeliveryAcks;
pub use decide::implementation_id::implementation_id;
pub use driver::Socklnd;
