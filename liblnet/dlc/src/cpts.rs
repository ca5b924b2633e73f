//! CPU partitions as text: `0`, `[0,1]`, `[0-3/2]`.

use lnet_wire::Expression;
use lnet_wire::text::{Problem, TextError};
use std::fmt;
use std::str::FromStr;

/// The most partitions of a node: each interface has credits for every one.
const MAX_TOLD: usize = 4096;

/// The CPU partitions that something is bound to; empty: all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Vec<u32>")]
pub struct CptList(Vec<u32>);

impl CptList {
    /// The most partitions that one list may name, `LNET_MAX_SHOW_NUM_CPT`.
    pub const MAX_CPTS: usize = 128;

    /// A list of exactly these partitions.
    pub const fn new(cpts: Vec<u32>) -> Self {
        Self(cpts)
    }

    /// The numbers of the partitions, in the order written.
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }

    /// Whether no partition is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Conversion from a message, which may have any content. A node lists as many partitions as it has.
impl TryFrom<Vec<u32>> for CptList {
    type Error = &'static str;

    fn try_from(cpts: Vec<u32>) -> Result<Self, Self::Error> {
        if cpts.len() > MAX_TOLD { Err("more CPU partitions than any machine has") } else { Ok(Self(cpts)) }
    }
}

impl FromStr for CptList {
    type Err = TextError;

    /// Reads a number or a bracketed list of at most 128 numbers, and at least one: `[3-1]` is an error.
    fn from_str(text: &str) -> Result<Self, TextError> {
        let expression = Expression::parse(text, 0..=u32::MAX)?;
        let too_many = |_| TextError { problem: Problem::OutOfBounds(0, Self::MAX_CPTS as u32 - 1), at: 0 };
        match expression.values(Self::MAX_CPTS).map_err(too_many)? {
            none if none.is_empty() => Err(TextError { problem: Problem::Empty, at: 0 }),
            cpts => Ok(Self(cpts)),
        }
    }
}

/// Writes the list as `[0,1]`: always in brackets, one by one.
impl fmt::Display for CptList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, cpt) in self.0.iter().enumerate() {
            write!(f, "{}{cpt}", if i > 0 { "," } else { "" })?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_with_endless_partitions_is_refused() {
        let read = |count: usize| serde_json::from_str::<CptList>(&format!("[{}0]", "0,".repeat(count)));
        assert_eq!(read(1).unwrap(), CptList::new(vec![0, 0]));
        assert!(read(4095).is_ok());
        assert!(read(4096).is_err());
    }
}
