//! Names of sessions, groups and batches.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A name: 1 to 31 bytes, none of them NUL (lnet-selftest 1).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// The error that a text is not a valid name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no name: it takes 1 to {max} bytes", max = Name::MAX)]
pub struct NotAName(String);

impl Name {
    /// The most bytes; the fields of messages have one more, for a NUL.
    pub const MAX: usize = 31;

    /// The batch that every session has: `batch`.
    pub fn default_batch() -> Self {
        Self("batch".to_owned())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        match (1..=Self::MAX).contains(&text.len()) && !text.contains('\0') {
            true => Ok(Self(text.to_owned())),
            false => Err(NotAName(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Name {
    type Error = NotAName;

    fn try_from(text: String) -> Result<Self, NotAName> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_to_31_bytes() {
        for fine in ["b", "my session", "root@host", &"x".repeat(31)] {
            assert_eq!(fine.parse::<Name>().unwrap().as_str(), fine);
        }
        for wrong in ["", "a\0b", &"x".repeat(32), &"ä".repeat(16)] {
            assert!(wrong.parse::<Name>().is_err(), "{wrong:?}");
        }
    }
}
