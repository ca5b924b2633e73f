//! LNet nodes in a simulated network.
//!
//! The very same core that real nodes run, on virtual nodes with one virtual clock and a network with latency,
//! faults and versions; all of it in one thread, and all of it from a seed: the same seed gives the same world.
//! For tests and measurements only.
//!
//! Where to look: a [`World`] is made, told what to do, and asked what came of it (`world`); what nodes send goes
//! through `driver` into `network`, what is wrong there is in `faults`; what must be true is in [`invariants`];
//! [`explore`] tries the orders in which messages may arrive; [`load`] does what nobody thought of.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod asking;
mod broken;
pub mod chaos;
mod clock;
mod counts;
mod digest;
mod down_rev;
mod driver;
mod events;
pub mod explore;
mod faults;
pub mod invariants;
mod judging;
mod ledger;
mod link;
pub mod load;
mod match_bits;
mod network;
mod node;
mod rails;
mod running;
mod tally;
mod trace;
mod world;

pub use broken::Broken;
pub use clock::SimClock;
pub use counts::{Counts, Exchange};
pub use digest::{Block, Digest, Purpose};
pub use faults::Rail;
pub use ledger::{Ask, Asking, Op};
pub use link::LinkKey;
pub use match_bits::{MATCH_BITS, OpId, PORTAL};
pub use network::{Completion, Delivery, NetworkConfig, Order};
pub use node::{NodeSpec, nid};
pub use tally::Tally;
pub use trace::{Line, NodeId, Trace, What};
pub use world::{World, WorldConfig};
