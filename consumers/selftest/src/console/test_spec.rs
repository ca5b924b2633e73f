//! The tests that a console may ask for, with their parameters.

use crate::wire::{self, BrwParameters, UnsafeParameters};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The kind and parameters of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestSpec {
    /// Small RPCs.
    Ping,
    /// Bulk transfers.
    Brw(Brw),
}

/// Bulk transfers: all that is in it is safe to ask of any node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brw {
    /// The direction of the data.
    pub direction: Direction,
    /// The part of the data that is checked.
    pub check: Check,
    size: u32,
    offset: u32,
}

/// Seen from the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Servers put data into clients.
    #[default]
    Read,
    /// Servers get data from clients.
    Write,
}

/// The part of the data that is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Data is not checked.
    #[default]
    None,
    /// The first and the last 8 bytes of every 4096.
    Simple,
    /// All bytes are checked.
    Full,
}

impl Brw {
    /// Checks the parameters, and refuses values that make kernel nodes panic: see [`BrwParameters::new`].
    pub fn new(direction: Direction, check: Check, size: u32, offset: u32) -> Result<Self, UnsafeParameters> {
        let brw = Self { direction, check, size, offset };
        brw.parameters().map(|_| brw)
    }

    /// The parameters as they are sent to nodes. The error names a parameter that would be unsafe.
    pub fn parameters(self) -> Result<BrwParameters, UnsafeParameters> {
        let rw = match self.direction {
            Direction::Read => wire::Rw::Read,
            Direction::Write => wire::Rw::Write,
        };
        let check = match self.check {
            Check::None => wire::Check::None,
            Check::Simple => wire::Check::Simple,
            Check::Full => wire::Check::Full,
        };
        BrwParameters::new(rw, check, self.size, self.offset)
    }

    /// Bytes of each transfer.
    pub fn size(self) -> u32 {
        self.size
    }

    /// The offset at which the data begins in the first page, in bytes.
    pub fn offset(self) -> u32 {
        self.offset
    }
}

impl fmt::Display for TestSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ping => "ping",
            Self::Brw(_) => "brw",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::MAX_BULK;

    #[test]
    fn what_a_kernel_node_does_not_survive_cannot_be_asked_for() {
        let brw = |size, offset| Brw::new(Direction::Read, Check::Full, size, offset).map(|_| ());
        for (size, offset) in [(8, 0), (4096, 0), (MAX_BULK, 0), (8, 4088), (4000, 96), (65528, 8)] {
            assert_eq!(brw(size, offset), Ok(()), "{size} {offset}");
        }
        let page = UnsafeParameters::OffsetWithSize;
        let table = [
            (0, 0, UnsafeParameters::Size),
            (4097, 0, UnsafeParameters::Size),
            (MAX_BULK + 8, 0, UnsafeParameters::Size),
            (8, 4, UnsafeParameters::Offset),
            (8, 4096, UnsafeParameters::Offset),
            (4096, 8, page),
            (MAX_BULK, 8, page),
        ];
        for (size, offset, expected) in table {
            assert_eq!(brw(size, offset), Err(expected), "{size} {offset}");
        }
    }
}
