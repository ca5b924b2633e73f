//! Numeric expressions: `7`, `*`, `[0,2-5,8-20/4]` (c-abi 1.9).
//!
//! The ranges are plain data, so that a C list of `struct cfs_range_expr` can be made from them and read
//! back into them.

use crate::text::{Problem, TextError, any_base, leading_blanks};
use std::fmt;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use thiserror::Error;

/// The numbers `lo`, `lo + stride`, `lo + 2 * stride` and so on, up to `hi`. Empty where `lo > hi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first number.
    pub lo: u32,
    /// The bound: no number of the range is above it.
    pub hi: u32,
    /// The distance from one number to the next.
    pub stride: NonZeroU32,
}

/// A set of numbers in the order in which it was written, with repetitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expression {
    ranges: Vec<Range>,
}

/// Error: the set has more values than the caller takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{count} values, more than {max}")]
pub struct TooMany {
    /// Number of values in the set.
    pub count: u64,
    /// Maximum number of values that the caller takes.
    pub max: usize,
}

impl Expression {
    /// Reads a number, `*` (all of `bounds`), or a bracketed list. Blanks around each part are
    /// ignored; every number must lie within `bounds`.
    pub fn parse(text: &str, bounds: RangeInclusive<u32>) -> Result<Self, TextError> {
        Numbers { bounds, read: any_base }.expression(text)
    }

    /// Reads a group of an IPv6 pattern: as [`Expression::parse`], with all numbers in hexadecimal digits, four at most, and no blanks.
    pub(crate) fn parse_group(text: &str) -> Result<Self, TextError> {
        match text.find(|letter: char| letter.is_ascii_whitespace()) {
            Some(at) => Err(TextError::new(Problem::NotANumber, at)),
            None => Numbers { bounds: 0..=u16::MAX.into(), read: hexadecimal }.expression(text),
        }
    }

    /// An expression that consists of `ranges`.
    pub const fn from_ranges(ranges: Vec<Range>) -> Self {
        Self { ranges }
    }

    /// The ranges in the order written.
    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// Whether `value` is in one of the ranges.
    pub fn matches(&self, value: u32) -> bool {
        self.ranges.iter().any(|range| range.contains(value))
    }

    /// Whether all ranges have numbers, and there is one.
    pub fn has_no_empty_range(&self) -> bool {
        !self.ranges.is_empty() && self.ranges.iter().all(|range| range.lo <= range.hi)
    }

    /// The number, if there is only one.
    pub(crate) fn only(&self) -> Option<u32> {
        match self.ranges[..] {
            [Range { lo, hi, .. }] if lo == hi => Some(lo),
            _ => None,
        }
    }

    /// The numbers up to `last` as ascending runs, which neither overlap nor touch.
    pub(crate) fn runs(&self, last: u16) -> Vec<(u32, u32)> {
        let last = u32::from(last);
        if let [Range { lo, hi, .. }] = self.ranges[..]
            && (lo == hi || self.ranges[0].stride == NonZeroU32::MIN)
        {
            return if lo <= hi.min(last) { vec![(lo, hi.min(last))] } else { Vec::new() };
        }
        let mut is_there = vec![false; last as usize + 1];
        for range in &self.ranges {
            for value in range.values().take_while(|value| *value <= last) {
                is_there[value as usize] = true;
            }
        }
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for value in (0..=last).filter(|value| is_there[*value as usize]) {
            match runs.last_mut() {
                Some((_, end)) if *end + 1 == value => *end = value,
                _ => runs.push((value, value)),
            }
        }
        runs
    }

    /// Returns the number of values in [`Expression::values`].
    pub fn count(&self) -> u64 {
        self.ranges.iter().map(|range| range.count()).sum()
    }

    /// All values in the order written. Allocates nothing when there are more than `max`.
    pub fn values(&self, max: usize) -> Result<Vec<u32>, TooMany> {
        let count = self.count();
        if count > max as u64 {
            return Err(TooMany { count, max });
        }
        Ok(self.ranges.iter().flat_map(|range| range.values()).collect())
    }
}

impl Range {
    /// The range of `value` alone.
    pub const fn one(value: u32) -> Self {
        Self { lo: value, hi: value, stride: NonZeroU32::MIN }
    }

    /// Whether `value` is one of the range's numbers.
    pub const fn contains(&self, value: u32) -> bool {
        self.lo <= value && value <= self.hi && (value - self.lo).is_multiple_of(self.stride.get())
    }

    /// Returns the number of numbers in the range.
    pub fn count(&self) -> u64 {
        match self.hi.checked_sub(self.lo) {
            Some(span) => u64::from(span / self.stride) + 1,
            None => 0,
        }
    }

    /// The numbers, ascending.
    pub fn values(&self) -> impl Iterator<Item = u32> + use<> {
        (self.lo..=self.hi).step_by(self.stride.get() as usize)
    }
}

