//! Ranges of numbers that are configured.

use thiserror::Error;

/// The largest number of a C `int`.
pub const MAX_INT: i64 = i32::MAX as i64;
/// The largest number of 32 bits.
pub const MAX_WORD: i64 = u32::MAX as i64;

/// A number that can be configured, and its valid values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The name of the number in files.
    pub name: &'static str,
    /// The smallest value.
    pub least: i64,
    /// The largest value.
    pub most: i64,
}

/// A value outside of the range of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{} {value} is not within {} to {}", .range.name, .range.least, .range.most)]
pub struct OutOfRange {
    /// The number and its valid values.
    pub range: Range,
    /// The value that was given.
    pub value: i64,
}

impl Range {
    /// The range of a number of this name.
    pub const fn new(name: &'static str, least: i64, most: i64) -> Self {
        Self { name, least, most }
    }

    /// `value`, if it is valid.
    pub fn check(self, value: i64) -> Result<i64, OutOfRange> {
        if (self.least..=self.most).contains(&value) {
            Ok(value)
        } else {
            Err(OutOfRange { range: self, value })
        }
    }

    /// [`Range::check`] for numbers without negative values.
    pub fn count(self, value: i64) -> Result<u32, OutOfRange> {
        let checked = self.check(value)?;
        u32::try_from(checked).map_err(|_| OutOfRange { range: self, value })
    }

    /// [`Range::count`] for a number of which 0 means the default: `None`.
    pub fn or_default(self, value: i64) -> Result<Option<u32>, OutOfRange> {
        self.count(value).map(|value| Some(value).filter(|value| *value > 0))
    }

    /// `least to most`, for texts that name the valid values.
    pub fn wanted(self) -> String {
        format!("{} to {}", self.least, self.most)
    }
}
