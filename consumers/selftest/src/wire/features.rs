//! Features of a session.

/// A set of features (selftest 10). A receiver refuses sets with unknown bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Features(pub u32);

impl Features {
    /// No feature.
    pub const NONE: Self = Self(0);
    /// Bulk data may have any length, not just whole pages.
    pub const BULK_LEN: Self = Self(1);
    /// The known features.
    pub const KNOWN: Self = Self::BULK_LEN;

    /// Whether there is a bit that is not known.
    pub const fn has_unknown(self) -> bool {
        self.0 & !Self::KNOWN.0 != 0
    }

    /// Whether bulk data may have any length.
    pub const fn has_bulk_len(self) -> bool {
        self.0 & Self::BULK_LEN.0 != 0
    }
}
