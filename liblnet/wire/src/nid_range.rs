//! NID lists: `10.0.0.[1-5]@tcp *@o2ib1` (c-abi 1.9 and 2.8).

use crate::expression::{Expression, TooMany};
use crate::ip_range::IpRange;
use crate::lnd_table::AddressKind;
use crate::nid::{Address, NetId, Nid};
use crate::nid_text::{net_with_number, parse_ipv6};
use crate::text::{Problem, TextError, any_base, leading_blanks};
use std::fmt;
use std::net::Ipv6Addr;
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
    /// IPv4 addresses.
    Ip(IpRange),
    /// Plain numbers, on networks with numeric addresses, and on `lo`.
    Number(Expression),
    /// A single IPv6 address, in network order.
    Long([u8; 16]),
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
    /// Whether `address` is one of these.
    pub fn matches(&self, address: Address) -> bool {
        match (self, address) {
            (Self::Ip(range), Address::Short(address)) => range.matches(address),
            (Self::Number(expression), Address::Short(address)) => expression.matches(address),
            (Self::Long(one), Address::Long(address)) => *one == address,
            _ => false,
        }
    }

    fn count(&self) -> u64 {
        match self {
            Self::Ip(range) => range.octets().iter().map(|e| octet_values(e).len() as u64).product(),
            Self::Number(expression) => expression.count(),
            Self::Long(_) => 1,
        }
    }

    fn push_nids(&self, net: NetId, nids: &mut Vec<Nid>) {
        match self {
            Self::Ip(range) => {
                let [a, b, c, d] = range.octets().each_ref().map(octet_values);
                for address in a.iter().flat_map(|a| {
                    let (b, c, d) = (&b, &c, &d);
                    b.iter().flat_map(move |b| {
                        c.iter()
                            .flat_map(move |c| d.iter().map(move |d| u32::from_be_bytes([*a, *b, *c, *d])))
                    })
                }) {
                    nids.push(Nid::new(net, address));
                }
            }
            Self::Number(expression) => {
                let mut values: Vec<u32> = expression.ranges().iter().flat_map(|r| r.values()).collect();
                values.sort_unstable();
                nids.extend(values.into_iter().map(|address| Nid::new(net, address)));
            }
            Self::Long(address) => nids.push(Nid::new_long(net, *address)),
        }
    }
}

/// Returns the octets that match, ascending, each once.
fn octet_values(expression: &Expression) -> Vec<u8> {
    (0..=u8::MAX).filter(|octet| expression.matches((*octet).into())).collect()
}

/// Reads one or more `ADDRESSES@NET` with blanks between and none at the end. ADDRESSES is `*`, four dotted
/// expressions, one IPv6 address, or, on numeric networks, one expression.
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
    let addresses = match net.kind().lnd().map(|lnd| lnd.addresses) {
        Some(AddressKind::Ip) if addresses.contains(':') => AddressRange::Long(parse_ipv6(addresses)?),
        Some(AddressKind::Ip | AddressKind::Ipv4) => AddressRange::Ip(addresses.parse()?),
        _ => AddressRange::Number(Expression::parse(addresses, 0..=u32::MAX)?),
    };
    Ok((net, Some(addresses)))
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
            Self::Long(address) => Ipv6Addr::from(*address).fmt(f),
        }
    }
}

#[cfg(test)]
#[path = "nid_range_tests.rs"]
mod tests;
