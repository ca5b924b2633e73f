//! NID lists: `10.0.0.[1-5]@tcp *@o2ib1 2001:db8::/64@tcp` (c-abi 1.9 and 2.8).

use crate::expression::{Expression, TooMany};
use crate::ip_range::{AddressPart, IpRange};
use crate::lnd_table::AddressKind;
use crate::nid::{Address, NetId, Nid};
use crate::nid_text::net_with_number;
use crate::text::{Problem, TextError, any_base, leading_blanks};
use std::fmt;
use std::str::FromStr;

/// A set of NIDs, net by net, in the order in which the nets were first named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NidList {
    nets: Vec<NidRange>,
}

/// The NIDs of a list that are on one net.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NidRange {
    /// The net.
    pub net: NetId,
    /// The addresses on the net.
    pub addresses: Addresses,
}

/// A set of addresses on one net.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// `*`: every address.
    All,
    /// Addresses in any of these ranges.
    These(Vec<AddressRange>),
}

/// Addresses in the form of one entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressRange {
    /// IP addresses of one family.
    Ip(IpRange),
    /// Plain numbers, on networks with numeric addresses, and on `lo`.
    Number(Expression),
}

impl NidList {
    /// The nets, each once.
    pub fn nets(&self) -> &[NidRange] {
        &self.nets
    }

    /// Whether `nid` is in the list.
    pub fn matches(&self, nid: Nid) -> bool {
        self.nets.iter().any(|range| range.matches(nid))
    }

    /// Whether any NID on `net` may be in the list.
    pub fn names_net(&self, net: NetId) -> bool {
        self.nets.iter().any(|range| range.net == net)
    }

    /// Returns every NID of the list: nets in order, each entry's addresses ascending, entries in order. A NID in
    /// two entries comes twice. Allocates nothing when there are more than `max`.
    pub fn nids(&self, max: usize) -> Result<Vec<Nid>, TooMany> {
        let count = self.nets.iter().map(NidRange::count).fold(0, u64::saturating_add);
        if count > max as u64 {
            return Err(TooMany { count, max });
        }
        let mut nids = Vec::with_capacity(count as usize);
        for NidRange { net, addresses } in &self.nets {
            if let Addresses::These(entries) = addresses {
                entries.iter().for_each(|entry| entry.push_nids(*net, &mut nids));
            }
        }
        Ok(nids)
    }

    fn add(&mut self, net: NetId, entry: Option<AddressRange>) {
        let at = self.nets.iter().position(|range| range.net == net).unwrap_or_else(|| {
            self.nets.push(NidRange { net, addresses: Addresses::These(Vec::new()) });
            self.nets.len() - 1
        });
        match (&mut self.nets[at].addresses, entry) {
            (addresses, None) => *addresses = Addresses::All,
            (Addresses::These(entries), Some(entry)) => entries.push(entry),
            (Addresses::All, Some(_)) => {}
        }
    }
}

impl NidRange {
    /// Whether `nid` is on the net and among the addresses.
    pub fn matches(&self, nid: Nid) -> bool {
        self.net == nid.net()
            && match &self.addresses {
                Addresses::All => true,
                Addresses::These(entries) => entries.iter().any(|entry| entry.matches(nid.address())),
            }
    }

    fn count(&self) -> u64 {
        match &self.addresses {
            Addresses::All => u64::MAX,
            Addresses::These(entries) => entries.iter().map(AddressRange::count).fold(0, u64::saturating_add),
        }
    }
}

impl AddressRange {
    /// Reads the addresses of a net of this kind.
    pub(crate) fn parse(text: &str, kind: Option<AddressKind>) -> Result<Self, TextError> {
        match kind {
            Some(AddressKind::Ipv4) if text.contains(':') => Err(TextError::new(Problem::NotIpv4, 0)),
            Some(AddressKind::Ip | AddressKind::Ipv4) => text.parse().map(Self::Ip),
            _ => Expression::parse(text, 0..=u32::MAX).map(Self::Number),
        }
    }

    /// Whether `address` is one of these.
    pub fn matches(&self, address: Address) -> bool {
        match (self, address) {
            (Self::Ip(range), address) => range.matches(address.ip()),
            (Self::Number(expression), Address::Short(address)) => expression.matches(address),
            (Self::Number(_), Address::Long(_)) => false,
        }
    }

    /// Whether these are all addresses of their family, or all numbers.
    pub fn is_whole_family(&self) -> bool {
        match self {
            Self::Ip(range) => range.is_whole_family(),
            Self::Number(numbers) => numbers.ranges().iter().any(|range| range.count() == 1 << 32),
        }
    }

