//! LNet over TCP, on the wire of the kernel's ksocklnd.
//!
//! [`Socklnd`] is the driver, [`SocklndConfig`] its tunables. [`proto`] holds the bytes: what two nodes say
//! to each other, with no I/O. Where to look: calling and being called are in `connd`, the decisions in
//! `decide`, one connection's sending in `transmit` and its receiving in `receive`, the threads that do both
//! in `scheduler`.
#![deny(unsafe_code)]

mod complaints;
mod config;
mod connd;
mod connection;
mod counters;
mod decide;
mod driver;
mod handshake;
mod held;
mod next_read;
mod ni;
mod nodes;
mod peer;
pub mod proto;
mod read_ahead;
mod receive;
mod receive_turn;
mod scheduler;
mod seat;
mod silence;
#[allow(unsafe_code)]
mod socket_io;
mod sockets;
mod sync;
#[allow(unsafe_code)]
mod tcp;
mod transmit;
mod wake;
mod wakeups;

pub use config::{AcceptFrom, SocklndConfig};
pub use counters::SocklndCounters;
pub use decide::ours::identity;
pub use decide::receipts::Receipts;
pub use driver::Socklnd;
