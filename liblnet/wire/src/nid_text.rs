//! Conversion of NIDs, nets, kinds of network and process identifiers to text and from it (c-abi 2.8).
//!
//! Writing allocates nothing: every type here writes itself through [`fmt::Display`]. The wildcards of the
//! C API are not values of [`Nid`] and [`NetId`]; [`AnyNid`], [`RawNid`] and [`RawNet`] write them.

use crate::lnd_table::{AddressKind, Lnd};
use crate::nid::{Address, NetId, NetType, Nid, Pid, ProcessId};
use crate::text::{Problem, TextError, decimal, decimal_or_hex, leading_blanks};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// One NID or any: `*` when read, `<?>` when written, as in `libcfs_str2anynid` and `libcfs_nid2str`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AnyNid(pub Option<Nid>);

/// Writes an `lnet_nid_t` as `libcfs_nid2str` does, for any bits; all ones is `<?>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawNid(pub u64);

/// Writes a net's 32-bit value as `libcfs_net2str` does, for any bits; all ones is
/// `<65535:65535>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawNet(pub u32);

/// Writes `tcp`; `?99?` where the number has no name.
impl fmt::Display for NetType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lnd() {
            Some(lnd) => f.write_str(lnd.name),
            None => write!(f, "?{}?", self.0),
        }
    }
}

/// Writes `tcp`, `tcp1`; `<77:3>` where the kind has no name.
impl fmt::Display for NetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        RawNet(self.to_u32()).fmt(f)
    }
}

/// Writes `10.0.0.1@tcp`, `fd99::11@tcp`, `16@gni2`, `a000001@<77:3>`.
impl fmt::Display for Nid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address() {
            Address::Short(address) => write_short(f, self.net().to_u32(), address),
            Address::Long(address) => write!(f, "{}@{}", Ipv6Addr::from(address), self.net()),
        }
    }
}

impl fmt::Display for AnyNid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(nid) => nid.fmt(f),
            None => f.write_str("<?>"),
        }
    }
}

impl fmt::Display for RawNid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            u64::MAX => f.write_str("<?>"),
            value => write_short(f, (value >> 32) as u32, value as u32),
        }
    }
}

impl fmt::Display for RawNet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, number) = (NetType((self.0 >> 16) as u16), self.0 as u16);
        match (kind.lnd(), number) {
            (Some(lnd), 0) => f.write_str(lnd.name),
            (Some(lnd), _) => write!(f, "{}{number}", lnd.name),
            (None, _) => write!(f, "<{}:{number}>", kind.0),
        }
    }
}

/// Writes `12345`; `U12345` for a PID that the accepting node made up; `LNET_PID_ANY` for all ones.
impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            u32::MAX => f.write_str(PID_ANY),
            pid if self.is_user() => write!(f, "U{}", pid & !Self::USER_FLAG),
            pid => write!(f, "{pid}"),
        }
    }
}

/// Writes `12345-10.0.0.1@tcp`.
impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.pid, self.nid)
    }
}

/// Reads the exact name: `tcp`.
impl FromStr for NetType {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        Lnd::named(text).map(|lnd| lnd.net_type).ok_or(TextError::new(Problem::UnknownNetwork, 0))
    }
}

/// Reads a name and a decimal number up to 65535, which is 0 where it is missing.
impl FromStr for NetId {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        net_with_number(text, decimal)
    }
}

/// Reads `ADDRESS@NET`; TCP where `@NET` is missing. Only blanks before the address are ignored.
/// Host names are not resolved.
impl FromStr for Nid {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let (address, net) = match text.split_once('@') {
            Some((address, net)) => (address, net.parse::<NetId>().map_err(|e| e.within(address.len() + 1))?),
            None if text.is_empty() => return Err(TextError::new(Problem::Empty, 0)),
            None => (text, NetId::new(NetType::TCP, 0)),
        };
        let kind = net.kind().lnd().map_or(AddressKind::Number, |lnd| lnd.addresses);
        Ok(match parse_address(address, kind)? {
            Address::Short(address) => Self::new(net, address),
            Address::Long(address) => Self::new_long(net, address),
        })
    }
}

