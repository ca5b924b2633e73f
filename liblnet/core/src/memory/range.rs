//! Memory of programs, by address.
//!
//! The core never accesses the bytes: it keeps addresses and passes to drivers those to read or fill. The C
//! caller must keep the memory valid until the descriptor's last event.

use super::handle::MdHandle;
use std::any::Any;
use std::sync::Weak;

/// A contiguous range of bytes in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemRange {
    /// The address of the first byte.
    pub address: usize,
    /// The number of bytes; may be 0.
    pub len: usize,
}

/// The memory of an MD: one or more ranges, at most 4 GiB - 1 byte in all.
#[derive(Clone, Debug)]
pub struct MdMemory {
    runs: Runs,
    len: u32,
    near: Option<Near>,
}

/// The origin of NUMA distances, if it is not the memory itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Near {
    /// The memory of this MD, as for a request whose bulk data follows ([`super::MdOptions::BULK_HANDLE`]);
    /// without effect if that MD has ended.
    Md(MdHandle),
    /// The memory belongs to this CPU partition: no system call is needed (NU-4).
    Cpt(u32),
}

/// The MD that memory belongs to, for drivers that keep what they know of memory as long as it is valid.
#[derive(Clone, Debug)]
pub struct MemoryOwner {
    /// The number of the MD, which no other MD of this process gets.
    pub id: u64,
    /// Ends when the MD does: until then its memory is valid.
    pub life: Weak<dyn Any + Send + Sync>,
}

impl MemoryOwner {
    /// Whether the MD still exists.
    pub fn is_alive(&self) -> bool {
        self.life.strong_count() > 0
    }
}

#[derive(Clone, Debug)]
enum Runs {
    One([MemRange; 1]),
    Many(Box<[MemRange]>),
}

impl MdMemory {
    /// The memory of one range of `len` bytes.
    pub const fn contiguous(address: usize, len: u32) -> Self {
        Self { runs: Runs::One([MemRange { address, len: len as usize }]), len, near: None }
    }

    /// The memory of several ranges in order; `None` for 4 GiB or more together.
    pub fn scattered(runs: &[MemRange]) -> Option<Self> {
        let len = runs.iter().try_fold(0_u32, |sum, run| sum.checked_add(u32::try_from(run.len).ok()?))?;
        Some(match runs {
            [run] => Self { runs: Runs::One([*run]), len, near: None },
            _ => Self { runs: Runs::Many(runs.into()), len, near: None },
        })
    }

    /// The same memory with a hint: selection prefers an interface near `near`.
    #[must_use]
    pub fn with_near(self, near: Near) -> Self {
        Self { near: Some(near), ..self }
    }

    /// The hint of [`MdMemory::with_near`].
    pub const fn near(&self) -> Option<Near> {
        self.near
    }

    /// The address of the first byte, if there is one.
    pub(crate) fn first(&self) -> Option<usize> {
        self.slice(0, self.len).next().map(|run| run.address)
    }

    /// The number of bytes in all ranges.
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Whether the memory has no bytes.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The non-empty ranges of `len` bytes from `offset` on, limited by the end of the memory.
    pub fn slice(&self, offset: u32, len: u32) -> MemSlice<'_> {
        let runs = match &self.runs {
            Runs::One(run) => &run[..],
            Runs::Many(runs) => runs,
        };
        MemSlice { runs, skip: offset as usize, left: len.min(self.len.saturating_sub(offset)) as usize }
    }
}

/// A part of an MD's memory, which iterates over its ranges.
#[derive(Clone, Debug)]
pub struct MemSlice<'a> {
    runs: &'a [MemRange],
    skip: usize,
    left: usize,
}

impl MemSlice<'_> {
    /// A slice without any bytes.
    pub const EMPTY: Self = Self { runs: &[], skip: 0, left: 0 };

    /// The number of bytes that the iterator has not returned yet.
    pub const fn remaining(&self) -> usize {
        self.left
    }

    /// The slice without its first `bytes` bytes.
    #[must_use]
    #[inline]
    pub const fn advanced(mut self, bytes: usize) -> Self {
        let bytes = if bytes < self.left { bytes } else { self.left };
        self.skip += bytes;
        self.left -= bytes;
        self
    }
}

impl Iterator for MemSlice<'_> {
    type Item = MemRange;

    #[inline]
    fn next(&mut self) -> Option<MemRange> {
        while self.left > 0 {
            let (run, rest) = self.runs.split_first()?;
            if self.skip >= run.len {
                self.skip -= run.len;
                self.runs = rest;
                continue;
            }
            let len = (run.len - self.skip).min(self.left);
            let part = MemRange { address: run.address + self.skip, len };
            self.runs = rest;
            self.skip = 0;
            self.left -= len;
            return Some(part);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(address: usize, len: usize) -> MemRange {
        MemRange { address, len }
    }

    #[test]
    fn a_slice_crosses_runs_and_skips_empty_ones() {
        let memory = MdMemory::scattered(&[run(100, 10), run(500, 0), run(200, 5), run(300, 5)]).unwrap();
        assert_eq!(memory.len(), 20);
        assert_eq!(memory.slice(8, 9).collect::<Vec<_>>(), [run(108, 2), run(200, 5), run(300, 2)]);
        assert_eq!(memory.slice(19, 9).collect::<Vec<_>>(), [run(304, 1)]);
        assert_eq!(memory.slice(25, 9).collect::<Vec<_>>(), []);
        assert_eq!(memory.slice(0, 20).advanced(12).collect::<Vec<_>>(), [run(202, 3), run(300, 5)]);
    }

    #[test]
    fn four_gibibytes_are_refused() {
        assert!(MdMemory::scattered(&[run(0, u32::MAX as usize), run(0, 1)]).is_none());
        assert!(MdMemory::scattered(&[run(0, 1 << 32)]).is_none());
    }

    proptest! {
        #[test]
        fn a_slice_has_the_bytes_of_the_reference_model(
            lens in prop::collection::vec(0_usize..9, 0..6), offset in 0_u32..50, len in 0_u32..50, skip in 0_usize..20,
        ) {
            let runs: Vec<_> = lens.iter().enumerate().map(|(i, len)| run(1000 * i, *len)).collect();
            let bytes: Vec<usize> = runs.iter().flat_map(|r| r.address..r.address + r.len).collect();
            let memory = MdMemory::scattered(&runs).unwrap();
            let got: Vec<usize> = memory.slice(offset, len).advanced(skip).flat_map(|r| r.address..r.address + r.len).collect();
            let want: Vec<usize> = bytes.into_iter().skip(offset as usize).take(len as usize).skip(skip).collect();
            prop_assert_eq!(got, want);
        }
    }
}