impl From<RangeInclusive<u32>> for Range {
    fn from(bounds: RangeInclusive<u32>) -> Self {
        Self { lo: *bounds.start(), hi: *bounds.end(), stride: NonZeroU32::MIN }
    }
}

/// Writes `7`, or a bracketed list; `*` is written as the bounds that it stood for.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [range] = self.ranges[..]
            && range.lo == range.hi
        {
            return range.fmt(f);
        }
        for (i, range) in self.ranges.iter().enumerate() {
            f.write_str(if i == 0 { "[" } else { "," })?;
            range.fmt(f)?;
        }
        f.write_str(if self.ranges.is_empty() { "" } else { "]" })
    }
}

/// Writes the group of an IPv6 pattern: `*` for all its numbers, and otherwise as [`fmt::Display`] does, with hexadecimal digits.
impl fmt::LowerHex for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(only) = self.only() {
            return write!(f, "{only:x}");
        }
        if self.ranges == [Range::from(0..=u16::MAX.into())] {
            return f.write_str("*");
        }
        for (i, range) in self.ranges.iter().enumerate() {
            let Range { lo, hi, stride } = range;
            f.write_str(if i == 0 { "[" } else { "," })?;
            match stride.get() {
                _ if lo == hi => write!(f, "{lo:x}"),
                1 => write!(f, "{lo:x}-{hi:x}"),
                stride => write!(f, "{lo:x}-{hi:x}/{stride:x}"),
            }?;
        }
        f.write_str("]")
    }
}

/// Writes `7`, `2-5`, `8-20/4`.
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.lo, self.hi, self.stride.get()) {
            (lo, hi, _) if lo == hi => write!(f, "{lo}"),
            (lo, hi, 1) => write!(f, "{lo}-{hi}"),
            (lo, hi, stride) => write!(f, "{lo}-{hi}/{stride}"),
        }
    }
}

/// Reads one number: decimal, `0x` hexadecimal or `0` octal, with blanks around it ignored
/// (`cfs_str2num_check`).
pub fn parse_number(text: &str, bounds: &RangeInclusive<u32>) -> Result<u32, TextError> {
    Numbers { bounds: bounds.clone(), read: any_base }.number(text)
}

/// The form of the numbers in an expression: their bounds, and how one is read that must be within two others.
struct Numbers {
    bounds: RangeInclusive<u32>,
    read: fn(&str, u32, u32) -> Result<u32, Problem>,
}

impl Numbers {
    fn expression(&self, text: &str) -> Result<Expression, TextError> {
        let blanks = leading_blanks(text);
        let bare = text.trim_ascii();
        let ranges = match bare.strip_prefix('[') {
            _ if bare == "*" => vec![Range::from(self.bounds.clone())],
            None => vec![Range::one(self.number(bare).map_err(|e| e.within(blanks))?)],
            Some(rest) => {
                let list = rest.strip_suffix(']').ok_or_else(|| TextError::new(Problem::Bracket, blanks))?;
                self.list(list).map_err(|e| e.within(blanks + 1))?
            }
        };
        Ok(Expression { ranges })
    }

    fn list(&self, text: &str) -> Result<Vec<Range>, TextError> {
        let mut at = 0;
        let mut ranges = Vec::new();
        for part in text.split(',') {
            ranges.push(self.range(part).map_err(|e| e.within(at))?);
            at += part.len() + 1;
        }
        Ok(ranges)
    }

    fn range(&self, text: &str) -> Result<Range, TextError> {
        let Some((lo, rest)) = text.split_once('-') else {
            return self.number(text).map(Range::one);
        };
        let hi_at = lo.len() + 1;
        let (hi, stride) = match rest.split_once('/') {
            Some((hi, stride)) => (hi, self.stride(stride).map_err(|e| e.within(hi_at + hi.len() + 1))?),
            None => (rest, NonZeroU32::MIN),
        };
        Ok(Range { lo: self.number(lo)?, hi: self.number(hi).map_err(|e| e.within(hi_at))?, stride })
    }

    fn number(&self, text: &str) -> Result<u32, TextError> {
        self.number_within(text, &self.bounds)
    }

    fn stride(&self, text: &str) -> Result<NonZeroU32, TextError> {
        NonZeroU32::new(self.number_within(text, &(0..=u32::MAX))?)
            .ok_or(TextError::new(Problem::ZeroStride, 0))
    }

    fn number_within(&self, text: &str, bounds: &RangeInclusive<u32>) -> Result<u32, TextError> {
        (self.read)(text.trim_ascii(), *bounds.start(), *bounds.end())
            .map_err(|problem| TextError::new(problem, leading_blanks(text)))
    }
}