/// Reads a [`Nid`], or `*` for any.
impl FromStr for AnyNid {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        if text == "*" { Ok(Self(None)) } else { text.parse().map(|nid| Self(Some(nid))) }
    }
}

/// Reads the forms that [`Pid`] writes.
impl FromStr for Pid {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        if text == PID_ANY {
            return Ok(Self(u32::MAX));
        }
        match text.strip_prefix('U') {
            Some(number) => decimal(number, !Self::USER_FLAG)
                .map(|pid| Self(pid | Self::USER_FLAG))
                .map_err(|p| TextError::new(p, 1)),
            None => decimal(text, u32::MAX).map(Self).map_err(|p| TextError::new(p, 0)),
        }
    }
}

/// Reads `PID-NID`; both parts must be there.
impl FromStr for ProcessId {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let (pid, nid) = text.split_once('-').ok_or(TextError::new(Problem::NoPid, 0))?;
        let at = pid.len() + 1;
        Ok(Self { pid: pid.parse()?, nid: nid.parse().map_err(|e: TextError| e.within(at))? })
    }
}

const PID_ANY: &str = "LNET_PID_ANY";

/// Reads a name, then the net's number with `number`, whose second argument is the largest allowed.
pub(crate) fn net_with_number(
    text: &str,
    number: impl Fn(&str, u32) -> Result<u32, Problem>,
) -> Result<NetId, TextError> {
    let (lnd, digits) = Lnd::leading(text).ok_or(TextError::new(Problem::UnknownNetwork, 0))?;
    let at = lnd.name.len();
    match (lnd.addresses, digits) {
        (_, "") => Ok(NetId::new(lnd.net_type, 0)),
        (AddressKind::Loopback, _) => Err(TextError::new(Problem::LoopbackNumber, at)),
        _ => number(digits, u16::MAX.into())
            .map(|n| NetId::new(lnd.net_type, n as u16))
            .map_err(|p| TextError::new(p, at)),
    }
}

pub(crate) fn parse_ipv6(text: &str) -> Result<[u8; 16], TextError> {
    let problem = if text.contains('%') { Problem::Zone } else { Problem::NotIpv6 };
    text.parse::<Ipv6Addr>().map(|ip| ip.octets()).map_err(|_| TextError::new(problem, 0))
}

fn parse_address(text: &str, kind: AddressKind) -> Result<Address, TextError> {
    let blanks = leading_blanks(text);
    let bare = &text[blanks..];
    match kind {
        AddressKind::Loopback => Ok(Address::Short(0)),
        AddressKind::Ip if bare.contains(':') => parse_ipv6(bare).map(Address::Long),
        AddressKind::Ip | AddressKind::Ipv4 => parse_ipv4(bare).map(Address::Short),
        AddressKind::Number => {
            decimal_or_hex(bare, u32::MAX).map(Address::Short).map_err(|p| TextError::new(p, 0))
        }
    }
    .map_err(|e| e.within(blanks))
}

/// Reads four decimal numbers with dots between. Unlike the standard library, LNet takes leading zeros as decimal.
pub(crate) fn parse_ipv4(text: &str) -> Result<u32, TextError> {
    let (mut address, mut at, mut octets) = (0, 0, 0);
    for octet in text.split('.') {
        let value = decimal(octet, 255).map_err(|p| match p {
            Problem::NotANumber => TextError::new(Problem::NotIpv4, at),
            _ => TextError::new(p, at),
        })?;
        address = address << 8 | value;
        at += octet.len() + 1;
        octets += 1;
        if octets > 4 {
            break;
        }
    }
    if octets == 4 { Ok(address) } else { Err(TextError::new(Problem::NotIpv4, 0)) }
}

fn write_short(f: &mut fmt::Formatter<'_>, net: u32, address: u32) -> fmt::Result {
    match NetType((net >> 16) as u16).lnd().map(|lnd| lnd.addresses) {
        Some(AddressKind::Ipv4 | AddressKind::Ip) => write!(f, "{}", Ipv4Addr::from(address))?,
        Some(AddressKind::Loopback | AddressKind::Number) => write!(f, "{address}")?,
        None => write!(f, "{address:x}")?,
    }
    write!(f, "@{}", RawNet(net))
}

#[cfg(test)]
#[path = "nid_text_tests.rs"]
pub(crate) mod tests;
