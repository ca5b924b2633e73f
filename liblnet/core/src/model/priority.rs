//! Priorities that selection rules give.

/// The priority of what no rule gives one.
pub const LOWEST_PRIORITY: u32 = u32::MAX;
