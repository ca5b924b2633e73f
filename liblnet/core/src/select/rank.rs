//! Rank: the criteria of a candidate that differ on most nodes, packed into one number by the list of criteria. If all
//! other criteria are even, the candidate with the higher rank is better, and no candidate has to be built.

/// A value of a criterion that can be represented by a number. The order of the numbers is the order of the values.
pub(super) trait Key: Copy {
    /// The number of bits of the numbers.
    const WIDTH: u32;
    fn key(self) -> u64;
}

impl Key for bool {
    const WIDTH: u32 = 1;
    #[inline]
    fn key(self) -> u64 {
        self.into()
    }
}

impl Key for u32 {
    const WIDTH: Self = Self::BITS;
    #[inline]
    fn key(self) -> u64 {
        self.into()
    }
}

impl Key for u64 {
    const WIDTH: u32 = Self::BITS;
    #[inline]
    fn key(self) -> u64 {
        self
    }
}

impl Key for i32 {
    const WIDTH: u32 = Self::BITS;
    /// The number plus the offset that makes negative numbers positive.
    #[inline]
    fn key(self) -> u64 {
        (self.wrapping_sub(Self::MIN) as u32).into()
    }
}

/// Values of criteria, the most important one in the highest bits of the first word. The higher rank is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank<const WORDS: usize>([u128; WORDS]);

impl<const WORDS: usize> Rank<WORDS> {
    pub(super) const LOWEST: Self = Self([0; WORDS]);

    /// Stores a value; the higher `key` is better.
    #[inline]
    pub(super) fn put(&mut self, place: Place, key: u64) {
        self.0[place.word] |= u128::from(key) << place.shift;
    }
}

/// The place of a criterion in a rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The position in the list of criteria.
    pub(super) row: usize,
    word: usize,
    shift: u32,
}

/// Allocates the places of a rank in the order of the criteria. No place crosses the boundary of two words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    rows: usize,
    word: usize,
    free: u32,
}

impl Places {
    pub(super) const ALL: Self = Self { rows: 0, word: 0, free: u128::BITS };

    /// The place of the next criterion, which has `width` bits; with no bits it is not in the rank.
    pub(super) const fn take(&mut self, width: u32) -> Place {
        assert!(width <= u64::BITS, "a value has more bits than a key");
        if width > self.free {
            self.word += 1;
            self.free = u128::BITS;
        }
        self.free -= width;
        self.rows += 1;
        // Without bits at the end of a word there is nothing to shift.
        let shift = if width == 0 { 0 } else { self.free };
        Place { row: self.rows - 1, word: self.word, shift }
    }
}

/// The number of words of a rank of criteria with these widths.
pub(super) const fn words(widths: &[u32]) -> usize {
    let (mut places, mut row) = (Places::ALL, 0);
    while row < widths.len() {
        places.take(widths[row]);
        row += 1;
    }
    places.word + 1
}

/// The number of bits of the numbers up to `max`.
pub(super) const fn bits(max: u64) -> u32 {
    u64::BITS - max.leading_zeros()
}

/// The highest number with `width` bits.
pub(super) const fn highest(width: u32) -> u64 {
    match u64::MAX.checked_shr(u64::BITS - width) {
        Some(highest) => highest,
        None => 0,
    }
}

/// Whether the last element is the only true one.
pub(super) const fn is_only_last(are: &[bool]) -> bool {
    let mut row = 0;
    while row < are.len() {
        if are[row] != (row + 1 == are.len()) {
            return false;
        }
        row += 1;
    }
    true
}

/// A candidate with a rank.
pub(super) trait Ranked {
    /// The type that the rank is computed from.
    type Source;
    type Rank: Copy + Ord;

    /// Whether selection rules give the candidate no values beyond those in its rank.
    fn is_ranked(source: &Self::Source) -> bool;

    fn rank(source: &Self::Source) -> Self::Rank;

    /// The candidate with the highest rank; of equals the first. `None` if one of them is not ranked.
    #[inline]
    fn best_by_rank<'a, T>(all: impl Iterator<Item = (&'a Self::Source, T)>) -> Option<T>
    where
        Self::Source: 'a,
    {
        let mut best: Option<(Self::Rank, T)> = None;
        for (source, it) in all {
            if !Self::is_ranked(source) {
                return None;
            }
            let rank = Self::rank(source);
            if best.as_ref().is_none_or(|(best, _)| rank > *best) {
                best = Some((rank, it));
            }
        }
        best.map(|(_, it)| it)
    }
}

