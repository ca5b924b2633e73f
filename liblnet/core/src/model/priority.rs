//! Priorities that selection rules give.

/// The priority of whatever no selection rule applies to.
pub const LOWEST_PRIORITY: u32 = u32::MAX;
