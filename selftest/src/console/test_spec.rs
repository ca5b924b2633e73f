//! What a test is to do, as a console may ask for it.

use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// The largest bulk: 1 MiB (lnet-selftest 1).
pub const MAX_BULK: u32 = 1 << 20;
/// The most RPCs at once between two nodes of a test.
pub const MAX_CONCURRENCY: u32 = 1024;
/// What bulk is divided into, whatever pages the machine has.
const FRAGMENT: u32 = 4096;

/// One test of a batch.
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
    /// Which way.
    pub direction: Direction,
    /// How the data is checked.
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

/// How much of the data is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Nothing.
    #[default]
    None,
    /// The first and the last 8 bytes of every 4096.
    Simple,
    /// All.
    Full,
}

/// Sizes and offsets that a kernel node does not survive, or that no node takes (lnet-selftest 8.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UnsafeBrw {
    /// The size.
    #[error("size {0}: it takes a multiple of 8, from 8 to 1048576")]
    Size(u32),
    /// The offset.
    #[error("offset {0}: it takes a multiple of 8 below 4096")]
    Offset(u32),
    /// Both together.
    #[error(
        "offset {offset} with size {size}: the end is beyond the last of the 4096-byte pages that the size needs"
    )]
    End {
        /// The offset.
        offset: u32,
        /// The size.
        size: u32,
    },
}

impl Brw {
    /// Refuses what makes kernel nodes fall over: sizes that are no multiple of 8, are 0 or above 1 MiB; offsets that
    /// are no multiple of 8 or leave the first page; both together where they need a page more than the size does.
    pub fn new(direction: Direction, check: Check, size: u32, offset: u32) -> Result<Self, UnsafeBrw> {
        if !size.is_multiple_of(8) || !(8..=MAX_BULK).contains(&size) {
            return Err(UnsafeBrw::Size(size));
        }
        if !offset.is_multiple_of(8) || offset >= FRAGMENT {
            return Err(UnsafeBrw::Offset(offset));
        }
        if offset + size > size.next_multiple_of(FRAGMENT) {
            return Err(UnsafeBrw::End { offset, size });
        }
        Ok(Self { direction, check, size, offset })
    }

    /// Bytes of each transfer.
    pub fn size(self) -> u32 {
        self.size
    }

    /// Where the data begins in the first page.
    pub fn offset(self) -> u32 {
        self.offset
    }

    /// The 4096-byte pages that the data needs.
    pub fn pages(self) -> u32 {
        self.size.div_ceil(FRAGMENT)
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

    #[test]
    fn what_a_kernel_node_does_not_survive_cannot_be_asked_for() {
        let brw = |size, offset| Brw::new(Direction::Read, Check::Full, size, offset).map(|_| ());
        for (size, offset) in [(8, 0), (4096, 0), (MAX_BULK, 0), (8, 4088), (4000, 96), (65528, 8)] {
            assert_eq!(brw(size, offset), Ok(()), "{size} {offset}");
        }
        let table = [
            (0, 0, UnsafeBrw::Size(0)),
            (7, 0, UnsafeBrw::Size(7)),
            (4097, 0, UnsafeBrw::Size(4097)),
            (MAX_BULK + 8, 0, UnsafeBrw::Size(MAX_BULK + 8)),
            (8, 4, UnsafeBrw::Offset(4)),
            (8, 4096, UnsafeBrw::Offset(4096)),
            (4096, 8, UnsafeBrw::End { offset: 8, size: 4096 }),
            (MAX_BULK, 8, UnsafeBrw::End { offset: 8, size: MAX_BULK }),
        ];
        for (size, offset, expected) in table {
            assert_eq!(brw(size, offset), Err(expected), "{size} {offset}");
        }
    }
}