    /// Whether `other` is known to be among these: it is the same, or these are all of its family.
    pub fn covers(&self, other: &Self) -> bool {
        let is_same_family = match (self, other) {
            (Self::Ip(one), Self::Ip(other)) => one.is_v6() == other.is_v6(),
            (Self::Number(_), Self::Number(_)) => true,
            _ => false,
        };
        self == other || is_same_family && self.is_whole_family()
    }

    /// Whether every expression in it has numbers, and no range of them is empty.
    pub fn has_no_empty_range(&self) -> bool {
        match self {
            Self::Ip(range) => range.has_no_empty_range(),
            Self::Number(expression) => expression.has_no_empty_range(),
        }
    }

    /// The IP address of a set that has no other.
    pub(crate) fn only(&self) -> Option<Address> {
        let Self::Ip(range) = self else { return None };
        let parts = range.parts();
        let mut only = None;
        if parts.iter().all(|part| part.count() == 1) {
            push_addresses(&parts, 0, &mut |bits| only = Some(range.address(bits)));
        }
        only
    }

    fn count(&self) -> u64 {
        match self {
            Self::Ip(range) => range.parts().iter().map(AddressPart::count).fold(1, u64::saturating_mul),
            Self::Number(expression) => expression.count(),
        }
    }

    fn push_nids(&self, net: NetId, nids: &mut Vec<Nid>) {
        match self {
            Self::Ip(range) => {
                let parts = range.parts();
                if parts.iter().all(|part| part.count() > 0) {
                    push_addresses(&parts, 0, &mut |bits| nids.push(range.address(bits).on(net)));
                }
            }
            Self::Number(expression) => {
                let mut values: Vec<u32> = expression.ranges().iter().flat_map(|r| r.values()).collect();
                values.sort_unstable();
                nids.extend(values.into_iter().map(|address| Nid::new(net, address)));
            }
        }
    }
}

/// Calls `push` with all addresses that begin with the bits `head` and go on with `parts`, ascending.
fn push_addresses(parts: &[AddressPart], head: u128, push: &mut dyn FnMut(u128)) {
    let Some((part, rest)) = parts.split_first() else { return push(head) };
    for number in part.runs.iter().flat_map(|(lo, hi)| *lo..=*hi) {
        // A mask is one part of all bits, with nothing before it.
        push_addresses(rest, head.checked_shl(part.bits.into()).unwrap_or(0) | number, push);
    }
}

/// Reads one or more `ADDRESSES@NET` with blanks between and none at the end. ADDRESSES is `*`, an [`IpRange`], or, on
/// numeric networks, one expression.
impl FromStr for NidList {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let mut list = Self::default();
        let mut at = 0;
        loop {
            at += leading_blanks(&text[at..]);
            let rest = &text[at..];
            if rest.is_empty() {
                let problem = if list.nets.is_empty() { Problem::Empty } else { Problem::TrailingBlank };
                return Err(TextError::new(problem, at));
            }
            let entry = rest.split(' ').next().unwrap_or(rest);
            let (net, addresses) = parse_entry(entry).map_err(|e| e.within(at))?;
            list.add(net, addresses);
            at += entry.len();
            if at == text.len() {
                return Ok(list);
            }
        }
    }
}

/// Reads one entry: the net, and the addresses unless they are all.
fn parse_entry(text: &str) -> Result<(NetId, Option<AddressRange>), TextError> {
    let (addresses, net) =
        text.split_once('@').ok_or_else(|| TextError::new(Problem::NoNetwork, text.len()))?;
    let net = net_with_number(net, |digits, max| any_base(digits, 0, max))
        .map_err(|e| e.within(addresses.len() + 1))?;
    if addresses == "*" {
        return Ok((net, None));
    }
    let kind = net.kind().lnd().map(|lnd| lnd.addresses);
    Ok((net, Some(AddressRange::parse(addresses, kind)?)))
}

/// Writes the list grouped by net; `*` for an octet is written as `[0-255]`.
impl fmt::Display for NidList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, range) in self.nets.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { " " })?;
            range.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for NidRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.addresses {
            Addresses::All => write!(f, "*@{}", self.net),
            Addresses::These(entries) => {
                for (i, entry) in entries.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { " " })?;
                    write!(f, "{entry}@{}", self.net)?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(range) => range.fmt(f),
            Self::Number(expression) => expression.fmt(f),
        }
    }
}

#[cfg(test)]
#[path = "nid_range_tests.rs"]
mod tests;
