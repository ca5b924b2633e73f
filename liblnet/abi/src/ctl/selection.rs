//! The selection rules of the first design in `LNetCtl`: `struct lnet_ioctl_selection_rule`, which its flattened
//! expressions follow.
//!
//! Offsets are written where they are used, in the order of `lib-dlc.h`.

use super::argument::Bytes;
use lnet_core::Errno;
use lnet_dlc::ops::policy::{RuleAction, RuleEffect};
use lnet_dlc::ops::selection::{self, Selection};
use lnet_dlc::request::{Udsp, UdspAction};
use lnet_dlc::{Backend, Report, ReturnCode, SeqNo};
use lnet_wire::expression::Range;
use lnet_wire::nid_range::AddressRange;
use lnet_wire::{Expression, Selector};
use std::num::NonZeroU32;

/// The size of `struct lnet_ioctl_selection_rule`: the flattened expressions begin after it.
pub(super) const RULE: usize = 344;
/// The size of a name, `LNET_MAX_STR`.
const NAME: usize = 128;
/// The size of `struct lnet_match_expr`.
const RANGE: usize = 12;
/// The offsets of `lisr_idx`, `lisr_id`, `lisr_selection_type`.
const INDEX: usize = 8;
const ID: usize = 12;
const TYPE: usize = 16;
/// The offset of the first name of a net in each of the three structures of `lisr_u`, and of the second of a pair.
const FIRST_NET: usize = 20;
const SECOND_NET: usize = 148;
const OCTETS: usize = 4;
const DESCRIPTOR: usize = 8;

/// The subject of a command: `enum lnet_selection_rule_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubjectKind {
    Net,
    Nid,
    Pair,
}

impl SubjectKind {
    const fn number(self) -> u32 {
        match self {
            Self::Net => 0,
            Self::Nid => 1,
            Self::Pair => 2,
        }
    }

    /// The offset of the priority.
    const fn priority(self) -> usize {
        match self {
            Self::Net | Self::Nid => 148,
            Self::Pair => 276,
        }
    }

    /// The offset of the descriptors.
    const fn descriptors(self) -> usize {
        self.priority() + 4
    }

    /// The criteria in a structure, as texts; none if it names no net.
    fn criteria(self, data: &Bytes<'_>) -> Result<[Option<String>; 2], Errno> {
        let second = self.descriptors() + OCTETS * DESCRIPTOR;
        Ok(match self {
            Self::Net => [net(data, FIRST_NET, self.descriptors())?, None],
            Self::Nid => [nids(data, FIRST_NET, self.descriptors())?, None],
            Self::Pair => [nids(data, FIRST_NET, self.descriptors())?, nids(data, SECOND_NET, second)?],
        })
    }

    const fn selection<'a>(self, first: Option<&'a str>, second: Option<&'a str>) -> Selection<'a> {
        match self {
            Self::Net => Selection::Net(first),
            Self::Nid => Selection::Nid(first),
            Self::Pair => Selection::Peer(first, second),
        }
    }
}

/// Adds the rule; for NIDs two rules are added, one for those of this node and one for those of peers.
pub(super) fn add(node: &dyn Backend, kind: SubjectKind, data: &Bytes<'_>) -> Result<(), Errno> {
    let [first, second] = checked(kind, data)?;
    let effect = RuleEffect::of(RuleAction::Priority(data.u32(kind.priority())));
    let about = kind.selection(first.as_deref(), second.as_deref());
    result(selection::add(node, about, effect, SeqNo::NONE, &mut Report::new()))
}

/// Deletes the rule with the id, which must be of this kind and have the given criteria, if there are any; without an id (-1)
/// the rules with these criteria.
pub(super) fn delete(node: &dyn Backend, kind: SubjectKind, data: &Bytes<'_>) -> Result<(), Errno> {
    let [first, second] = checked(kind, data)?;
    let about = kind.selection(first.as_deref(), second.as_deref());
    let id = u32::try_from(data.i32(ID)).ok();
    result(selection::del(node, about, id, SeqNo::NONE, &mut Report::new()))
}

/// Stores the rule of this kind with this index among those of the kind. [`Errno::NotFound`] behind the last one,
/// [`Errno::NoSpace`] if its expressions do not fit.
pub(super) fn show(node: &dyn Backend, kind: SubjectKind, data: &mut Bytes<'_>) -> Result<(), Errno> {
    let rule = selection::nth(node, kind.selection(None, None), data.u32(INDEX) as usize)?;
    let priority = match rule.action {
        UdspAction::Priority(priority) => priority,
        UdspAction::PreferredList => u32::MAX,
    };
    data.0[ID..].fill(0);
    data.put_u32(ID, rule.index);
    data.put_u32(TYPE, kind.number());
    data.put_u32(kind.priority(), priority);
    let mut writer = Writer { data, used: RULE };
    let first = kind.descriptors();
    match (kind, &*rule) {
        (SubjectKind::Net, Udsp { src: Some(net), .. }) => writer.net(FIRST_NET, first, net),
        (SubjectKind::Nid, Udsp { src: Some(nids), .. } | Udsp { dst: Some(nids), .. }) => {
            writer.nids(FIRST_NET, first, nids)
        }
        (SubjectKind::Pair, Udsp { src: Some(local), dst: Some(remote), .. }) => {
            writer.nids(FIRST_NET, first, local)?;
            writer.nids(SECOND_NET, first + OCTETS * DESCRIPTOR, remote)
        }
        _ => Err(Errno::Invalid),
    }
}

