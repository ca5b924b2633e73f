//! LNet over TCP, on the wire of the kernel's ksocklnd.
//!
//! [`proto`] holds the bytes: what two nodes say to each other, with no I/O.

mod config;
mod decide;
mod handshake;
pub mod proto;

pub use config::{AcceptFrom, SocklndConfig};
