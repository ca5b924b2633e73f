//! The descriptors of a selection rule as bytes, in the order of the machine (core-behaviour 8.5).

use lnet_wire::expression::Range;
use lnet_wire::nid_range::AddressRange;
use lnet_wire::{Expression, IpRange, NetType, Selector};
use std::num::NonZeroU32;

/// The criteria of a rule: src, dst and rte.
pub(crate) type Criteria = [Option<Selector>; 3];

/// The size of the fixed part of a descriptor, which its ranges follow.
const DESCRIPTOR: usize = 16;
const RANGE: usize = 12;
const TAGS: [&[u8; 4]; 3] = [b"SRC\0", b"DST\0", b"RTE\0"];

/// The bytes of the descriptors; `None` for IPv6 addresses, for which they have no form.
pub(crate) fn marshal(criteria: &Criteria) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for (tag, selector) in TAGS.iter().zip(criteria) {
        bytes.extend_from_slice(*tag);
        let Some(selector) = selector else {
            bytes.extend_from_slice(&[0; DESCRIPTOR - 4]);
            continue;
        };
        let addresses = match selector.addresses() {
            None => Vec::new(),
            Some(AddressRange::Ip(range)) => range.octets()?.to_vec(),
            Some(AddressRange::Number(expression)) => vec![expression.clone()],
        };
        let nets = selector.numbers().map_or(&[][..], Expression::ranges);
        for number in [addresses.len() as u32, selector.kind().0.into(), nets.len() as u32] {
            bytes.extend_from_slice(&number.to_ne_bytes());
        }
        push_ranges(&mut bytes, nets);
        for expression in &addresses {
            bytes.extend_from_slice(&(expression.ranges().len() as u32).to_ne_bytes());
            push_ranges(&mut bytes, expression.ranges());
        }
    }
    Some(bytes)
}

fn push_ranges(bytes: &mut Vec<u8>, ranges: &[Range]) {
    for range in ranges {
        for number in [range.lo, range.hi, range.stride.get()] {
            bytes.extend_from_slice(&number.to_ne_bytes());
        }
    }
}

/// The criteria in three descriptors; `None` for other bytes, and for criteria that have no text and so could not be shown.
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

    /// Reads a selector. `None`: not a descriptor; `Some(None)`: an absent one.
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
        Selector::from_parts(kind, numbers, addresses).map(Some)
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
            let bytes = marshal(&rule).unwrap();
            assert_eq!(bytes.len(), len, "{src} {dst} {rte}");
            assert_eq!(unmarshal(&bytes), Some(rule));
        }
    }

    #[test]
    fn truncated_descriptors_are_rejected_and_corrupted_ones_do_not_panic() {
        let bytes = marshal(&rule("10.1.[1-4].5@tcp2", "tcp1", "10.0.0.1@tcp")).unwrap();
        for len in 0..bytes.len() {
            assert_eq!(unmarshal(&bytes[..len]), None, "{len}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xff;
            let _ = unmarshal(&damaged);
        }
    }

    /// The descriptors of a rule with a source alone.
    fn source(addresses: &[&[[u32; 3]]], kind: u32, nets: &[[u32; 3]]) -> Vec<u8> {
        let mut bytes = TAGS[0].to_vec();
        let mut push = |number: u32| bytes.extend_from_slice(&number.to_ne_bytes());
        [addresses.len() as u32, kind, nets.len() as u32].into_iter().for_each(&mut push);
        nets.iter().flatten().for_each(|number| push(*number));
        for ranges in addresses {
            push(ranges.len() as u32);
            ranges.iter().flatten().for_each(|number| push(*number));
        }
        for tag in &TAGS[1..] {
            bytes.extend_from_slice(*tag);
            bytes.extend_from_slice(&[0; DESCRIPTOR - 4]);
        }
        bytes
    }

    #[test]
    fn descriptors_that_no_text_comes_to_are_rejected() {
        let (one, all): (&[[u32; 3]], &[[u32; 3]]) = (&[[1, 1, 1]], &[[0, 255, 1]]);
        let (tcp, gni) = (2, "gni".parse::<Selector>().unwrap().kind().0.into());
        /// The offsets of the lowest and the highest number and the step.
        type Range = [u32; 3];
        type Row<'a> = (&'a [&'a [Range]], u32, &'a [Range], Option<&'a str>);
        let table: [Row<'_>; 10] = [
            (&[one, all, all, one], tcp, &[[3, 3, 1]], Some("1.[0-255].[0-255].1@tcp3")),
            (&[one], gni, &[], Some("1@gni")),
            (&[], tcp, &[[0, 0, 1]], Some("tcp")),
            (&[one], tcp, &[], None),
            (&[one, all, all, one], gni, &[], None),
            (&[one, all, all, &[]], tcp, &[], None),
            (&[one, all, all, &[[3, 256, 1]]], tcp, &[], None),
            (&[one, all, all, &[[3, 2, 1]]], tcp, &[], None),
            (&[], tcp, &[[0, 65_536, 1]], None),
            (&[], 4711, &[], None),
        ];
        for (addresses, kind, nets, expected) in table {
            let read = unmarshal(&source(addresses, kind, nets));
            let text = read.as_ref().and_then(|[src, ..]| Some(src.as_ref()?.to_string()));
            assert_eq!(
                (read.is_some(), text.as_deref()),
                (expected.is_some(), expected),
                "{addresses:?} {kind}"
            );
        }
        assert_eq!(marshal(&rule("fd99::1@tcp", "", "")), None);
    }
}
