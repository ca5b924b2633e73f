//! LNet nodes in a simulated network.
//!
//! The same core that real nodes run, on virtual nodes with one virtual clock and a network with latency,
//! faults and versions; all of it in one thread, and all of it from a seed: the same seed gives the same world.
//! For tests, measurements and drills of clusters.
//!
//! A [`World`] is built, changed and queried by its methods (`world`). Messages of nodes go
//! through `driver` into `network`, whose faults are in `faults`. The conditions that must hold are in [`invariants`];
//! [`explore`] tries the orders in which messages may arrive; [`load`] makes random events.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod chaos;
mod checks;
mod counts;
mod digest;
mod down_rev;
mod driver;
mod events;
pub mod explore;
mod families;
mod faults;
pub mod invariants;
mod ledger;
mod link;
pub mod load;
mod load_stats;
mod match_bits;
mod network;
mod node;
mod operations;
mod oracle;
mod parts;
mod rails;
mod run;
pub mod shown;
mod trace;
mod traffic;
mod violation;
mod world;

pub use counts::{Counts, Exchange};
pub use digest::{Block, Digest, Purpose};
pub use faults::Rail;
pub use ledger::{Op, OpKind, OpSpec};
pub use link::LinkKey;
pub use load_stats::LoadStats;
pub use match_bits::{MATCH_BITS, OpId, PORTAL};
pub use network::{Completion, Delivery, NetworkConfig, Notice, Order, Parts};
pub use node::{NodeSpec, nid, nid6};
pub use trace::{NodeId, Trace, TraceEvent, TraceLine};
pub use traffic::Traffic;
pub use violation::Violation;
pub use world::{World, WorldConfig};
