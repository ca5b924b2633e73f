//! Patterns of IP addresses, of either family.
//!
//! | form | means |
//! |---|---|
//! | `10.0.[0-1].*` | IPv4: four octets, each an [`Expression`] |
//! | `fd99::[90-92]`, `fd99:*:*:*::1` | IPv6: eight groups, each an expression with hexadecimal numbers; `::` stands for groups of 0 |
//! | `10.0.0.0/8`, `2001:db8::/64` | a mask: an [`IpPrefix`] |

use crate::expression::{Expression, Range};
use crate::ip_prefix::IpPrefix;
use crate::nid::Address;
use crate::nid_text::parse_ipv6;
use crate::text::{Problem, TextError};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A set of addresses of one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpRange(Form);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// The octets of IPv4 addresses, the leftmost first.
    Octets([Expression; 4]),
    /// The groups of IPv6 addresses, the leftmost first.
    Groups(Box<[Expression; 8]>),
    Prefix(IpPrefix),
}

/// A part of the addresses in a set: so many bits, and the numbers that they may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AddressPart {
    pub(crate) bits: u8,
    /// Ascending; they neither overlap nor touch.
    pub(crate) runs: Vec<(u128, u128)>,
}

impl IpRange {
    /// The IPv4 addresses with these octets, the leftmost first.
    pub const fn from_octets(octets: [Expression; 4]) -> Self {
        Self(Form::Octets(octets))
    }

    /// The octets of IPv4 addresses, the leftmost first; `None` for IPv6.
    pub fn octets(&self) -> Option<[Expression; 4]> {
        match &self.0 {
            Form::Octets(octets) => Some(octets.clone()),
            Form::Groups(_) => None,
            Form::Prefix(prefix) => {
                let IpAddr::V4(first) = prefix.first() else { return None };
                let last = Ipv4Addr::from_bits(prefix.interval().1 as u32).octets();
                let both = first.octets().into_iter().zip(last);
                let mut octets =
                    both.map(|(lo, hi)| Expression::from_ranges(vec![(lo.into()..=hi.into()).into()]));
                Some(std::array::from_fn(|_| octets.next().unwrap_or_default()))
            }
        }
    }

    /// Whether the addresses are IPv6 addresses.
    pub const fn is_v6(&self) -> bool {
        matches!(&self.0, Form::Groups(_))
            || matches!(&self.0, Form::Prefix(prefix) if prefix.first().is_ipv6())
    }

    /// Whether `address` is in the set.
    pub fn matches(&self, address: IpAddr) -> bool {
        match (&self.0, address) {
            (Form::Octets(octets), IpAddr::V4(v4)) => {
                octets.iter().zip(v4.octets()).all(|(octet, value)| octet.matches(value.into()))
            }
            (Form::Groups(groups), IpAddr::V6(v6)) => {
                groups.iter().zip(v6.segments()).all(|(group, value)| group.matches(value.into()))
            }
            (Form::Prefix(prefix), address) => prefix.matches(address),
            (Form::Octets(_), IpAddr::V6(_)) | (Form::Groups(_), IpAddr::V4(_)) => false,
        }
    }

    /// Whether the set has every address of its family.
    pub fn is_whole_family(&self) -> bool {
        self.parts().iter().all(|part| part.runs == [(0, part.last())])
    }

    /// Whether every expression in it has numbers, and no range of them is empty.
    pub fn has_no_empty_range(&self) -> bool {
        match &self.0 {
            Form::Octets(octets) => octets.iter().all(Expression::has_no_empty_range),
            Form::Groups(groups) => groups.iter().all(Expression::has_no_empty_range),
            Form::Prefix(_) => true,
        }
    }

    /// Whether all addresses of the set begin with the same octet, or the same group: the set means a place, not the machine's addresses
    /// in whatever network.
    pub fn begins_with_one_number(&self) -> bool {
        match &self.0 {
            Form::Octets([first, ..]) => first.count() == 1,
            Form::Groups(groups) => groups[0].count() == 1,
            Form::Prefix(prefix) => prefix.bits() >= if prefix.first().is_ipv6() { 16 } else { 8 },
        }
    }

    /// The parts of the addresses, the leftmost first; together as many bits as an address has.
    pub(crate) fn parts(&self) -> Vec<AddressPart> {
        match &self.0 {
            Form::Octets(octets) => octets.iter().map(|it| AddressPart::of(it, u8::MAX.into())).collect(),
            Form::Groups(groups) => groups.iter().map(|it| AddressPart::of(it, u16::MAX)).collect(),
            Form::Prefix(prefix) => {
                vec![AddressPart { bits: prefix.address_bits(), runs: vec![prefix.interval()] }]
            }
        }
    }

    /// The address that these bits are, as many as [`IpRange::parts`] have.
    pub(crate) const fn address(&self, bits: u128) -> Address {
        match self.is_v6() {
            true => Address::Long(bits.to_be_bytes()),
            false => Address::Short(bits as u32),
        }
    }
}

