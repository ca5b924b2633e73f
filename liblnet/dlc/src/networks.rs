//! The `networks` string: the nets and interfaces of a node.
//!
//! The grammar is that of the kernel's module parameter: `tcp(eth0[0,1],eth1),tcp1(eth2)`. An interface may also be given by one
//! of its addresses, `tcp(127.0.1.1)`, which needs no privilege and lets several nodes share a machine. A net
//! without interfaces takes the machine's first. CPU partitions of a net, `tcp(eth0,eth1)[0,1]`, apply
//! to its interfaces that have none of their own.
//!
//! An interface with both families of addresses takes its IPv6 address where that is said: `tcp(eth0[large])` for one, `tcp(eth0,eth1)[large]`
//! for all of a net, before its CPU partitions; `tcp[large]` is the machine's first interface with an IPv6 address. The kernel has no such form.

use crate::interface_spec::InterfaceError;
use crate::legacy_syntax::Piece;
use crate::{CptList, InterfaceSpec};
use lnet_os::interfaces::LARGE;
use lnet_wire::NetId;
use lnet_wire::text::Problem;
use std::fmt;
use std::net::IpAddr;
use thiserror::Error;

/// One net and the interfaces by which the node is on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// The net, which is never that of the loopback.
    pub net: NetId,
    /// The names or addresses of the interfaces; if empty, the machine's first interface.
    pub interfaces: Vec<InterfaceSpec>,
    /// The CPTs of interfaces that have none of their own.
    pub cpts: Option<CptList>,
}

/// An error in a `networks` string, and the byte at which it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what}, at byte {at}")]
pub struct NetworksError {
    /// The error.
    pub what: NetworksErrorCause,
    /// The byte of the string at which it is, from 0.
    pub at: usize,
}

/// The ways in which a `networks` string can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NetworksErrorCause {
    /// A text that is not the name of a net.
    #[error("`{0}` is no net")]
    NotANet(String),
    /// The same net twice.
    #[error("`{0}` is named twice")]
    Twice(String),
    /// An interface that cannot be read.
    #[error("{0}")]
    Interface(InterfaceError),
    /// CPU partitions that cannot be read.
    #[error("CPU partitions: {0}")]
    Cpts(Problem),
    /// A parenthesis that is not closed.
    #[error("a `(` without its `)`")]
    Unclosed,
    /// Some other text in place of a comma.
    #[error("a `,` should be here")]
    CommaExpected,
}

/// Reads a `networks` string. The empty string names no nets; `lo` is ignored, as every node is on it.
pub fn parse(text: &str) -> Result<Vec<Network>, NetworksError> {
    let mut networks = Vec::new();
    let mut scanner = Scanner::new(Piece { at: 0, text });
    scanner.skip_blanks();
    while scanner.peek().is_some() {
        scanner.network_into(&mut networks)?;
        scanner.skip_blanks();
        match scanner.peek() {
            Some(',') => scanner.step(),
            None => break,
            Some(_) => return Err(scanner.error(NetworksErrorCause::CommaExpected)),
        }
        scanner.skip_blanks();
    }
    Ok(networks)
}

/// Reads net specifications from the front of a text.
#[derive(Clone, Copy)]
pub(crate) struct Scanner<'a> {
    rest: Piece<'a>,
}

impl<'a> Scanner<'a> {
    pub(crate) const fn new(rest: Piece<'a>) -> Self {
        Self { rest }
    }