/// The criteria of a structure that says that it is of this kind.
fn checked(kind: SubjectKind, data: &Bytes<'_>) -> Result<[Option<String>; 2], Errno> {
    if data.u32(TYPE) != kind.number() {
        return Err(Errno::Invalid);
    }
    kind.criteria(data)
}

/// Reads a net: its name, and the expression for its number, if there is one.
fn net(data: &Bytes<'_>, name: usize, descriptor: usize) -> Result<Option<String>, Errno> {
    let Some(name) = data.text(name, NAME) else { return Ok(None) };
    let number = expression(data, descriptor)?.map(|number| number.to_string());
    Ok(Some(format!("{name}{}", number.unwrap_or_default())))
}

/// Reads NIDs: four expressions with dots between, or one if the other three are missing, and the name of their net.
fn nids(data: &Bytes<'_>, name: usize, descriptors: usize) -> Result<Option<String>, Errno> {
    let Some(net) = data.text(name, NAME) else { return Ok(None) };
    let mut parts = Vec::new();
    for part in 0..OCTETS {
        parts.push(expression(data, descriptors + part * DESCRIPTOR)?);
    }
    let text =
        |part: &Option<Expression>| part.as_ref().map_or_else(|| "*".to_owned(), Expression::to_string);
    let dotted = format!("{}@{net}", parts.iter().map(text).collect::<Vec<_>>().join("."));
    if dotted.parse::<Selector>().is_ok() || parts.iter().skip(1).any(Option::is_some) {
        return Ok(Some(dotted));
    }
    Ok(Some(format!("{}@{net}", text(&parts[0]))))
}

/// Reads the expression that a descriptor refers to; `None` for one without bytes, which stands for any number.
fn expression(data: &Bytes<'_>, descriptor: usize) -> Result<Option<Expression>, Errno> {
    let (size, offset) = (data.u32(descriptor) as usize, data.u32(descriptor + 4) as usize);
    if size == 0 {
        return Ok(None);
    }
    let start = RULE.checked_add(offset).ok_or(Errno::Invalid)?;
    let end = start.checked_add(size).filter(|_| size.is_multiple_of(RANGE)).ok_or(Errno::Invalid)?;
    if end > data.len() {
        return Err(Errno::Invalid);
    }
    let range = |at: usize| {
        let (lo, hi) = (data.u32(at), data.u32(at + 4));
        let stride = NonZeroU32::new(data.u32(at + 8)).filter(|_| lo <= hi).ok_or(Errno::Invalid)?;
        Ok(Range { lo, hi, stride })
    };
    let ranges: Result<Vec<Range>, Errno> = (start..end).step_by(RANGE).map(range).collect();
    Ok(Some(Expression::from_ranges(ranges?)))
}

fn result(code: ReturnCode) -> Result<(), Errno> {
    match code {
        ReturnCode::OK => Ok(()),
        // The library's own codes are -1 to -10; the number of ENOENT, which a node returns, is one of them.
        ReturnCode(-2) => Err(Errno::NotFound),
        ReturnCode(-10..=-1) => Err(Errno::Invalid),
        // Errors of a node for rules are positive numbers (dlc 1.2).
        ReturnCode(other) => Err(Errno::from_c(-other.saturating_abs())),
    }
}

/// Stores criteria, with the flattened expressions after the structure.
struct Writer<'a, 'b> {
    data: &'a mut Bytes<'b>,
    /// The number of bytes of `data` in use.
    used: usize,
}

impl Writer<'_, '_> {
    fn net(&mut self, name: usize, descriptor: usize, net: &Selector) -> Result<(), Errno> {
        self.data.put_text(name, NAME, &net.kind().to_string());
        match net.numbers() {
            Some(numbers) => self.expression(descriptor, numbers),
            None => Ok(()),
        }
    }

    /// Stores NIDs. The numbers of the net, if there are several, are part of its name.
    fn nids(&mut self, name: usize, descriptors: usize, nids: &Selector) -> Result<(), Errno> {
        let net = Selector::from_parts(nids.kind(), nids.numbers().cloned(), None).ok_or(Errno::Invalid)?;
        self.data.put_text(name, NAME, &net.to_string());
        let parts = match nids.addresses() {
            Some(AddressRange::Ip(range)) => range.octets().ok_or(Errno::Invalid)?.to_vec(),
            Some(AddressRange::Number(number)) => vec![number.clone()],
            None => return Err(Errno::Invalid),
        };
        parts.iter().enumerate().try_for_each(|(i, part)| self.expression(descriptors + i * DESCRIPTOR, part))
    }

    fn expression(&mut self, descriptor: usize, expression: &Expression) -> Result<(), Errno> {
        let size = expression.ranges().len() * RANGE;
        if self.used + size > self.data.len() {
            return Err(Errno::NoSpace);
        }
        self.data.put_u32(descriptor, size as u32);
        self.data.put_u32(descriptor + 4, (self.used - RULE) as u32);
        for range in expression.ranges() {
            for number in [range.lo, range.hi, range.stride.get()] {
                self.data.put_u32(self.used, number);
                self.used += 4;
            }
        }
        Ok(())
    }
}
