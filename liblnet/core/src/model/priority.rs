//! Priorities that selection rules give.

use std::fmt;

/// The priority of objects to which no selection rule applies.
pub const LOWEST_PRIORITY: u32 = u32::MAX;

/// A priority in the form for output: `none` for [`LOWEST_PRIORITY`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RulePriority(pub u32);

impl fmt::Display for RulePriority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            LOWEST_PRIORITY => f.write_str("none"),
            priority => priority.fmt(f),
        }
    }
}
