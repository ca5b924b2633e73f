//! Sets of named bits.

/// Makes types for sets of bits. Bits without a name are kept.
macro_rules! flags {
    ($(
        $(#[$doc:meta])*
        pub struct $name:ident($bits:ty) { $($(#[$flag_doc:meta])* $flag:ident = $value:expr;)* }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name(pub $bits);

        impl $name {
            /// No bit.
            pub const NONE: Self = Self(0);
            $($(#[$flag_doc])* pub const $flag: Self = Self($value);)*

            /// Whether all bits of `other` are set.
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// Whether `other` has every bit that is set here, named or not.
            pub const fn is_subset_of(self, other: Self) -> bool {
                other.contains(self)
            }

            /// Returns the bits of both.
            #[must_use]
            pub const fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl std::ops::BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                self.union(other)
            }
        }

        impl std::ops::BitAnd for $name {
            type Output = Self;

            fn bitand(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }
        }
    )*};
}

pub(crate) use flags;
