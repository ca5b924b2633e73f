//! Selector of a selection rule: a net or NIDs on it (core-behaviour 8.1, 8.2).

use crate::expression::Expression;
use crate::lnd_table::{AddressKind, Lnd};
use crate::nid::{NetId, NetType, Nid};
use crate::nid_range::AddressRange;
use crate::text::{Problem, TextError};
use std::fmt;
use std::str::FromStr;

/// Nets of one kind, or NIDs on such nets: `tcp1`, `tcp[1-3]`, `*@tcp1`, `192.0.2.[10-12]@tcp`, `2001:db8::/64@tcp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    kind: NetType,
    /// The net numbers; `None`: no number was given, so only 0.
    numbers: Option<Expression>,
    /// The addresses; `None`: a rule about nets.
    addresses: Option<AddressRange>,
}

impl Selector {
    /// Makes a selector of its parts; without `numbers` it means the net with the number 0, without `addresses` it selects
    /// nets. `None` for parts that cannot be written as text.
    pub fn from_parts(
        kind: NetType,
        numbers: Option<Expression>,
        addresses: Option<AddressRange>,
    ) -> Option<Self> {
        let has_numbers = numbers.as_ref().is_none_or(|numbers| !numbers.ranges().is_empty());
        has_numbers.then(|| Self { kind, numbers, addresses }.to_string().parse().ok()).flatten()
    }

    /// The kind of net.
    pub const fn kind(&self) -> NetType {
        self.kind
    }

    /// The net numbers, if any were named.
    pub const fn numbers(&self) -> Option<&Expression> {
        self.numbers.as_ref()
    }

    /// The addresses; `None` for a rule about nets.
    pub const fn addresses(&self) -> Option<&AddressRange> {
        self.addresses.as_ref()
    }

    /// Whether the selector selects nets, not NIDs.
    pub const fn is_of_nets(&self) -> bool {
        self.addresses.is_none()
    }

    /// Whether the selector names this net, or NIDs on it (UD-5).
    pub fn matches_net(&self, net: NetId) -> bool {
        let number = u32::from(net.number());
        self.kind == net.kind() && self.numbers.as_ref().map_or(number == 0, |set| set.matches(number))
    }

    /// Whether the NID's net and address match; for a rule about nets, the net alone (UD-5, UD-6).
    pub fn matches_nid(&self, nid: Nid) -> bool {
        self.matches_net(nid.net())
            && self.addresses.as_ref().is_none_or(|addresses| addresses.matches(nid.address()))
    }
}

/// Reads `NET` or `ADDRESSES@NET`, where NET may end in a number, `*` or `[...]`. `*@NET` is the net.
impl FromStr for Selector {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let (addresses, net) = match text.split_once('@') {
            Some((addresses, net)) => (Some(addresses), net),
            None => (None, text),
        };
        let net_at = text.len() - net.len();
        let wrong = |problem, at| TextError::new(problem, at);
        let (lnd, digits) = Lnd::leading(net).ok_or_else(|| wrong(Problem::UnknownNetwork, net_at))?;
        let digits_at = net_at + lnd.name.len();
        let numbers = match digits {
            "" => None,
            _ if matches!(lnd.addresses, AddressKind::Loopback) => {
                return Err(wrong(Problem::LoopbackNumber, digits_at));
            }
            digits => Some(
                Expression::parse(digits, 0..=u16::MAX.into())
                    .and_then(without_empty_ranges)
                    .map_err(|e| e.within(digits_at))?,
            ),
        };
        // A net has one form only: the number 0 is left out.
        let numbers = numbers.filter(|numbers| !is_zero(numbers));
        let addresses = match addresses {
            None | Some("*") => None,
            Some(text) => Some(
                Some(AddressRange::parse(text, Some(lnd.addresses))?)
                    .filter(AddressRange::has_no_empty_range)
                    .ok_or(TextError::new(Problem::EmptyRange, 0))?,
            ),
        };
        // A single address is one that an interface can have.
        if let Some(only) = addresses.as_ref().and_then(AddressRange::only) {
            only.on(NetId::new(lnd.net_type, 0)).check_address().map_err(|problem| wrong(problem, 0))?;
        }
        Ok(Self { kind: lnd.net_type, numbers, addresses })
    }
}

