//! User-defined selection policy (UDSP, behaviour sheet 8): an ordered list of rules, and what they come to
//! for one NID. Stored, checked and shown; path selection does not heed it yet.

mod applied;
mod rules;

pub use applied::{Applied, LOWEST_PRIORITY};
pub use rules::{Action, Rule, Rules};