/// Defines a candidate as `candidate` does, and its rank. The criteria of a rank have two more parts than those of `candidate`:
///
/// - `scope`: a [`Scope`](super::compare::Scope),
/// - `rank`, the way in which the value is in the rank: `[whole]`; `[whole, limit LIMIT]` if no value is better than `LIMIT`;
///   `[up_to MAX]` for numbers from 0 to `MAX`; `[turn BITS]` for numbers that grow by one with each message, of which `BITS`
///   bits are enough. A value is not in the rank with `[even unless CONDITION]`: all candidates are equal in it unless
///   `CONDITION` holds for the whole choice; and with `[even unless_ruled CONDITION]`: they are equal unless selection rules
///   make `CONDITION` hold for the candidate. A value with the scope `Standing` is in the rank: no condition can tell that all
///   are equal in it.
///
/// For values in the rank, `of` must be an expression over the source alone.
macro_rules! ranked_candidate {
    (
        $(#[$doc:meta])* struct $name:ident of ($source:ident: &$source_type:ty) with ($($with:tt)*)
        ranked as $rank:ident among ($($among:tt)*)
        $(listed by last use, limits ($($limit:tt)*),)?
        explained ($its:ident, $best:ident) $rows:tt
    ) => {
        ranked_candidate! { @candidate $(#[$doc])* $name ($its, $best) ($source: &$source_type) ($($with)*) $rows }
        ranked_candidate! { @rank $name $rank ($source: &$source_type) ($($among)*) $rows }
        $(ranked_candidate! { @listed $name $rank ($source: &$source_type) ($($limit)*) $rows })?
    };
    (
        @candidate $(#[$doc:meta])* $name:ident ($its:ident, $best:ident)
        ($source:ident: &$source_type:ty) ($($with:tt)*) {
            $($(#[$row:meta])* $field:ident: $type:ty {
                of: $of:expr, better: $better:ident, scope: $scope:ident, rank: $form:tt,
                because: $because:tt, shows: $shows:ident
            })+
        }
    ) => {
        candidate! { @compared $(#[$doc])* $name ($its, $best)
            $($(#[$row])* $field: $type, $better, $scope, $because, $shows;)+ }

        impl $name {
            pub(super) fn of($source: &$source_type, $($with)*) -> Self {
                Self { $($field: $of),+ }
            }
        }
    };
    (
        @rank $name:ident $rank:ident ($source:ident: &$source_type:ty) ($($among:tt)*) {
            $($(#[$row:meta])* $field:ident: $type:ty {
                of: $of:expr, better: $better:ident, scope: $scope:ident, rank: $form:tt,
                because: $because:tt, shows: $shows:ident
            })+
        }
    ) => {
        /// The rank of the candidate.
        pub(super) type $rank = $crate::select::rank::Rank<{
            $crate::select::rank::words(&[$(ranked_candidate!(@width $form $type)),+])
        }>;

        $(const _: () = assert!(
            ranked_candidate!(@may_be_in $scope $form),
            "a criterion that depends on the candidate alone has to be in its rank",
        );)+

        const _: () = {
            use $crate::select::rank::{Place, Places};

            #[derive(Clone, Copy)]
            #[allow(dead_code, reason = "the places of criteria that are not in the rank are not read")]
            struct Rows {
                $($field: Place,)+
            }

            impl $name {
                const ROWS: Rows = {
                    let mut places = Places::ALL;
                    Rows { $($field: places.take(ranked_candidate!(@width $form $type))),+ }
                };
            }
        };

        impl $crate::select::rank::Ranked for $name {
            type Source = $source_type;
            type Rank = $rank;

            #[inline]
            fn is_ranked($source: &$source_type) -> bool {
                let _ = $source;
                true $(&& ranked_candidate!(@is_ranked $form))+
            }

            #[inline]
            fn rank($source: &$source_type) -> $rank {
                let mut rank = $rank::LOWEST;
                $(ranked_candidate!(@put rank, Self::ROWS.$field, $better $form $type, $of);)+
                rank
            }
        }

        impl $name {
            /// Whether the best candidate is that of the highest rank, as far as that does not depend on the single candidate.
            #[inline]
            pub(super) fn does_rank_decide($($among)*) -> bool {
                true $(&& ranked_candidate!(@is_even $form))+
            }
        }

        #[cfg(all(test, not(loom)))]
        impl $crate::select::criteria_tests::Packed for $name {
            /// The rank of these values; those that are not in the rank are set to the same value.
            fn pack(&mut self) -> $rank {
                let mut rank = $rank::LOWEST;
                $(
                    ranked_candidate!(@into_range self.$field, $form $type);
                    ranked_candidate!(@put rank, Self::ROWS.$field, $better $form $type, self.$field);
                )+
                rank
            }
        }
    };
    (
        @listed $name:ident $rank:ident ($source:ident: &$source_type:ty) ($($limit:tt)*) {
            $($(#[$row:meta])* $field:ident: $type:ty {
                of: $of:expr, better: $better:ident, scope: $scope:ident, rank: $form:tt,
                because: $because:tt, shows: $shows:ident
            })+
        }
    ) => {
        const _: () = assert!(
            $crate::select::rank::is_only_last(&[$(ranked_candidate!(@is_turn $form)),+]),
            "a list in the order of last use is decided by the last use at the end",
        );

        impl $name {
            /// The rank by the values that are known before the other end of the path is selected, up to those that rules
            /// give the pair.
            #[allow(dead_code, reason = "only peer NIs are considered before the other end is selected")]
            pub(super) fn standing($source: &$source_type) -> $rank {
                let mut rank = $rank::LOWEST;
                $(ranked_candidate!(@standing $scope, rank, Self::ROWS.$field, $better $form $type, $of);)+
                rank
            }

            /// Whether no other candidate can be better except by its last use, if selection rules do not distinguish any.
            #[inline(always)]
            pub(super) fn is_unsurpassed($source: &$source_type, $($limit)*) -> bool {
                true $(&& ranked_candidate!(@is_unsurpassed $scope, $better $form $type, $of))+
            }

            /// Whether selection rules give two candidates different values, or give the first one values that are not in its
            /// rank.
            pub(super) fn do_rules_distinguish(one: &$source_type, other: &$source_type) -> bool {
                !<Self as $crate::select::rank::Ranked>::is_ranked(one)
                    $(|| ranked_candidate!(@do_rules_distinguish $scope, $source, one, other, $form, $of))+
            }
        }
    };

    (@width [whole $($limit:tt)*] $type:ty) => { <$type as $crate::select::rank::Key>::WIDTH };
    (@width [up_to $max:expr] $type:ty) => { $crate::select::rank::bits($max as u64) };
    (@width [turn $bits:expr] $type:ty) => { $bits };
    (@width [even $($unless:tt)+] $type:ty) => { 0 };

    (@may_be_in Standing [even $($unless:tt)+]) => { false };
    (@may_be_in $scope:ident $form:tt) => { true };

    (@is_even [even unless $condition:expr]) => { !($condition) };
    (@is_even $form:tt) => { true };
    (@is_ranked [even unless_ruled $condition:expr]) => { !($condition) };
    (@is_ranked $form:tt) => { true };
    (@is_turn [turn $bits:expr]) => { true };
    (@is_turn $form:tt) => { false };

    (@put $rank:ident, $place:expr, $better:ident [even $($unless:tt)+] $type:ty, $of:expr) => {};
    (@put $rank:ident, $place:expr, $better:ident $form:tt $type:ty, $of:expr) => {
        $rank.put($place, ranked_candidate!(@key $better, $crate::select::rank::Key::key($of), $form $type))
    };
    (@key Higher, $key:expr, $form:tt $type:ty) => { $key };
    (@key Lower, $key:expr, $form:tt $type:ty) => {
        !$key & const { $crate::select::rank::highest(ranked_candidate!(@width $form $type)) }
    };

    (@standing Standing, $rank:ident, $place:expr, $($value:tt)+) => {
        if const { $place.row < Self::ROWS.preference.row } {
            ranked_candidate!(@put $rank, $place, $($value)+);
        }
    };
    (@standing Ruled, $($rest:tt)+) => { ranked_candidate!(@standing Standing, $($rest)+) };
    (@standing $scope:ident, $($rest:tt)+) => {};

    (@is_unsurpassed Ruled, $($rest:tt)+) => { true };
    (@is_unsurpassed $scope:ident, $better:ident [even $($unless:tt)+] $type:ty, $of:expr) => { true };
    (@is_unsurpassed $scope:ident, $better:ident [turn $bits:expr] $type:ty, $of:expr) => { true };
    (@is_unsurpassed $scope:ident, Lower $form:tt $type:ty, $of:expr) => { $crate::select::rank::Key::key($of) == 0 };
    (@is_unsurpassed $scope:ident, Higher [whole] $type:ty, $of:expr) => { $of == <$type>::MAX };
    (@is_unsurpassed $scope:ident, Higher [whole, limit $limit:expr] $type:ty, $of:expr) => { $of >= $limit };
    (@is_unsurpassed $scope:ident, Higher [up_to $max:expr] $type:ty, $of:expr) => { $of >= $max };

    (@do_rules_distinguish Ruled, $source:ident, $one:ident, $other:ident, [even $($unless:tt)+], $of:expr) => { false };
    (@do_rules_distinguish Ruled, $source:ident, $one:ident, $other:ident, $form:tt, $of:expr) => {{
        let value = |$source: &<Self as $crate::select::rank::Ranked>::Source| $of;
        value($one) != value($other)
    }};
    (@do_rules_distinguish $scope:ident, $($rest:tt)+) => { false };

    (@into_range $value:expr, [up_to $max:expr] $type:ty) => { $value %= $max + 1 };
    (@into_range $value:expr, [turn $bits:expr] $type:ty) => { $value &= $crate::select::rank::highest($bits) };
    (@into_range $value:expr, [even $($unless:tt)+] $type:ty) => { $value = Default::default() };
    (@into_range $value:expr, $form:tt $type:ty) => {};
}

pub(super) use ranked_candidate;
