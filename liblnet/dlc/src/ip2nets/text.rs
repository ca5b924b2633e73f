//! The legacy `ip2nets` string: `tcp1(eth0,eth1[0]) 192.0.2.[2-8/2] 198.51.100.*; o2ib 203.0.113.*`
//! (dlc 4.2).

use super::Rule;
use crate::legacy_syntax::{Piece, entries};
use crate::networks::{self, Network, NetworksError, Scanner, write_net_spec};
use lnet_wire::IpRange;
use lnet_wire::text::Problem;
use std::fmt;
use thiserror::Error;

/// An error in an `ip2nets` string, and the byte at which it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what}, at byte {at}")]
pub struct Ip2netsError {
    /// The error.
    pub what: Ip2netsErrorCause,
    /// The byte of the string at which it is, from 0.
    pub at: usize,
}

/// The ways in which an `ip2nets` string can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Ip2netsErrorCause {
    /// A net specification that cannot be read.
    #[error("{0}")]
    Network(networks::NetworksErrorCause),
    /// Text that directly follows a net specification.
    #[error("a blank and an IP range should be here")]
    BlankExpected,
    /// CPU partitions of a net without interfaces: they could be bound to nothing.
    #[error("CPU partitions without an interface; write them behind one, as in tcp(eth0[0])")]
    CptsWithoutInterface,
    /// An IP range that cannot be read.
    #[error("IP range: {0}")]
    Range(Problem),
}

/// Reads an `ip2nets` string: rules between `;` or line ends, each of nets (as in a `networks` string) and the
/// IP ranges that they apply to; without ranges a rule is for every machine. `#` begins a comment. Several nets before the same ranges
/// become a [`Rule`] each. The empty string has no rules; `lo` is ignored, as every node is on it.
pub fn parse_string(text: &str) -> Result<Vec<Rule>, Ip2netsError> {
    let mut rules = Vec::new();
    for entry in entries(text) {
        let mut scanner = Scanner::new(entry);
        let networks = networks_of(&mut scanner)?;
        let ranges = ranges_of(scanner.rest())?;
        rules.extend(networks.into_iter().map(|Network { net, interfaces, .. }| Rule {
            net,
            interfaces,
            ranges: ranges.clone(),
        }));
    }
    Ok(rules)
}

/// The nets before the ranges, in which every interface has been given its CPTs.
fn networks_of(scanner: &mut Scanner<'_>) -> Result<Vec<Network>, Ip2netsError> {
    let mut networks = Vec::new();
    loop {
        let start = scanner.rest();
        scanner.network_into(&mut networks)?;
        if let Some(network) = networks.last_mut()
            && let Some(cpts) = network.cpts.take()
        {
            if network.interfaces.is_empty() {
                return Err(error(start, Ip2netsErrorCause::CptsWithoutInterface));
            }
            for interface in &mut network.interfaces {
                interface.cpts.get_or_insert_with(|| cpts.clone());
            }
        }
        let end = scanner.rest();
        scanner.skip_blanks();
        match scanner.peek() {
            Some(',') => scanner.step(),
            Some(_) if scanner.rest() == end => return Err(error(end, Ip2netsErrorCause::BlankExpected)),
            _ => return Ok(networks),
        }
        scanner.skip_blanks();
    }
}

fn ranges_of(rest: Piece<'_>) -> Result<Vec<IpRange>, Ip2netsError> {
    let ranges = rest.words().map(|word| {
        let wrong = |e: lnet_wire::TextError| error(word.from(e.at), Ip2netsErrorCause::Range(e.problem));
        word.text.parse().map_err(wrong)
    });
    ranges.collect()
}

const fn error(place: Piece<'_>, what: Ip2netsErrorCause) -> Ip2netsError {
    Ip2netsError { what, at: place.at }
}

impl From<NetworksError> for Ip2netsError {
    fn from(NetworksError { what, at }: NetworksError) -> Self {
        Self { what: Ip2netsErrorCause::Network(what), at }
    }
}

