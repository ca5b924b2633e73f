//! The NIDs that a fault rule matches: one NID, a net, any (ST-20).

use crate::nid::{Address, NetId, Nid};
use crate::text::TextError;
use std::fmt;
use std::str::FromStr;

/// One NID, all NIDs of a net, or all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NidPattern {
    /// `*`
    #[default]
    Any,
    /// All NIDs of a net, written `*@tcp`. The kernel's form has an address of all ones.
    Net(NetId),
    /// `10.0.0.1@tcp`
    Nid(Nid),
}

impl NidPattern {
    /// Whether the pattern matches this NID.
    pub fn matches(self, nid: Nid) -> bool {
        match self {
            Self::Any => true,
            Self::Net(net) => nid.net() == net,
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

    /// Returns the value that [`NidPattern::from_u64`] reads; `None` for a NID that is longer.
    pub const fn to_u64(self) -> Option<u64> {
        match self {
            Self::Any => Some(u64::MAX),
            Self::Net(net) => Some((net.to_u32() as u64) << 32 | u32::MAX as u64),
            Self::Nid(nid) => nid.to_u64(),
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

/// Reads `*`, `*@NET` or a NID; a NID whose address is all ones means its net.
impl FromStr for NidPattern {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        match text.strip_prefix('*') {
            Some("") => Ok(Self::Any),
            Some(rest) if rest.starts_with('@') => {
                rest[1..].parse().map(Self::Net).map_err(|error: TextError| error.within(2))
            }
            _ => text.parse().map(|nid: Nid| nid.into()),
        }
    }
}

impl fmt::Display for NidPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Net(net) => write!(f, "*@{net}"),
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
        for wrong in ["", "**", "*@", "*@bogus", "10.0.0.*@tcp", "*@tcp*", "x"] {
            assert!(wrong.parse::<NidPattern>().is_err(), "{wrong}");
        }
        assert_eq!(NidPattern::from_u64(0), None);
    }
}
