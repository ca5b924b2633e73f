//! The cells of the grid of LNet selftest, and what is measured of one.

use crate::error::Error;
use crate::statistics::Summary;

const KIB: usize = 1 << 10;
pub(crate) const SIZES: [usize; 4] = [4 * KIB, 64 * KIB, 256 * KIB, 1 << 20];
pub(crate) const CONCURRENCIES: [u32; 4] = [1, 2, 4, 8];

/// The operation that is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    Write { size: usize },
    Read { size: usize },
    Ping,
}

/// A cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) test: Test,
    pub(crate) concurrency: u32,
}

/// The result of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Bytes in a second.
    pub(crate) bytes: f64,
    /// RPCs in a second.
    pub(crate) rpcs: f64,
}

/// The summary of a cell, in bytes per second (RPCs per second for pings).
pub(crate) struct Measured {
    pub(crate) cell: Cell,
    pub(crate) ours: Result<Summary, Error>,
    /// RPCs in a second.
    pub(crate) rpcs: Option<f64>,
    /// The result of iperf3; `None` for a test without an equivalent.
    pub(crate) iperf3: Option<Result<Summary, Error>>,
}

/// Returns all cells of the grid.
pub(super) fn cells() -> Vec<Cell> {
    let writes = SIZES.map(|size| Test::Write { size });
    let reads = SIZES.map(|size| Test::Read { size });
    let tests = writes.into_iter().chain(reads).chain([Test::Ping]);
    tests.flat_map(|test| CONCURRENCIES.map(|concurrency| Cell { test, concurrency })).collect()
}
