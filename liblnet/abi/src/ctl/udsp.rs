//! Selection rules as `LNetCtl` has them: `struct lnet_ioctl_udsp` and, behind its pointer, the marshalled
//! descriptors (core-behaviour 8.5).

use super::argument::{Bytes, load, store};
use crate::ni::nid_to_c;
use lnet_core::Errno;
use lnet_dlc::request::{AddUdsp, AppliedUdsp, Udsp, UdspAction};
use lnet_dlc::{Backend, Request};
use lnet_wire::expression::Range;
use lnet_wire::nid_range::AddressRange;
use lnet_wire::{Expression, IpRange, NetType, Nid, Selector};
use std::num::NonZeroU32;

/// `struct lnet_ioctl_udsp`
pub(super) const UDSP: usize = 32;
/// `struct lnet_ioctl_construct_udsp_info`
pub(super) const APPLIED_UDSP: usize = 2080;
/// What one descriptor has before its ranges.
const DESCRIPTOR: usize = 16;
const RANGE: usize = 12;
/// Three descriptors of four expressions with a few ranges each need far less.
const LONGEST: usize = 64 * 1024;
const MAX_SHOWN: usize = 128;
const TAGS: [&[u8; 4]; 3] = [b"SRC\0", b"DST\0", b"RTE\0"];

/// `iou_action_type`
const PRIORITY: u32 = 1;
const PREFERRED_LIST: u32 = 2;

pub(super) fn add(node: &dyn Backend, data: &Bytes<'_>) -> Result<(), Errno> {
    let action = match data.u32(12) {
        PRIORITY => UdspAction::Priority(data.u32(20)),
        PREFERRED_LIST => UdspAction::PreferredList,
        _ => return Err(Errno::Invalid),
    };
    let len = data.u32(16) as usize;
    if len > LONGEST {
        return Err(Errno::Invalid);
    }
    let [src, dst, rte] = unmarshal(&load(data.u64(24), len)?).ok_or(Errno::Invalid)?;
    let index = u32::try_from(data.i32(8)).ok();
    node.tell(Request::AddUdsp(AddUdsp { src, dst, rte, action, messages: None, index }))
}

pub(super) fn delete(node: &dyn Backend, data: &Bytes<'_>) -> Result<(), Errno> {
    node.tell(Request::DelUdsp(u32::try_from(data.i32(8)).ok()))
}

/// Stores how many bytes [`get`] needs.
pub(super) fn size(node: &dyn Backend, data: &mut Bytes<'_>) -> Result<(), Errno> {
    let marshalled = marshal(&*rule(node, data)?);
    data.put_u32(16, marshalled.len() as u32);
    Ok(())
}

pub(super) fn get(node: &dyn Backend, data: &mut Bytes<'_>) -> Result<(), Errno> {
    let rule = rule(node, data)?;
    let marshalled = marshal(&rule);
    if data.u32(16) as usize != marshalled.len() {
        return Err(Errno::NoSpace);
    }
    let (action, priority) = match rule.action {
        UdspAction::Priority(priority) => (PRIORITY, priority),
        UdspAction::PreferredList => (PREFERRED_LIST, 0),
    };
    data.put_u32(12, action);
    data.put_u32(20, priority);
    store(data.u64(24), &marshalled)
}

/// What the rules made of `cud_nid`, an interface of this node or of another.
pub(super) fn applied(node: &dyn Backend, data: &mut Bytes<'_>) -> Result<(), Errno> {
    let nid = Nid::from_u64(data.u64(16)).ok_or(Errno::Invalid)?;
    let ask = |own| node.ask::<AppliedUdsp>(Request::GetAppliedUdsp(nid, own));
    let applied = ask(true).or_else(|_| ask(false))?;
    data.put_u32(24, applied.nid_priority());
    data.put_u32(28, applied.net_priority());
    for (offset, nids) in [(32, &applied.preferred_nids), (1056, &applied.preferred_routers)] {
        for i in 0..MAX_SHOWN {
            let nid = nids.get(i).map_or(0, |partner| nid_to_c(Some(partner.nid)));
            data.put_u64(offset + 8 * i, nid);
        }
    }
    Ok(())
}

fn rule(node: &dyn Backend, data: &Bytes<'_>) -> Result<Box<Udsp>, Errno> {
    node.ask(Request::GetUdsp(u32::try_from(data.i32(8)).map_err(|_| Errno::NotFound)?))
}

fn marshal(rule: &Udsp) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (tag, selector) in TAGS.iter().zip([&rule.src, &rule.dst, &rule.rte]) {
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
fn unmarshal(bytes: &[u8]) -> Option<[Option<Selector>; 3]> {
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

    fn rule(src: &str, dst: &str, rte: &str) -> Udsp {
        let selector = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
        Udsp {
            index: 0,
            src: selector(src),
            dst: selector(dst),
            rte: selector(rte),
            action: UdspAction::PreferredList,
            messages: None,
        }
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
            assert_eq!(unmarshal(&bytes), Some([rule.src, rule.dst, rule.rte]));
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
