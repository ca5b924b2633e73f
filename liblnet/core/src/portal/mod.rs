//! Portals: where incoming PUTs and GETs find the memory they are for.

mod criteria;
mod match_table;
#[allow(clippy::module_inception)]
mod portal;

pub(crate) use criteria::{Criteria, Request};
pub use criteria::{InsertPosition, MatchId};
pub(crate) use match_table::Found;
pub(crate) use portal::{Delayed, Incoming, Portal};

#[cfg(all(test, not(loom)))]
mod match_table_tests;
