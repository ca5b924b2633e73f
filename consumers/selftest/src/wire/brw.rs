//! Requests of brw, the bulk test, and their common parameters (selftest 8).

use super::constants::{MAX_BULK, PAGE};
use super::features::Features;
use super::fields::{Fields, Writer};
use super::header::BULK_BITS;

/// The direction of a transfer, as the client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rw {
    /// The server puts data into the client's memory.
    Read,
    /// The server gets data from the client's memory.
    Write,
}

/// The part of the data that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Check {
    /// Data is not checked.
    None,
    /// The first and the last eight bytes of every page.
    Simple,
    /// All bytes are checked.
    Full,
}

/// The length of a transfer in bytes: 8 to 1 MiB, a multiple of 8. Kernel servers panic on other numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BulkLength(u32);

impl BulkLength {
    /// A length in bytes; `None` if it is not allowed.
    pub const fn new(bytes: u32) -> Option<Self> {
        if bytes > 0 && bytes <= MAX_BULK && bytes.is_multiple_of(8) { Some(Self(bytes)) } else { None }
    }

    /// The length in bytes.
    pub const fn bytes(self) -> u32 {
        self.0
    }

    /// Whether the length is a number of whole pages.
    pub const fn is_whole_pages(self) -> bool {
        self.0.is_multiple_of(PAGE)
    }

    /// The length in pages, rounded up.
    pub const fn pages(self) -> u32 {
        self.0.div_ceil(PAGE)
    }
}

impl Rw {
    pub(super) const fn number(self) -> u16 {
        match self {
            Self::Read => 1,
            Self::Write => 2,
        }
    }

    pub(super) const fn from_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Read),
            2 => Some(Self::Write),
            _ => None,
        }
    }
}

impl Check {
    /// The number on the wire. [`Check::None`] is 1, not 0 (selftest 18, 4).
    pub(super) const fn number(self) -> u16 {
        match self {
            Self::None => 1,
            Self::Simple => 2,
            Self::Full => 3,
        }
    }

    pub(super) const fn from_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::None),
            2 => Some(Self::Simple),
            3 => Some(Self::Full),
            _ => None,
        }
    }
}

/// A client asks for one transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrwRequest {
    /// The direction.
    pub rw: Rw,
    /// The part of the data that is checked.
    pub check: Check,
    /// The length of the transfer.
    pub length: BulkLength,
}

/// The reason why a server refuses a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrwRefusal {
    /// The direction, the checks or the length are invalid.
    Invalid,
    /// The header has features that are not known.
    UnknownFeatures,
}

/// A request of brw as it was received, unchecked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncomingBrw {
    /// The match bits of the client's memory.
    pub bulk_bits: u64,
    /// The transfer to carry out, or the reason why it is refused.
    pub transfer: Result<BrwRequest, BrwRefusal>,
}

impl IncomingBrw {
    pub(super) fn read(fields: Fields<'_>, features: Features) -> Self {
        Self { bulk_bits: fields.u64(BULK_BITS), transfer: BrwRequest::read(fields, features) }
    }
}

impl BrwRequest {
    /// Reads a request with the checks of selftest 8.1, in their order, and one more than kernel servers do: the length is a
    /// multiple of 8.
    fn read(fields: Fields<'_>, features: Features) -> Result<Self, BrwRefusal> {
        let rw = Rw::from_number(fields.u32(40)).ok_or(BrwRefusal::Invalid)?;
        let check = Check::from_number(fields.u32(48)).ok_or(BrwRefusal::Invalid)?;
        if features.has_unknown() {
            return Err(BrwRefusal::UnknownFeatures);
        }
        let length = BulkLength::new(fields.u32(44)).ok_or(BrwRefusal::Invalid)?;
        if !features.has_bulk_len() && !length.is_whole_pages() {
            return Err(BrwRefusal::Invalid);
        }
        Ok(Self { rw, check, length })
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.u32(40, self.rw.number().into());
        writer.u32(44, self.length.bytes());
        writer.u32(48, self.check.number().into());
    }
}
