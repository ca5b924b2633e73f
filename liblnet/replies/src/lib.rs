//! The states of a core in the form of replies to requests: its counters, interfaces, peers and changes.
//!
//! Nodes reply with these, whether they run on a machine or are simulated. Time is an argument.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_macros))]

mod discovery;
mod explain;
mod heat;
mod history;
mod local_ni;
mod next_ping;
mod peer;
mod stats;

pub use discovery::{differences, failure_of};
pub use explain::explain;
pub use heat::HeatTable;
pub use history::changes_after;
pub use local_ni::local_ni;
pub use peer::{peer, reachability};
pub use stats::node_stats;