    /// The text that has not been read yet.
    pub(crate) const fn rest(&self) -> Piece<'a> {
        self.rest
    }

    /// Reads one specification and adds it to `networks`.
    pub(crate) fn network_into(&mut self, networks: &mut Vec<Network>) -> Result<(), NetworksError> {
        let start = *self;
        let network = self.network()?;
        if networks.iter().any(|known| known.net == network.net) {
            return Err(start.error(NetworksErrorCause::Twice(network.net.to_string())));
        }
        if network.net != NetId::LOOPBACK {
            networks.push(network);
        }
        Ok(())
    }

    fn network(&mut self) -> Result<Network, NetworksError> {
        let start = *self;
        let name = self.take(self.find(|letter| "(,[".contains(letter) || letter.is_whitespace()));
        let net = name.parse().map_err(|_| start.error(NetworksErrorCause::NotANet(name.to_owned())))?;
        let mut interfaces = Vec::new();
        if self.peek() == Some('(') {
            let open = *self;
            loop {
                self.step();
                self.skip_blanks();
                interfaces.push(self.interface()?);
                match self.peek() {
                    Some(',') => {}
                    Some(')') => break,
                    _ => return Err(open.error(NetworksErrorCause::Unclosed)),
                }
            }
            self.step();
        }
        if self.rest.text.starts_with(LARGE) {
            self.take(LARGE.len());
            make_large(&mut interfaces);
        }
        let cpts = if self.peek() == Some('[') { Some(self.cpts()?) } else { None };
        Ok(Network { net, interfaces, cpts })
    }

    fn interface(&mut self) -> Result<InterfaceSpec, NetworksError> {
        let start = *self;
        let mut depth = 0_u32;
        let text = self.take(self.find(|letter| {
            match letter {
                '[' => depth += 1,
                ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && "(),".contains(letter)
        }));
        InterfaceSpec::parse(text).map_err(|error| match error {
            InterfaceError::Cpts(_, error) => {
                let bracket = text.find('[').unwrap_or_default();
                Self::new(start.rest.from(bracket + error.at)).error(NetworksErrorCause::Cpts(error.problem))
            }
            error => start.error(NetworksErrorCause::Interface(error)),
        })
    }

    fn cpts(&mut self) -> Result<CptList, NetworksError> {
        let start = *self;
        let end = self.rest.text.find(']').map(|close| close + 1);
        let text = self.take(end.ok_or_else(|| start.error(NetworksErrorCause::Cpts(Problem::Bracket)))?);
        text.parse().map_err(|error: lnet_wire::TextError| {
            Self::new(start.rest.from(error.at)).error(NetworksErrorCause::Cpts(error.problem))
        })
    }

    /// The number of bytes before the first letter for which `stops` is true, or to the end.
    fn find(&self, stops: impl FnMut(char) -> bool) -> usize {
        self.rest.text.find(stops).unwrap_or(self.rest.text.len())
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let taken = self.rest.text.get(..bytes).unwrap_or_default();
        self.rest = self.rest.from(taken.len());
        taken
    }

    /// Skips one letter.
    pub(crate) fn step(&mut self) {
        self.rest = self.rest.from(self.peek().map_or(0, char::len_utf8));
    }

    pub(crate) fn skip_blanks(&mut self) {
        self.rest = self.rest.from(self.rest.text.len() - self.rest.text.trim_start().len());
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest.text.chars().next()
    }

    pub(crate) const fn error(&self, what: NetworksErrorCause) -> NetworksError {
        NetworksError { what, at: self.rest.at }
    }
}

/// Makes interfaces that are given by their names have their IPv6 addresses; the machine's first if there are none.
fn make_large(interfaces: &mut Vec<InterfaceSpec>) {
    if interfaces.is_empty() {
        interfaces.push(InterfaceSpec::named(""));
    }
    let is_name = |it: &&mut InterfaceSpec| it.name.parse::<IpAddr>().is_err() && !it.name.ends_with(LARGE);
    interfaces.iter_mut().filter(is_name).for_each(|it| it.name.push_str(LARGE));
}

/// Writes `tcp(eth0,eth1[0])[0,1]`, which [`parse`] reads.
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_net_spec(f, self.net, &self.interfaces)?;
        self.cpts.as_ref().map_or(Ok(()), |cpts| write!(f, "{cpts}"))
    }
}

