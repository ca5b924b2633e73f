//! The families of the addresses in NIDs, and those that an interface reaches.
//!
//! Interfaces with NIDs of both families may be on one net. An interface is a path to a NID of its own family; to a NID of the other
//! family only if its driver says so ([`super::lnd::LndNi::other_families`]), or if the NID has been heard on the interface: then its
//! node speaks a protocol that carries both.

use lnet_wire::Nid;
use lnet_wire::nid::Address;
use std::fmt;

/// The family of the address in a NID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AddressFamily {
    /// Four bytes: an IPv4 address, or a number.
    Short = 1,
    /// Sixteen bytes: an IPv6 address.
    Long = 2,
}

/// A set of families.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddressFamilies(u8);

impl AddressFamily {
    /// Both families.
    pub const ALL: [Self; 2] = [Self::Short, Self::Long];

    /// The family of the address in this NID.
    #[inline]
    pub const fn of(nid: Nid) -> Self {
        match nid.address() {
            Address::Short(_) => Self::Short,
            Address::Long(_) => Self::Long,
        }
    }

    /// The place of the family in [`Self::ALL`].
    pub(crate) const fn index(self) -> usize {
        self as usize - 1
    }
}

impl fmt::Display for AddressFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Short => "IPv4",
            Self::Long => "IPv6",
        })
    }
}

impl AddressFamilies {
    /// No family.
    pub const NONE: Self = Self(0);

    /// One family.
    pub const fn only(family: AddressFamily) -> Self {
        Self(family as u8)
    }

    /// The families of these NIDs.
    pub fn of(nids: impl IntoIterator<Item = Nid>) -> Self {
        nids.into_iter().fold(Self::NONE, |all, nid| all.with(AddressFamily::of(nid)))
    }

    /// The set with this family.
    #[must_use]
    pub const fn with(self, family: AddressFamily) -> Self {
        Self(self.0 | family as u8)
    }

    /// The set without this family.
    #[must_use]
    pub const fn without(self, family: AddressFamily) -> Self {
        Self(self.0 & !(family as u8))
    }

    /// Whether the family is in the set.
    pub const fn contains(self, family: AddressFamily) -> bool {
        self.0 & family as u8 != 0
    }

    /// Whether both sets together have one family at most: then every NID of the one is of the family of every NID of the other.
    #[inline]
    pub const fn are_one_with(self, other: Self) -> bool {
        self.0 | other.0 != AddressFamily::Short as u8 | AddressFamily::Long as u8
    }

    /// The bits of the set, for storage in an atomic.
    pub(super) const fn bits(self) -> u8 {
        self.0
    }

    /// The set with these bits.
    pub(super) const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn sets_of_families_are_one_if_no_second_family_is_in_either() {
        let [short, long] = AddressFamily::ALL.map(AddressFamilies::only);
        let both = short.with(AddressFamily::Long);
        for (one, other, are_one) in [
            (short, short, true),
            (long, long, true),
            (short, AddressFamilies::NONE, true),
            (short, long, false),
            (both, short, false),
            (long, both, false),
        ] {
            assert_eq!(one.are_one_with(other), are_one, "{one:?} and {other:?}");
            assert_eq!(other.are_one_with(one), are_one, "{other:?} and {one:?}");
        }
        assert_eq!(both.without(AddressFamily::Short), long);
    }

    #[test]
    fn the_index_of_a_family_is_its_place_in_the_list_of_all() {
        assert_eq!(AddressFamily::ALL.map(|family| AddressFamily::ALL[family.index()]), AddressFamily::ALL);
    }

    #[test]
    fn the_family_is_that_of_the_address() {
        let nid = |text: &str| text.parse::<Nid>().unwrap();
        let all = ["10.0.0.1@tcp", "0@lo", "fd99::1@tcp"].map(nid);
        let families = all.map(AddressFamily::of);
        assert_eq!(families, [AddressFamily::Short, AddressFamily::Short, AddressFamily::Long]);
        assert_eq!(
            AddressFamilies::of(all),
            AddressFamilies::NONE.with(AddressFamily::Short).with(AddressFamily::Long)
        );
    }
}
