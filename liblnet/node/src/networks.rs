//! The `networks` string: which nets a node is on, by which interfaces.
//!
//! As the kernel's module parameter: `tcp(eth0,eth1),tcp1(eth2)`. An interface may also be given by one of
//! its addresses, `tcp(127.0.1.1)`, which needs no privilege and lets several nodes share a machine. A net
//! without interfaces takes the machine's first.

use lnet_wire::{NetId, NetType};
use thiserror::Error;

/// One net and the interfaces by which the node is on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Which net.
    pub net: NetId,
    /// Names or addresses; none for the machine's first interface.
    pub interfaces: Vec<String>,
}

/// What is wrong with a `networks` string, and at which byte.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what} at byte {at}")]
pub struct NetworksError {
    /// What is wrong.
    pub what: Wrong,
    /// Where, from 0.
    pub at: usize,
}

/// The ways in which a `networks` string can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Wrong {
    /// Not the name of a net.
    #[error("`{0}` is no net")]
    NotANet(String),
    /// A net of a kind that this library has no driver for.
    #[error("there is no driver for `{0}`")]
    NoDriver(String),
    /// The same net twice.
    #[error("`{0}` is named twice")]
    Twice(String),
    /// An interface without a name.
    #[error("an interface without a name")]
    EmptyInterface,
    /// A parenthesis that is not closed.
    #[error("a `(` without its `)`")]
    Unclosed,
    /// Something else where a comma should be.
    #[error("a `,` should be")]
    CommaExpected,
    /// CPU partitions (`[0,1]`), which are not supported yet.
    #[error("CPU partitions in brackets are not supported yet")]
    CptsNotSupported,
}

/// Reads a `networks` string. The empty string names no nets.
pub fn parse(text: &str) -> Result<Vec<Network>, NetworksError> {
    let mut networks: Vec<Network> = Vec::new();
    let mut scanner = Scanner { text, at: 0 };
    scanner.skip_blanks();
    while !scanner.at_end() {
        let start = scanner.at;
        let network = scanner.network()?;
        if networks.iter().any(|known| known.net == network.net) {
            return Err(error(start, Wrong::Twice(text[start..scanner.at].to_owned())));
        }
        if network.net != NetId::LOOPBACK {
            networks.push(network);
        }
        scanner.skip_blanks();
        if !scanner.at_end() {
            scanner.expect(',', Wrong::CommaExpected)?;
            scanner.skip_blanks();
        }
    }
    Ok(networks)
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

fn error(at: usize, what: Wrong) -> NetworksError {
    NetworksError { what, at }
}

impl<'a> Scanner<'a> {
    fn network(&mut self) -> Result<Network, NetworksError> {
        let start = self.at;
        let name = self.take_until(&['(', ',', '[', ' ', '\t', '\n']);
        let Ok(net) = name.parse::<NetId>() else {
            return Err(error(start, Wrong::NotANet(name.to_owned())));
        };
        if net.kind() != NetType::TCP && net != NetId::LOOPBACK {
            return Err(error(start, Wrong::NoDriver(name.to_owned())));
        }
        let mut interfaces = Vec::new();
        if self.peek() == Some('(') {
            let open = self.at;
            self.at += 1;
            loop {
                self.skip_blanks();
                let start = self.at;
                let name = self.take_until(&['(', ')', ',', '[']).trim_end();
                if self.peek() == Some('[') {
                    return Err(error(self.at, Wrong::CptsNotSupported));
                }
                if name.is_empty() {
                    return Err(error(start, Wrong::EmptyInterface));
                }
                interfaces.push(name.to_owned());
                match self.peek() {
                    Some(',') => self.at += 1,
                    Some(')') => break,
                    _ => return Err(error(open, Wrong::Unclosed)),
                }
            }
            self.at += 1;
        }
        if self.peek() == Some('[') {
            return Err(error(self.at, Wrong::CptsNotSupported));
        }
        Ok(Network { net, interfaces })
    }

    fn take_until(&mut self, stops: &[char]) -> &'a str {
        let rest = &self.text[self.at..];
        let taken = &rest[..rest.find(stops).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn expect(&mut self, wanted: char, otherwise: Wrong) -> Result<(), NetworksError> {
        if self.peek() != Some(wanted) {
            return Err(error(self.at, otherwise));
        }
        self.at += wanted.len_utf8();
        Ok(())
    }

    fn skip_blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn at_end(&self) -> bool {
        self.at == self.text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_strings_that_are_right() {
        let tcp = |number, interfaces: &[&str]| Network {
            net: NetId::new(NetType::TCP, number),
            interfaces: interfaces.iter().map(|s| (*s).to_owned()).collect(),
        };
        let table = [
            ("", vec![]),
            ("tcp", vec![tcp(0, &[])]),
            ("tcp0(eth0)", vec![tcp(0, &["eth0"])]),
            (
                " tcp( eth0 , eth1:1 ), tcp1(127.0.1.1) ",
                vec![tcp(0, &["eth0", "eth1:1"]), tcp(1, &["127.0.1.1"])],
            ),
            ("lo,tcp7", vec![tcp(7, &[])]),
        ];
        for (text, want) in table {
            assert_eq!(parse(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn networks_strings_that_are_wrong_say_where() {
        let table = [
            ("tpc(eth0)", 0, Wrong::NotANet("tpc".into())),
            ("tcp,o2ib(ib0)", 4, Wrong::NoDriver("o2ib".into())),
            ("tcp(eth0", 3, Wrong::Unclosed),
            ("tcp()", 4, Wrong::EmptyInterface),
            ("tcp(eth0,)", 9, Wrong::EmptyInterface),
            ("tcp(eth0) tcp1", 10, Wrong::CommaExpected),
            ("tcp(eth0[0])", 8, Wrong::CptsNotSupported),
            ("tcp(eth0)[0]", 9, Wrong::CptsNotSupported),
            ("tcp,tcp0(eth0)", 4, Wrong::Twice("tcp0(eth0)".into())),
        ];
        for (text, at, what) in table {
            assert_eq!(parse(text), Err(NetworksError { what, at }), "{text}");
        }
    }
}