/// Writes `tcp` or `tcp(eth0,eth1[0])`.
pub(crate) fn write_net_spec(
    f: &mut fmt::Formatter<'_>,
    net: NetId,
    interfaces: &[InterfaceSpec],
) -> fmt::Result {
    write!(f, "{net}")?;
    for (i, interface) in interfaces.iter().enumerate() {
        write!(f, "{}{interface}", if i == 0 { '(' } else { ',' })?;
    }
    f.write_str(if interfaces.is_empty() { "" } else { ")" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_wire::NetType;
    use proptest::prelude::*;

    fn cpts(numbers: &[u32]) -> CptList {
        CptList::new(numbers.to_vec())
    }

    #[test]
    fn valid_networks_strings_are_parsed() {
        let tcp = |number, interfaces: &[&str]| Network {
            net: NetId::new(NetType::TCP, number),
            interfaces: interfaces.iter().map(|s| InterfaceSpec::named(*s)).collect(),
            cpts: None,
        };
        let with = |name: &str, cpts| InterfaceSpec { name: name.into(), cpts };
        let table = [
            ("", vec![]),
            ("tcp", vec![tcp(0, &[])]),
            ("tcp0(eth0)", vec![tcp(0, &["eth0"])]),
            (
                " tcp( eth0 , eth1:1 ), tcp1(127.0.1.1) ",
                vec![tcp(0, &["eth0", "eth1:1"]), tcp(1, &["127.0.1.1"])],
            ),
            ("lo,tcp7", vec![tcp(7, &[])]),
            ("tcp,", vec![tcp(0, &[])]),
            (
                "tcp(eth0[0,1], eth1),o2ib2(ib0)",
                vec![
                    Network {
                        interfaces: vec![with("eth0", Some(cpts(&[0, 1]))), with("eth1", None)],
                        ..tcp(0, &[])
                    },
                    Network { net: NetId::new(NetType::O2IB, 2), ..tcp(0, &["ib0"]) },
                ],
            ),
            ("tcp(eth0)[2-3]", vec![Network { cpts: Some(cpts(&[2, 3])), ..tcp(0, &["eth0"]) }]),
            (
                "tcp(eth0,eth1[large],127.0.1.1)[large],tcp1[large],tcp2(eth0[large][1])[0],tcp3(fd99::1)",
                vec![
                    tcp(0, &["eth0[large]", "eth1[large]", "127.0.1.1"]),
                    tcp(1, &["[large]"]),
                    Network {
                        interfaces: vec![with("eth0[large]", Some(cpts(&[1])))],
                        cpts: Some(cpts(&[0])),
                        ..tcp(2, &[])
                    },
                    tcp(3, &["fd99::1"]),
                ],
            ),
            ("tcp(eth0)[large][2]", vec![Network { cpts: Some(cpts(&[2])), ..tcp(0, &["eth0[large]"]) }]),
            ("tcp[0],tcp1", vec![Network { cpts: Some(cpts(&[0])), ..tcp(0, &[]) }, tcp(1, &[])]),
        ];
        for (text, want) in table {
            assert_eq!(parse(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn invalid_networks_strings_name_the_position_of_the_error() {
        let nameless = || NetworksErrorCause::Interface(InterfaceError::Nameless);
        let table = [
            ("tpc(eth0)", 0, NetworksErrorCause::NotANet("tpc".into())),
            (",tcp", 0, NetworksErrorCause::NotANet(String::new())),
            ("tcp(eth0", 3, NetworksErrorCause::Unclosed),
            ("tcp(eth0(x))", 3, NetworksErrorCause::Unclosed),
            ("tcp()", 4, nameless()),
            ("tcp(eth0,)", 9, nameless()),
            ("tcp([0])", 4, nameless()),
            ("tcp(eth0) tcp1", 10, NetworksErrorCause::CommaExpected),
            ("tcp(eth0)[0]1", 12, NetworksErrorCause::CommaExpected),
            ("tcp(eth0[0", 4, NetworksErrorCause::Interface(InterfaceError::Bracket("eth0[0".into()))),
            ("tcp(eth0[0]x)", 4, NetworksErrorCause::Interface(InterfaceError::Bracket("eth0[0]x".into()))),
            ("tcp(eth0[0,x])", 11, NetworksErrorCause::Cpts(Problem::NotANumber)),
            ("tcp(eth0)[0", 9, NetworksErrorCause::Cpts(Problem::Bracket)),
            ("tcp(eth0)[0,]", 12, NetworksErrorCause::Cpts(Problem::NotANumber)),
            ("tcp,tcp0(eth0)", 4, NetworksErrorCause::Twice("tcp".into())),
        ];
        for (text, at, what) in table {
            assert_eq!(parse(text), Err(NetworksError { what, at }), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".*|[tcpo2ib0-9(),\\[\\]\\- eh]*") {
            if let Err(error) = parse(&text) {
                prop_assert!(error.at <= text.len() && text.is_char_boundary(error.at));
            }
        }

        #[test]
        fn written_text_is_read_back(
            text in "(tcp[1-3]?(\\((eth[0-3](\\[large\\])?(\\[[0-9](,[0-3]-[4-9])?\\])?)(,lo){0,2}\\))?(\\[large\\])?(\\[1,2\\])?,){0,3}"
        ) {
            if let Ok(networks) = parse(&text) {
                let written = networks.iter().map(Network::to_string).collect::<Vec<_>>().join(",");
                prop_assert_eq!(parse(&written), Ok(networks));
            }
        }
    }
}
