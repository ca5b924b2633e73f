//! IPv4 address expressions: four octets with dots between, each an [`Expression`] (`10.0.[0-1].*`).

use crate::expression::Expression;
use crate::text::{Problem, TextError};
use std::fmt;
use std::str::FromStr;

/// A set of IPv4 addresses, given by an expression for each octet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpRange {
    octets: [Expression; 4],
}

impl IpRange {
    /// The range with these octets, the leftmost first.
    pub const fn from_octets(octets: [Expression; 4]) -> Self {
        Self { octets }
    }

    /// The octets, the leftmost first.
    pub const fn octets(&self) -> &[Expression; 4] {
        &self.octets
    }

    /// Whether `address`, an integer in host order (10.0.0.1 is 0x0a000001), is in the set.
    pub fn matches(&self, address: u32) -> bool {
        self.octets.iter().zip(address.to_be_bytes()).all(|(e, octet)| e.matches(octet.into()))
    }
}

/// Reads exactly four expressions, each within 0 to 255.
impl FromStr for IpRange {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let mut octets = <[Expression; 4]>::default();
        let mut parts = text.split('.');
        let mut at = 0;
        for octet in &mut octets {
            let part = parts.next().ok_or(TextError::new(Problem::NotIpv4, 0))?;
            *octet = Expression::parse(part, 0..=255).map_err(|e| e.within(at))?;
            at += part.len() + 1;
        }
        match parts.next() {
            None => Ok(Self { octets }),
            Some(_) => Err(TextError::new(Problem::NotIpv4, at - 1)),
        }
    }
}

/// Writes the form `10.0.[0-1].[0-255]`.
impl fmt::Display for IpRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = &self.octets;
        write!(f, "{a}.{b}.{c}.{d}")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_address_matches_when_every_octet_does() {
        let range: IpRange = "10.0.[0-1].[1-255/2]".parse().unwrap();
        for (address, matches) in [
            (0x0a00_0001, true),
            (0x0a00_01ff, true),
            (0x0a00_0002, false),
            (0x0a00_0201, false),
            (0x0b00_0001, false),
            (0x0a01_0001, false),
        ] {
            assert_eq!(range.matches(address), matches, "{address:x}");
        }
    }

    #[test]
    fn four_octets_are_wanted_no_more_and_no_less() {
        for (text, printed) in [("*.*.*.*", "[0-255].[0-255].[0-255].[0-255]"), (" 10. 0 .0.[1]", "10.0.0.1")]
        {
            assert_eq!(text.parse::<IpRange>().unwrap().to_string(), printed);
        }
        for (text, problem, at) in [
            ("10.0.0", Problem::NotIpv4, 0),
            ("10.0.0.1.2", Problem::NotIpv4, 8),
            ("10.0.0.", Problem::NotANumber, 7),
            ("10.0.256.1", Problem::OutOfBounds(0, 255), 5),
            ("10.0.0.1-3", Problem::NotANumber, 7),
        ] {
            assert_eq!(text.parse::<IpRange>(), Err(TextError::new(problem, at)), "{text}");
        }
    }
}