impl AddressPart {
    fn of(numbers: &Expression, last: u16) -> Self {
        let runs = numbers.runs(last).into_iter().map(|(lo, hi)| (lo.into(), hi.into())).collect();
        Self { bits: (u16::BITS - last.leading_zeros()) as u8, runs }
    }

    /// The largest number of so many bits.
    pub(crate) const fn last(&self) -> u128 {
        u128::MAX >> (u128::BITS - self.bits as u32)
    }

    /// Returns the number of its numbers, or [`u64::MAX`] if there are more.
    pub(crate) fn count(&self) -> u64 {
        let count = |(lo, hi): &(u128, u128)| u64::try_from(hi - lo).unwrap_or(u64::MAX).saturating_add(1);
        self.runs.iter().map(count).fold(0, u64::saturating_add)
    }
}

/// Reads four octets, eight groups (fewer with `::`), or a mask.
impl FromStr for IpRange {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        // A stride in brackets has a '/' as well.
        let has_mask = text.rfind('/') > text.rfind(']');
        match (has_mask, text.contains(':')) {
            (true, _) => text.parse().map(|prefix| Self(Form::Prefix(prefix))),
            (false, true) => parse_groups(text).map(|groups| Self(Form::Groups(groups))),
            (false, false) => parse_octets(text).map(|octets| Self(Form::Octets(octets))),
        }
    }
}

fn parse_octets(text: &str) -> Result<[Expression; 4], TextError> {
    let mut octets = <[Expression; 4]>::default();
    let mut parts = text.split('.');
    let mut at = 0;
    for octet in &mut octets {
        let part = parts.next().ok_or(TextError::new(Problem::NotIpv4, 0))?;
        *octet = Expression::parse(part, 0..=255).map_err(|e| e.within(at))?;
        at += part.len() + 1;
    }
    match parts.next() {
        None => Ok(octets),
        Some(_) => Err(TextError::new(Problem::NotIpv4, at - 1)),
    }
}

fn parse_groups(text: &str) -> Result<Box<[Expression; 8]>, TextError> {
    if !text.contains(['[', '*']) {
        let groups = Ipv6Addr::from(parse_ipv6(text)?).segments();
        return Ok(Box::new(groups.map(|group| one(group.into()))));
    }
    let (before, after) = match text.split_once("::") {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    };
    let mut groups = split_groups(before, 0)?;
    if let Some(after) = after {
        let behind = split_groups(after, before.len() + 2)?;
        // As in an address, `::` stands for one group at least.
        let zeros = 8_usize.saturating_sub(groups.len() + behind.len());
        if zeros == 0 {
            return Err(TextError::new(Problem::NotIpv6, 0));
        }
        groups.extend(std::iter::repeat_n(one(0), zeros));
        groups.extend(behind);
    }
    groups.into_boxed_slice().try_into().map_err(|_| TextError::new(Problem::NotIpv6, 0))
}

/// Reads the groups in a part of a pattern that begins at byte `start`; an empty part has none.
fn split_groups(text: &str, start: usize) -> Result<Vec<Expression>, TextError> {
    let mut at = start;
    let mut groups = Vec::new();
    for part in text.split(':').take_while(|_| !text.is_empty()) {
        groups.push(Expression::parse_group(part).map_err(|e| e.within(at))?);
        at += part.len() + 1;
    }
    Ok(groups)
}

fn one(number: u32) -> Expression {
    Expression::from_ranges(vec![Range::one(number)])
}

/// Writes `10.0.[0-1].[0-255]`, `fd99::[90-92]`, `10.0.0.0/8`.
impl fmt::Display for IpRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Octets([a, b, c, d]) => write!(f, "{a}.{b}.{c}.{d}"),
            Form::Groups(groups) => write_groups(f, groups),
            Form::Prefix(prefix) => prefix.fmt(f),
        }
    }
}

/// Writes groups; of the longest runs of groups of 0 the first becomes `::`, if it has two groups at least.
fn write_groups(f: &mut fmt::Formatter<'_>, groups: &[Expression; 8]) -> fmt::Result {
    let numbers = groups.each_ref().map(Expression::only);
    if numbers.iter().all(Option::is_some) {
        let address = Ipv6Addr::from(numbers.map(|number| number.unwrap_or(0) as u16));
        return write!(f, "{address}");
    }
    let zeros_from = |start: usize| numbers[start..].iter().take_while(|it| **it == Some(0)).count();
    let longest = (0..8).rev().max_by_key(|start| zeros_from(*start)).unwrap_or(0);
    let (from, to) = match zeros_from(longest) {
        0 | 1 => (8, 8),
        zeros => (longest, longest + zeros),
    };
    for (i, group) in groups.iter().enumerate() {
        match i {
            _ if i == from => f.write_str("::")?,
            _ if (from..to).contains(&i) => {}
            _ if i == 0 || i == to => write!(f, "{group:x}")?,
            _ => write!(f, ":{group:x}")?,
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "ip_range_tests.rs"]
mod tests;