/// Writes the text that was read; a net number 0 alone is left out, `*` for an octet is written as `[0-255]`.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(addresses) = &self.addresses {
            write!(f, "{addresses}@")?;
        }
        self.kind.fmt(f)?;
        match &self.numbers {
            Some(numbers) if !is_zero(numbers) => numbers.fmt(f),
            _ => Ok(()),
        }
    }
}

fn is_zero(numbers: &Expression) -> bool {
    numbers.count() == 1 && numbers.matches(0)
}

/// Checks that all ranges of an expression contain numbers.
fn without_empty_ranges(expression: Expression) -> Result<Expression, TextError> {
    match expression.has_no_empty_range() {
        true => Ok(expression),
        false => Err(TextError::new(Problem::EmptyRange, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IpRange;
    use crate::expression::Range;
    use std::num::NonZeroU32;

    #[test]
    fn selectors_round_trip() {
        let table = [
            ("tcp", "tcp"),
            ("tcp0", "tcp"),
            ("tcp1", "tcp1"),
            ("tcp[1-3]", "tcp[1-3]"),
            ("tcp*", "tcp[0-65535]"),
            ("*@tcp1", "tcp1"),
            ("10.99.0.11@tcp", "10.99.0.11@tcp"),
            ("10.99.*.[1-20/2]@tcp[1,3]", "10.99.[0-255].[1-20/2]@tcp[1,3]"),
            ("7@gni", "7@gni"),
            ("FD99:0::0011@tcp1", "fd99::11@tcp1"),
            ("fd99::[90-92]@tcp", "fd99::[90-92]@tcp"),
            ("2001:db8::1/64@tcp[1-3]", "2001:db8::/64@tcp[1-3]"),
            ("10.0.0.0/8@o2ib", "10.0.0.0/8@o2ib"),
        ];
        for (text, expected) in table {
            let selector: Selector = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(selector.to_string(), expected, "{text}");
            assert_eq!(expected.parse::<Selector>().map(|s| s.to_string()), Ok(expected.to_owned()));
        }
    }

    /// Fails if an address that no interface has is refused in one form only.
    #[test]
    fn a_single_address_that_no_interface_has_is_refused_in_every_form() {
        for (address, problem) in [
            ("::", Problem::NoInterfacesAddress),
            ("0:0::0", Problem::NoInterfacesAddress),
            ("fe80::1", Problem::LinkLocal),
            ("fe80::[1]", Problem::LinkLocal),
            ("fe80::1/128", Problem::LinkLocal),
            ("::ffff:10.0.0.1", Problem::MappedIpv4),
        ] {
            for net in ["tcp", "tcp0", "tcp 1", "tcp[1-2]", "tcp*"] {
                let text = format!("{address}@{net}");
                assert_eq!(text.parse::<Selector>(), Err(TextError::new(problem, 0)), "{text}");
            }
        }
        assert!("fe80::/10@tcp".parse::<Selector>().is_ok());
    }

    #[test]
    fn the_same_selector_in_another_form_is_equal() {
        let parse = |text: &str| text.parse::<Selector>().unwrap();
        for (one, other) in
            [("tcp", "tcp0"), ("tcp", "tcp[0]"), ("*@tcp", "tcp"), ("1.2.3.4@tcp0", "1.2.3.4@tcp")]
        {
            assert_eq!(parse(one), parse(other), "{one} {other}");
        }
    }

    #[test]
    fn parts_are_a_selector_if_a_text_comes_to_them() {
        let range = |lo, hi| Expression::from_ranges(vec![Range { lo, hi, stride: NonZeroU32::MIN }]);
        let ip = |last: Expression| {
            let octets = [range(10, 10), range(0, 255), range(0, 0), last];
            Some(AddressRange::Ip(IpRange::from_octets(octets)))
        };
        let (tcp, gni) = (NetType::TCP, "gni".parse::<Selector>().unwrap().kind());
        let table = [
            (tcp, None, None, Some("tcp")),
            (tcp, Some(range(0, 0)), None, Some("tcp")),
            (tcp, Some(range(1, 3)), ip(range(1, 2)), Some("10.[0-255].0.[1-2]@tcp[1-3]")),
            (gni, None, Some(AddressRange::Number(range(7, 7))), Some("7@gni")),
            (tcp, None, Some(AddressRange::Number(range(7, 7))), None),
            (gni, None, ip(range(1, 2)), None),
            (tcp, Some(Expression::default()), None, None),
            (tcp, None, ip(Expression::default()), None),
            (tcp, None, ip(range(1, 256)), None),
            (tcp, None, ip(range(2, 1)), None),
            (tcp, Some(range(1, 65_536)), None, None),
            (NetType(77), None, None, None),
        ];
        for (kind, numbers, addresses, expected) in table {
            let made = Selector::from_parts(kind, numbers, addresses);
            assert_eq!(made.map(|its| its.to_string()).as_deref(), expected);
        }
    }

    #[test]
    fn selectors_match_nets_and_nids() {
        let nid = |text: &str| text.parse::<Nid>().unwrap();
        let table = [
            ("tcp", "10.0.0.1@tcp", true),
            ("tcp", "10.0.0.1@tcp1", false),
            ("tcp*", "10.0.0.1@tcp7", true),
            ("tcp[1-3]", "10.0.0.1@tcp2", true),
            ("10.0.0.[1-3]@tcp", "10.0.0.2@tcp", true),
            ("10.0.0.[1-3]@tcp", "10.0.0.4@tcp", false),
            ("10.0.0.[1-3]@tcp", "10.0.0.2@tcp1", false),
            ("o2ib", "10.0.0.1@tcp", false),
            ("tcp", "fd99::1@tcp", true),
            ("fd99::[90-92]@tcp", "fd99::91@tcp", true),
            ("fd99::[90-92]@tcp", "fd99::5a@tcp", false),
            ("2001:db8::/64@tcp", "2001:db8::77@tcp", true),
            ("2001:db8::/64@tcp", "2001:db8:0:1::77@tcp", false),
            ("2001:db8::/64@tcp", "2001:db8::77@tcp1", false),
            ("::/0@tcp", "10.0.0.1@tcp", false),
            ("10.0.0.0/8@tcp", "10.255.0.1@tcp", true),
            ("0.0.0.0/0@tcp", "fd99::1@tcp", false),
        ];
        for (selector, its, expected) in table {
            assert_eq!(
                selector.parse::<Selector>().unwrap().matches_nid(nid(its)),
                expected,
                "{selector} {its}"
            );
        }
    }

    #[test]
    fn an_invalid_selector_is_rejected_with_the_position() {
        let table = [
            ("", 0),
            ("bogus", 0),
            ("tcp[1", 3),
            ("tcp*[1]", 3),
            ("lo1", 2),
            ("10.0.0@tcp", 0),
            ("1.2.3.4@tpc", 8),
            ("tcp[3-2]", 3),
            ("10.0.0.[1,3-2]@tcp", 0),
            ("fd99::[92-90]@tcp", 0),
            ("fd99::1@o2ib", 0),
            ("fd99::/200@tcp", 7),
            ("fd99::[1-zz]@tcp", 9),
        ];
        for (text, at) in table {
            assert_eq!(text.parse::<Selector>().map_err(|error| error.at), Err(at), "{text}");
        }
    }
}
