//! An LNet node that runs: the core with its drivers, its threads and its configuration at start.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod control;
mod interfaces;
pub mod networks;
mod node;
mod ping;
mod spin;
mod start_config;
mod tunables;
mod wait;

pub use node::Node;
pub use ping::PingRequest;
pub use start_config::StartConfig;
pub use tunables::{TUNABLES, Tunable};
