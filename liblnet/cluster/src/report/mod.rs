//! Reports of findings: text for people, JSON for programs, and a picture.

mod json;
pub mod picture;
mod text;

pub use json::{SCHEMA, to_value};
pub use text::to_text;

use crate::checks::{Finding, Severity};

/// The number of findings of each severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The errors.
    pub errors: usize,
    /// The warnings.
    pub warnings: usize,
    /// The notes.
    pub notes: usize,
}

impl Counts {
    /// Counts findings.
    pub fn of(findings: &[Finding]) -> Self {
        let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        Self {
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            notes: count(Severity::Note),
        }
    }

    /// Whether the check fails: with errors; if it is strict, also with warnings.
    pub const fn is_failure(self, strict: bool) -> bool {
        self.errors > 0 || strict && self.warnings > 0
    }
}
