//! User-defined selection policy (UDSP, core-behaviour 8): an ordered list of rules, and their effect on one NID.

mod applied;
mod index;
mod rules;

pub use crate::model::{LOWEST_PRIORITY, RulePriority};
pub use applied::{Applied, GatewayNids, PartnerByRule, RuleEffect};
pub use index::RuleIndex;
pub use rules::{Action, MAX_PRIORITY, Rule, Rules, Subject};
