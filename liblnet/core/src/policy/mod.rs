//! User-defined selection policy (UDSP, core-behaviour 8): an ordered list of rules, and their effect on one NID.
//! Preferred routers are stored and shown, and have no effect yet.

mod applied;
mod rules;

pub use crate::model::LOWEST_PRIORITY;
pub use applied::Applied;
pub use rules::{Action, Rule, Rules};
