//! Priorities that selection rules give.

/// The priority without a rule.
pub const LOWEST_PRIORITY: u32 = u32::MAX;