/// Reads up to four hexadecimal digits.
fn hexadecimal(digits: &str, min: u32, max: u32) -> Result<u32, Problem> {
    if digits.is_empty() || digits.len() > 4 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(Problem::NotHexadecimal);
    }
    u32::from_str_radix(digits, 16)
        .ok()
        .filter(|number| (min..=max).contains(number))
        .ok_or(Problem::OutOfBounds(min, max))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn octet(text: &str) -> Result<Expression, TextError> {
        Expression::parse(text, 0..=255)
    }

    #[test]
    fn expressions_print_in_the_shortest_form_that_reads_the_same() {
        for (text, printed, values) in [
            ("7", "7", vec![7]),
            (" 7 ", "7", vec![7]),
            ("[7]", "7", vec![7]),
            ("0x10", "16", vec![16]),
            ("010", "8", vec![8]),
            ("[1,3]", "[1,3]", vec![1, 3]),
            ("[3,1,3]", "[3,1,3]", vec![3, 1, 3]),
            ("[1-3]", "[1-3]", vec![1, 2, 3]),
            ("[1-3/1]", "[1-3]", vec![1, 2, 3]),
            ("[ 1 - 9 / 4 , 2 ]", "[1-9/4,2]", vec![1, 5, 9, 2]),
            ("[1-8/4]", "[1-8/4]", vec![1, 5]),
            ("[5-5]", "5", vec![5]),
            ("[3-2]", "[3-2]", vec![]),
            ("[3-2,4]", "[3-2,4]", vec![4]),
        ] {
            let expression = octet(text).unwrap();
            assert_eq!(expression.to_string(), printed);
            assert_eq!(expression.values(16).unwrap(), values, "{text}");
        }
        assert_eq!(octet("*").unwrap().to_string(), "[0-255]");
        assert_eq!(Expression::default().to_string(), "");
    }

    #[test]
    fn texts_that_are_no_expression_are_refused_with_the_place() {
        use Problem::*;
        for (text, problem, at) in [
            ("", NotANumber, 0),
            ("  ", NotANumber, 2),
            ("1-3", NotANumber, 0),
            ("1,3", NotANumber, 0),
            ("**", NotANumber, 0),
            ("[1", Bracket, 0),
            (" [1]2", Bracket, 1),
            ("1]", NotANumber, 0),
            ("[]", NotANumber, 1),
            ("[1,]", NotANumber, 3),
            ("[*]", NotANumber, 1),
            ("[1-]", NotANumber, 3),
            ("[1-2-3]", NotANumber, 3),
            ("[1/2]", NotANumber, 1),
            ("[1-9/]", NotANumber, 5),
            ("[1-9/0]", ZeroStride, 5),
            ("256", OutOfBounds(0, 255), 0),
            ("[1, 4-256]", OutOfBounds(0, 255), 6),
            ("-1", NotANumber, 0),
        ] {
            assert_eq!(octet(text), Err(TextError::new(problem, at)), "{text:?}");
        }
    }

    #[test]
    fn more_values_than_wanted_are_counted_and_not_made() {
        let all = Expression::parse("*", 0..=u32::MAX).unwrap();
        assert_eq!(all.values(4), Err(TooMany { count: 1 << 32, max: 4 }));
        assert_eq!(octet("[1-4]").unwrap().values(4).unwrap(), [1, 2, 3, 4]);
    }

    proptest! {
        #[test]
        fn matching_agrees_with_a_list_of_the_values(
            parts in prop::collection::vec((0u32..40, 0u32..40, 1u32..6), 1..5),
            top in prop::bool::ANY,
        ) {
            let shift = if top { u32::MAX - 40 } else { 0 };
            let ranges: Vec<_> = parts
                .iter()
                .map(|&(lo, hi, s)| Range { lo: lo + shift, hi: hi + shift, stride: NonZeroU32::new(s).unwrap() })
                .collect();
            let mut naive = Vec::new();
            for r in &ranges {
                let mut v = u64::from(r.lo);
                while v <= u64::from(r.hi) {
                    naive.push(v as u32);
                    v += u64::from(r.stride.get());
                }
            }
            let expression = Expression::from_ranges(ranges);
            prop_assert_eq!(expression.count(), naive.len() as u64);
            for value in (0..=40).map(|v| v + shift) {
                prop_assert_eq!(expression.matches(value), naive.contains(&value));
            }
            let again = Expression::parse(&expression.to_string(), 0..=u32::MAX).unwrap();
            prop_assert_eq!(again.values(1000).unwrap(), expression.values(1000).unwrap());
            prop_assert_eq!(expression.values(1000).unwrap(), naive);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "[ 0-9x,*/\\-\\[\\]\u{e9}]{0,16}") {
            if let Err(e) = octet(&text) {
                prop_assert!(e.at <= text.len());
            }
        }
    }
}
