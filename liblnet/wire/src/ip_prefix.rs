//! Address masks: `10.0.0.0/8`, `2001:db8::/64`.

use crate::nid_text::{parse_ipv4, parse_ipv6};
use crate::text::{Problem, TextError, decimal};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// The addresses of one family that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpPrefix {
    /// The first address: all bits behind the prefix are 0.
    first: IpAddr,
    bits: u8,
}

impl IpPrefix {
    /// The addresses whose first `bits` bits are those of `address`; `None` if an address does not have that many.
    pub fn new(address: IpAddr, bits: u8) -> Option<Self> {
        let first = match address {
            IpAddr::V4(v4) => {
                let host = host_bits(32, bits)?;
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & !(host as u32)))
            }
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !host_bits(128, bits)?)),
        };
        Some(Self { first, bits })
    }

    /// The first address.
    pub const fn first(self) -> IpAddr {
        self.first
    }

    /// The number of bits that all addresses begin with: 0 to 32, or 0 to 128 for IPv6.
    pub const fn bits(self) -> u8 {
        self.bits
    }

    /// The number of bits of an address of the family: 32 or 128.
    pub(crate) const fn address_bits(self) -> u8 {
        match self.first {
            IpAddr::V4(_) => 32,
            IpAddr::V6(_) => 128,
        }
    }

    /// Whether the address begins with the same bits; none of the other family does.
    pub fn matches(self, address: IpAddr) -> bool {
        Self::new(address, self.bits) == Some(self)
    }

    /// The first and the last address as numbers: of 32 bits for IPv4.
    pub(crate) fn interval(self) -> (u128, u128) {
        let first = match self.first {
            IpAddr::V4(v4) => v4.to_bits().into(),
            IpAddr::V6(v6) => v6.to_bits(),
        };
        (first, first | host_bits(self.address_bits(), self.bits).unwrap_or(0))
    }
}

/// The bits of an address behind a prefix; `None` if the prefix is longer than the address.
const fn host_bits(address_bits: u8, bits: u8) -> Option<u128> {
    match address_bits.checked_sub(bits) {
        Some(128) => Some(u128::MAX),
        Some(host) => Some((1 << host) - 1),
        None => None,
    }
}

/// Reads `ADDRESS/BITS`. Bits of the address behind the prefix are dropped.
impl FromStr for IpPrefix {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let (address, bits) =
            text.split_once('/').ok_or_else(|| TextError::new(Problem::NotANumber, text.len()))?;
        let (address, max) = match address.contains(':') {
            true => (IpAddr::V6(parse_ipv6(address)?.into()), 128),
            false => (IpAddr::V4(parse_ipv4(address)?.into()), 32),
        };
        let at = text.len() - bits.len();
        let bits = decimal(bits, max).map_err(|problem| TextError::new(problem, at))?;
        Self::new(address, bits as u8).ok_or_else(|| TextError::new(Problem::OutOfBounds(0, max), at))
    }
}

/// Writes `10.0.0.0/8`, with the first address.
impl fmt::Display for IpPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn prefix(text: &str) -> IpPrefix {
        text.parse().unwrap()
    }

    #[test]
    fn masks_are_printed_with_their_first_address() {
        for (text, printed) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("10.1.2.3/8", "10.0.0.0/8"),
            ("10.1.2.3/32", "10.1.2.3/32"),
            ("255.255.255.255/0", "0.0.0.0/0"),
            ("2001:DB8::1/64", "2001:db8::/64"),
            ("2001:db8::1/128", "2001:db8::1/128"),
            ("fd99::1/0", "::/0"),
        ] {
            assert_eq!(prefix(text).to_string(), printed, "{text}");
        }
    }

    #[test]
    fn texts_that_are_no_mask_are_refused_with_the_place() {
        use Problem::*;
        for (text, problem, at) in [
            ("10.0.0.0", NotANumber, 8),
            ("10.0.0.0/33", OutOfBounds(0, 32), 9),
            ("fd99::/129", OutOfBounds(0, 128), 7),
            ("fd99::/200", OutOfBounds(0, 128), 7),
            ("10.0.0.0/", NotANumber, 9),
            ("10.0.0.0/8/9", NotANumber, 9),
            ("10.0.0/8", NotIpv4, 0),
            ("10.0.0.*/8", NotIpv4, 7),
            ("fd99::zz/64", NotIpv6, 0),
            ("/8", NotIpv4, 0),
        ] {
            assert_eq!(text.parse::<IpPrefix>(), Err(TextError::new(problem, at)), "{text}");
        }
    }

    proptest! {
        /// Fails if a mask matches by other bits than those that a comparison bit by bit finds.
        #[test]
        fn an_address_matches_if_it_has_the_bits(one: [u8; 16], flip in 0_usize..128, bits in 0_u8..=128, short: bool) {
            let bit = |address: &[u8], at: usize| address[at / 8] >> (7 - at % 8) & 1;
            let mut other = one;
            other[flip / 8] ^= 0x80 >> (flip % 8);
            let address = |bytes: [u8; 16]| match short {
                true => IpAddr::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3])),
                false => IpAddr::V6(bytes.into()),
            };
            let size = if short { 32 } else { 128 };
            prop_assert_eq!(IpPrefix::new(address(one), bits).is_some(), bits <= size);
            let Some(prefix) = IpPrefix::new(address(one), bits) else { return Ok(()) };
            let agrees = (0..usize::from(bits)).all(|at| bit(&one, at) == bit(&other, at));
            prop_assert_eq!(prefix.matches(address(other)), agrees);
            prop_assert!(prefix.matches(address(one)));
            prop_assert_eq!(prefix.to_string().parse(), Ok(prefix));
        }
    }
}