/// Writes `tcp1(eth0,eth1[0]) 192.0.2.[2-8/2]`, which [`parse_string`] reads.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_net_spec(f, self.net, &self.interfaces)?;
        self.ranges.iter().try_for_each(|range| write!(f, " {range}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface_spec::InterfaceError;
    use proptest::prelude::*;

    fn written(text: &str) -> Result<Vec<String>, Ip2netsError> {
        parse_string(text).map(|rules| rules.iter().map(Rule::to_string).collect())
    }

    #[test]
    fn rules_are_read_as_the_kernel_writes_them() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            (" ;;\n# nothing here; ", &[]),
            (
                "tcp1(eth0,eth1[0]) 192.0.2.[2-8/2] 198.51.100.*; o2ib 203.0.113.*",
                &["tcp1(eth0,eth1[0]) 192.0.2.[2-8/2] 198.51.100.[0-255]", "o2ib 203.0.113.[0-255]"],
            ),
            (
                "tcp(eth0), tcp1(eth1) ,o2ib 10.0.0.1 # all; tcp2 10.0.0.2\n\ttcp3 10.0.0.3",
                &[
                    "tcp(eth0) 10.0.0.1",
                    "tcp1(eth1) 10.0.0.1",
                    "o2ib 10.0.0.1",
                    "tcp2 10.0.0.2",
                    "tcp3 10.0.0.3",
                ],
            ),
            ("tcp 10.0.0.[1, 3]", &["tcp 10.0.0.[1,3]"]),
            ("tcp(eth0[1],eth1)[0,2] 10.0.0.1", &["tcp(eth0[1],eth1[0,2]) 10.0.0.1"]),
            ("lo 127.0.0.1; tcp(127.0.1.1) 127.0.1.*", &["tcp(127.0.1.1) 127.0.1.[0-255]"]),
            ("tcp 10.0.0.1; tcp 10.0.0.2", &["tcp 10.0.0.1", "tcp 10.0.0.2"]),
            // Rules without ranges, for every machine.
            ("tcp", &["tcp"]),
            ("lo", &[]),
            ("tcp(eth0) , o2ib; tcp2 10.0.0.1", &["tcp(eth0)", "o2ib", "tcp2 10.0.0.1"]),
            ("tcp 10.0.0.1; tcp1(eth0[0]) # 10.0.0.2", &["tcp 10.0.0.1", "tcp1(eth0[0])"]),
            (
                "tcp1(eth0) FD99::[90-92] 10.0.0.0/8; tcp2(fd99::1) 2001:db8::/64",
                &["tcp1(eth0) fd99::[90-92] 10.0.0.0/8", "tcp2(fd99::1) 2001:db8::/64"],
            ),
        ];
        for (text, rules) in table {
            assert_eq!(written(text).unwrap(), *rules, "{text}");
        }
    }

    #[test]
    fn errors_name_their_position() {
        use networks::NetworksErrorCause as Net;
        let table = [
            ("tcp 10.0.0.*;tpc 10.0.0.*", 13, Ip2netsErrorCause::Network(Net::NotANet("tpc".into()))),
            ("10.0.0.*", 0, Ip2netsErrorCause::Network(Net::NotANet("10.0.0.*".into()))),
            ("tcp,tcp0 10.0.0.*", 4, Ip2netsErrorCause::Network(Net::Twice("tcp".into()))),
            ("tcp(eth0 10.0.0.*", 3, Ip2netsErrorCause::Network(Net::Unclosed)),
            ("tcp() 10.0.0.*", 4, Ip2netsErrorCause::Network(Net::Interface(InterfaceError::Nameless))),
            ("tcp(eth0)10.0.0.*", 9, Ip2netsErrorCause::BlankExpected),
            ("o2ib,tcp[0] 10.0.0.*", 5, Ip2netsErrorCause::CptsWithoutInterface),
            ("tcp 10.0.0", 4, Ip2netsErrorCause::Range(Problem::NotIpv4)),
            ("tcp 10.0.0.1 10.0.0.256", 20, Ip2netsErrorCause::Range(Problem::OutOfBounds(0, 255))),
            ("tcp 10.0.0.[1-3/0]", 16, Ip2netsErrorCause::Range(Problem::ZeroStride)),
            ("tcp fd99::/129", 11, Ip2netsErrorCause::Range(Problem::OutOfBounds(0, 128))),
            ("tcp fd99::[1-zz]", 13, Ip2netsErrorCause::Range(Problem::NotHexadecimal)),
            ("tcp 10.0.0.[1", 11, Ip2netsErrorCause::Range(Problem::Bracket)),
        ];
        for (text, at, what) in table {
            assert_eq!(parse_string(text), Err(Ip2netsError { what, at }), "{text}");
        }
    }

    const NET: &str =
        "(tcp|o2ib)[0-3]?(\\((eth[0-3](\\[[0-9](,1-[2-9](/2)?)?\\])?)(, ?ib0)?\\)(\\[[0-3]\\])?)?";
    const RANGE: &str = "(\\*|1?[0-9]|\\[[0-4](,[5-9]-20(/3)?)?\\])";

    fn rules() -> impl Strategy<Value = String> {
        let v4 = format!("{RANGE}\\.{RANGE}\\.{RANGE}\\.{RANGE}");
        let v6 = "fd99::(\\*|[0-9a-f]{1,4}|\\[[0-9]-[a-f](/[1-3])?\\])(/(64|[12][0-9]))?";
        let rule = format!("{NET}(, {NET})?( ({v4}|{v6}|10\\.[0-9]\\.0\\.0/[12][0-9])){{0,2}}[;\n]");
        proptest::string::string_regex(&format!("({rule}){{0,3}}")).unwrap()
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".*|[tcpo2ib0-9(),;#\\[\\]*./\\- eh\n]*") {
            if let Err(error) = parse_string(&text) {
                prop_assert!(error.at <= text.len() && text.is_char_boundary(error.at));
            }
        }

        #[test]
        fn written_text_is_read_back(text in rules()) {
            if let Ok(rules) = parse_string(&text) {
                let written = rules.iter().map(Rule::to_string).collect::<Vec<_>>().join("; ");
                prop_assert_eq!(parse_string(&written), Ok(rules));
            }
        }
    }
}
