//! Portals: where incoming PUTs and GETs find the memory they are for.

mod criteria;
mod match_table;
#[allow(clippy::module_inception)]
mod portal;

pub use criteria::{InsertPosition, MatchId};
pub(crate) use criteria::{Criteria, Kind, Request};
pub(crate) use match_table::{Found, MatchTable};
pub(crate) use portal::{Attached, Delayed, Incoming, Portal};

#[cfg(all(test, not(loom)))]
mod match_table_tests;
