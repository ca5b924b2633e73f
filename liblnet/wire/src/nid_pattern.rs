//! The NIDs that a fault rule matches: one NID, a mask, a net, any (ST-20).

use crate::ip_prefix::IpPrefix;
use crate::lnd_table::AddressKind;
use crate::nid::{Address, NetId, Nid};
use crate::text::{Problem, TextError};
use std::fmt;
use std::str::FromStr;

/// One NID, the NIDs of a net that begin with the same bits, all of a net, or all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NidPattern {
    /// `*`
    #[default]
    Any,
    /// All NIDs of a net, written `*@tcp`. The kernel's form has an address of all ones.
    Net(NetId),
    /// `10.0.0.0/8@tcp`, `2001:db8::/64@tcp`. C has no form for it.
    Prefix(IpPrefix, NetId),
    /// `10.0.0.1@tcp`
    Nid(Nid),
}

impl NidPattern {
    /// Whether the pattern matches this NID.
    pub fn matches(self, nid: Nid) -> bool {
        match self {
            Self::Any => true,
            Self::Net(net) => nid.net() == net,
            Self::Prefix(prefix, net) => nid.net() == net && prefix.matches(nid.address().ip()),
            Self::Nid(one) => nid == one,
        }
    }

    /// Reads C's form: all ones for any NID, an address of all ones for a net. `None` for 0, and for an invalid net or
    /// NID.
    pub const fn from_u64(value: u64) -> Option<Self> {
        match (value, value as u32) {
            (0, _) => None,
            (u64::MAX, _) => Some(Self::Any),
            (_, u32::MAX) => match NetId::from_u32((value >> 32) as u32) {
                Some(net) => Some(Self::Net(net)),
                None => None,
            },
            _ => match Nid::from_u64(value) {
                Some(nid) => Some(Self::Nid(nid)),
                None => None,
            },
        }
    }

    /// Returns the value that [`NidPattern::from_u64`] reads; `None` for a NID that is longer, and for a mask.
    pub const fn to_u64(self) -> Option<u64> {
        match self {
            Self::Any => Some(u64::MAX),
            Self::Net(net) => Some((net.to_u32() as u64) << 32 | u32::MAX as u64),
            Self::Nid(nid) => nid.to_u64(),
            Self::Prefix(..) => None,
        }
    }
}

impl From<Nid> for NidPattern {
    fn from(nid: Nid) -> Self {
        match nid.address() {
            Address::Short(u32::MAX) => Self::Net(nid.net()),
            _ => Self::Nid(nid),
        }
    }
}

/// Reads `*`, `*@NET`, `ADDRESS/BITS@NET` or a NID; a NID whose IPv4 address is all ones means its net.
impl FromStr for NidPattern {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        match text.strip_prefix('*') {
            Some("") => Ok(Self::Any),
            Some(rest) if rest.starts_with('@') => {
                rest[1..].parse().map(Self::Net).map_err(|error: TextError| error.within(2))
            }
            _ => match text.split_once('@') {
                Some((addresses, net)) if addresses.contains('/') => with_mask(addresses, net),
                _ => text.parse().map(|nid: Nid| nid.into()),
            },
        }
    }
}

fn with_mask(addresses: &str, net: &str) -> Result<NidPattern, TextError> {
    let id: NetId = net.parse().map_err(|error: TextError| error.within(addresses.len() + 1))?;
    let prefix: IpPrefix = addresses.parse()?;
    match id.kind().lnd().map(|lnd| lnd.addresses) {
        Some(AddressKind::Ip) => Ok(NidPattern::Prefix(prefix, id)),
        Some(AddressKind::Ipv4) if prefix.first().is_ipv4() => Ok(NidPattern::Prefix(prefix, id)),
        Some(AddressKind::Ipv4) => Err(TextError::new(Problem::NotIpv4, 0)),
        _ => Err(TextError::new(Problem::NotANumber, 0)),
    }
}

impl fmt::Display for NidPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Net(net) => write!(f, "*@{net}"),
            Self::Prefix(prefix, net) => write!(f, "{prefix}@{net}"),
            Self::Nid(nid) => nid.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_round_trip_and_match_their_nids() {
        // Text, text again, number, whether it matches 10.0.0.1@tcp, 10.0.0.2@tcp, 10.0.0.1@tcp1.
        let table = [
            ("*", "*", u64::MAX, [true, true, true]),
            ("*@tcp", "*@tcp", 0x0002_0000_ffff_ffff, [true, true, false]),
            ("255.255.255.255@tcp1", "*@tcp1", 0x0002_0001_ffff_ffff, [false, false, true]),
            ("10.0.0.1@tcp", "10.0.0.1@tcp", 0x0002_0000_0a00_0001, [true, false, false]),
        ];
        let nids = ["10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.0.1@tcp1"].map(|nid| nid.parse::<Nid>().unwrap());
        for (text, shown, number, expected) in table {
            let pattern: NidPattern = text.parse().unwrap();
            assert_eq!(pattern.to_string(), shown);
            assert_eq!(pattern.to_u64(), Some(number), "{text}");
            assert_eq!(NidPattern::from_u64(number), Some(pattern), "{text}");
            assert_eq!(nids.map(|nid| pattern.matches(nid)), expected, "{text}");
        }
        for wrong in [
            "",
            "**",
            "*@",
            "*@bogus",
            "10.0.0.*@tcp",
            "*@tcp*",
            "x",
            "10.0.0.0/33@tcp",
            "10.0.0.0/8",
            "1/8@gni",
            "fd99::/64@o2ib",
            "fd99::/64@bogus",
        ] {
            assert!(wrong.parse::<NidPattern>().is_err(), "{wrong}");
        }
        assert_eq!(NidPattern::from_u64(0), None);
    }

    #[test]
    fn ipv6_nids_and_masks_round_trip_and_have_no_number() {
        // Text, text again, the NIDs of those below that match.
        let nids = ["fd99::11@tcp", "fd99::12@tcp", "fd99:1::11@tcp", "fd99::11@tcp1", "10.0.0.1@tcp"];
        let table: [(&str, &str, &[&str]); 5] = [
            ("FD99::011@tcp", "fd99::11@tcp", &nids[..1]),
            ("fd99::/64@tcp", "fd99::/64@tcp", &nids[..2]),
            ("fd99::1/16@tcp", "fd99::/16@tcp", &nids[..3]),
            ("10.0.0.1/8@tcp", "10.0.0.0/8@tcp", &nids[4..]),
            (
                "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff@tcp",
                "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff@tcp",
                &[],
            ),
        ];
        for (text, shown, expected) in table {
            let pattern: NidPattern = text.parse().unwrap();
            assert_eq!(pattern.to_string(), shown);
            assert_eq!(shown.parse(), Ok(pattern), "{text}");
            assert_eq!(pattern.to_u64(), None, "{text}");
            let matching: Vec<&str> =
                nids.into_iter().filter(|nid| pattern.matches(nid.parse().unwrap())).collect();
            assert_eq!(matching, expected, "{text}");
        }
    }
}
