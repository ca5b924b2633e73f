//! The descriptors of a selection rule as bytes, in the order of the machine (core-behaviour 8.5).

use lnet_wire::expression::Range;
use lnet_wire::nid_range::AddressRange;
use lnet_wire::{Expression, IpRange, NetType, Selector};
use std::num::NonZeroU32;

/// src, dst and rte of a rule.
pub(crate) type Criteria = [Option<Selector>; 3];

/// What one descriptor has before its ranges.
const DESCRIPTOR: usize = 16;
const RANGE: usize = 12;
const TAGS: [&[u8; 4]; 3] = [b"SRC\0", b"DST\0", b"RTE\0"];

/// The bytes of the descriptors.
pub(crate) fn marshal(criteria: &Criteria) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (tag, selector) in TAGS.iter().zip(criteria) {
        bytes.extend_from_slice(*tag);
        let Some(selector) = selector else {
            bytes.extend_from_slice(&[0; DESCRIPTOR - 4]);
            continue;
        };
        let addresses: &[Expression] = match selector.addresses() {
            None | Some(AddressRange::Long(_)) => &[],
            Some(AddressRange::Ip(range)) => range.octets(),
            Some(AddressRange::Number(expression)) => std::slice::from_ref(expression),
        };
        let nets = selector.numbers().map_or(&[][..], Expression::ranges);
        for number in [addresses.len() as u32, selector.kind().0.into(), nets.len() as u32] {
            bytes.extend_from_slice(&number.to_ne_bytes());
        }
        push_ranges(&mut bytes, nets);
        for expression in addresses {
            bytes.extend_from_slice(&(expression.ranges().len() as u32).to_ne_bytes());
            push_ranges(&mut bytes, expression.ranges());
        }
    }
    bytes
}

fn push_ranges(bytes: &mut Vec<u8>, ranges: &[Range]) {
    for range in ranges {
        for number in [range.lo, range.hi, range.stride.get()] {
            bytes.extend_from_slice(&number.to_ne_bytes());
        }
    }
}

/// The three descriptors; `None` for bytes that are none.
pub(crate) fn unmarshal(bytes: &[u8]) -> Option<Criteria> {
    let mut reader = Reader(bytes);
    let mut selectors = [None, None, None];
    for (tag, selector) in TAGS.iter().zip(&mut selectors) {
        if reader.number()? != u32::from_ne_bytes(**tag) {
            return None;
        }
        *selector = reader.selector()?;
    }
    reader.0.is_empty().then_some(selectors)
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_ne_bytes(*first))
    }

    /// `None`: not a descriptor; `Some(None)`: one that is absent.
    fn selector(&mut self) -> Option<Option<Selector>> {
        let (addresses, kind, nets) = (self.number()?, self.number()?, self.number()?);
        if kind == 0 {
            return Some(None);
        }
        let kind = NetType(u16::try_from(kind).ok()?);
        let numbers = self.expression(nets)?;
        let numbers = (nets > 0).then_some(numbers);
        let mut expressions = Vec::new();
        // No address has more parts than an IPv4 address.
        for _ in 0..Some(addresses).filter(|count| *count <= 4)? {
            let ranges = self.number()?;
            expressions.push(self.expression(ranges)?);
        }
        let addresses = match <[Expression; 4]>::try_from(expressions) {
            Ok(octets) => Some(AddressRange::Ip(IpRange::from_octets(octets))),
            Err(fewer) => match fewer.into_iter().next() {
                None => None,
                Some(_) if addresses > 1 => return None,
                Some(number) => Some(AddressRange::Number(number)),
            },
        };
        Some(Some(Selector::new(kind, numbers, addresses)))
    }

    fn expression(&mut self, ranges: u32) -> Option<Expression> {
        if ranges as usize > self.0.len() / RANGE {
            return None;
        }
        let range = |_| {
            let (lo, hi) = (self.number()?, self.number()?);
            Some(Range { lo, hi, stride: NonZeroU32::new(self.number()?)? })
        };
        Some(Expression::from_ranges((0..ranges).map(range).collect::<Option<_>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(src: &str, dst: &str, rte: &str) -> Criteria {
        [src, dst, rte].map(|text| (!text.is_empty()).then(|| text.parse().unwrap()))
    }

    #[test]
    fn marshalled_rules_round_trip() {
        for (src, dst, rte, len) in [
            ("tcp", "", "", 48),
            ("tcp1", "", "", 60),
            ("10.1.[1-4].5@tcp2", "", "", 92 + 32),
            ("10.99.0.1@tcp", "10.99.*.*@tcp[1,3-9/2]", "", 80 + 80 + 24 + 16),
            ("", "7@gni", "10.0.0.1@tcp", 16 + 32 + 80),
        ] {
            let rule = rule(src, dst, rte);
            let bytes = marshal(&rule);
            assert_eq!(bytes.len(), len, "{src} {dst} {rte}");
            assert_eq!(unmarshal(&bytes), Some(rule));
        }
    }

    #[test]
    fn truncated_descriptors_are_rejected_and_corrupted_ones_do_not_panic() {
        let bytes = marshal(&rule("10.1.[1-4].5@tcp2", "tcp1", "10.0.0.1@tcp"));
        for len in 0..bytes.len() {
            assert_eq!(unmarshal(&bytes[..len]), None, "{len}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xff;
            let _ = unmarshal(&damaged);
        }
    }
}
