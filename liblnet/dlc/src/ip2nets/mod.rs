//! Rules of `ip2nets`, which put a machine on nets by its addresses (dlc 4).
//!
//! One set of rules serves many machines: each applies those that match its own addresses.

mod text;

pub use text::{Ip2netsError, Ip2netsErrorCause, parse_string};

use crate::InterfaceSpec;
use lnet_os::interfaces::{Family, HostInterface, Unusable, addresses_of, first_usable, has_address};
use lnet_wire::{Errno, IpRange, NetId};
use std::net::{IpAddr, Ipv4Addr};
use thiserror::Error;

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The net.
    pub net: NetId,
    /// The interfaces; if empty, those with a matching address.
    pub interfaces: Vec<InterfaceSpec>,
    /// The ranges of addresses that match; if empty, all do.
    pub ranges: Vec<IpRange>,
}

/// An interface that a rule names, but whose address the rule excludes or that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Mismatch {
    #[error("interface {interface} has address {address}, which is not in {ranges}")]
    Contradiction { interface: String, address: Ipv4Addr, ranges: String },
    #[error("there is no interface {0}")]
    Missing(String),
    #[error("interface {0} is down")]
    Down(String),
    #[error("interface {0} has no IPv4 address")]
    NoAddress(String),
}

/// The interfaces that a rule selects on one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// The interfaces of which an NI is created each. An interface that matches by another address than its first is
    /// named by that address, since its name would mean the first.
    pub interfaces: Vec<InterfaceSpec>,
    /// The interfaces that the rule names and this machine lacks, or has without a usable address.
    pub mismatches: Vec<Mismatch>,
}

/// Selects the interfaces among `host`, those of a machine, that `rule` applies to.
///
/// | interfaces | ranges | selected |
/// |---|---|---|
/// | none | none | the first interface that is up, not the loopback, and has an IPv4 address |
/// | none | some | every interface that is up and has an address in a range |
/// | some | none | each of them that is up and has an IPv4 address |
/// | some | some | each of them that is up and has an address in a range |
///
/// Each interface is selected once, by its first matching address. A named interface that is not selected is a mismatch;
/// where none is named, there are no mismatches. The loopback is selected if it is named, or if a range has 127
/// as the first octet: `*` means the machine's addresses in the network.
pub fn matched(rule: &Rule, host: &[HostInterface]) -> Matched {
    let mut matched = Matched::default();
    match (&rule.interfaces[..], &rule.ranges[..]) {
        ([], []) => {
            let first = first_usable(host, Family::V4);
            matched.interfaces.extend(first.map(|(name, _)| InterfaceSpec::named(name)));
        }
        ([], ranges) => {
            for it in host.iter().filter(|it| it.up) {
                if let Some(address) = it.v4()
                    && ranges.iter().any(|range| admits(range, address, it.loopback))
                {
                    let first =
                        v4_addresses_of(host, &it.name).is_ok_and(|all| all.first() == Some(&address));
                    matched.take(&it.name, InterfaceSpec::named(name_for(&it.name, address, first)), host);
                }
            }
        }
        (named, ranges) => {
            for spec in named {
                match address_for(&spec.name, ranges, host) {
                    Ok((address, first)) => {
                        let name = name_for(&spec.name, address, first);
                        matched.take(&spec.name, InterfaceSpec { name, cpts: spec.cpts.clone() }, host);
                    }
                    Err(mismatch) => matched.mismatches.push(mismatch),
                }
            }
        }
    }
    matched
}

impl Matched {
    /// The mismatch that makes the rule a failure (CONFLICT-15): a contradiction, or any if the rule selected
    /// nothing. The others are warnings.
    pub fn failure(&self) -> Option<&Mismatch> {
        let is_contradiction = |it: &&Mismatch| matches!(it, Mismatch::Contradiction { .. });
        let other = if self.interfaces.is_empty() { self.mismatches.first() } else { None };
        self.mismatches.iter().find(is_contradiction).or(other)
    }

    /// Selects an interface unless it has been selected by another address.
    fn take(&mut self, interface: &str, spec: InterfaceSpec, host: &[HostInterface]) {
        let owner = owner_of(interface, host);
        if !self.interfaces.iter().any(|taken| owner_of(&taken.name, host) == owner) {
            self.interfaces.push(spec);
        }
    }
}

impl Mismatch {
    /// The errno of the mismatch.
    pub const fn errno(&self) -> Errno {
        match self {
            Self::Contradiction { .. } => Errno::Invalid,
            Self::Missing(_) => Errno::NoDevice,
            Self::Down(_) => Errno::NetworkDown,
            Self::NoAddress(_) => Errno::AddressNotAvailable,
        }
    }
}

/// The first address of a named interface that is in a range, and whether it is the interface's first.
fn address_for(name: &str, ranges: &[IpRange], host: &[HostInterface]) -> Result<(Ipv4Addr, bool), Mismatch> {
    let addresses = match name.parse::<Ipv4Addr>() {
        Ok(address) => has_address(host, IpAddr::V4(address)).map(|()| vec![address]),
        Err(_) => v4_addresses_of(host, name),
    }
    .map_err(|unusable| match unusable {
        Unusable::Missing => Mismatch::Missing(name.to_owned()),
        Unusable::Down => Mismatch::Down(name.to_owned()),
        Unusable::NoAddress(_) | Unusable::LinkLocal => Mismatch::NoAddress(name.to_owned()),
    })?;
    let fits =
        |address: &Ipv4Addr| ranges.is_empty() || ranges.iter().any(|it| it.matches((*address).into()));
    match (addresses.iter().position(fits), addresses.first()) {
        (Some(at), _) => Ok((addresses[at], at == 0)),
        (None, Some(&address)) => Err(Mismatch::Contradiction {
            interface: name.to_owned(),
            address,
            ranges: ranges.iter().map(IpRange::to_string).collect::<Vec<_>>().join(" "),
        }),
        (None, None) => Err(Mismatch::NoAddress(name.to_owned())),
    }
}

/// The IPv4 addresses, at least one, of an interface.
fn v4_addresses_of(host: &[HostInterface], name: &str) -> Result<Vec<Ipv4Addr>, Unusable> {
    let all = addresses_of(host, name, Family::V4)?.into_iter();
    Ok(all.filter_map(|address| if let IpAddr::V4(v4) = address { Some(v4) } else { None }).collect())
}

/// The name of the interface if that means `address`, else the address.
fn name_for(interface: &str, address: Ipv4Addr, first: bool) -> String {
    if first { interface.to_owned() } else { address.to_string() }
}

/// The name of the interface with this name or address. Each address of the loopback range counts as an interface of its
/// own: several nodes, and several interfaces of one, share it.
fn owner_of<'a>(interface: &'a str, host: &'a [HostInterface]) -> &'a str {
    let Ok(address) = interface.parse::<Ipv4Addr>() else { return interface };
    if address.is_loopback() {
        return interface;
    }
    host.iter().find(|it| it.v4() == Some(address)).map_or(interface, |it| &it.name)
}

/// Whether a rule without interfaces matches this address.
fn admits(range: &IpRange, address: Ipv4Addr, loopback: bool) -> bool {
    let [first, ..] = range.octets();
    range.matches(address.into()) && (!loopback || first.count() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_wire::NetType;

    fn host() -> Vec<HostInterface> {
        let entry = |name: &str, up, v4: Option<&str>| HostInterface {
            name: name.into(),
            up,
            loopback: name == "lo",
            address: v4.map(|text| text.parse().unwrap()),
        };
        vec![
            entry("lo", true, None),
            entry("lo", true, Some("127.0.0.1")),
            entry("eth3", true, None),
            entry("eth2", false, Some("10.0.2.1")),
            entry("eth0", true, Some("10.0.0.1")),
            entry("eth0", true, Some("192.0.2.1")),
            entry("eth0", true, Some("192.0.2.2")),
            entry("eth0:1", true, Some("10.0.0.9")),
            entry("eth1", true, Some("10.0.1.1")),
        ]
    }

    fn rule(interfaces: &str, ranges: &str) -> Rule {
        Rule {
            net: NetId::new(NetType::TCP, 0),
            interfaces: match interfaces {
                "" => vec![],
                list => InterfaceSpec::parse_list(list).unwrap(),
            },
            ranges: ranges.split_whitespace().map(|range| range.parse().unwrap()).collect(),
        }
    }

    #[test]
    fn a_rule_selects_the_interfaces_that_match_it() {
        let contradiction = |interface: &str, address: &str, ranges: &str| Mismatch::Contradiction {
            interface: interface.into(),
            address: address.parse().unwrap(),
            ranges: ranges.into(),
        };
        let missing = |name: &str| Mismatch::Missing(name.into());
        let table: &[(&str, &str, &[&str], &[Mismatch])] = &[
            // No interfaces, no ranges: the first usable.
            ("", "", &["eth0"], &[]),
            // Only ranges: all that match, each once, by the first address that matches.
            ("", "*.*.*.*", &["eth0", "eth0:1", "eth1"], &[]),
            ("", "10.0.[0-2].1", &["eth0", "eth1"], &[]),
            ("", "10.0.1.* 10.0.0.1", &["eth0", "eth1"], &[]),
            ("", "192.0.2.*", &["192.0.2.1"], &[]),
            ("", "192.0.2.[2-8/2]", &["192.0.2.2"], &[]),
            ("", "10.0.0.9", &["eth0:1"], &[]),
            ("", "198.51.100.*", &[], &[]),
            ("", "10.0.2.1", &[], &[]),
            // The loopback only when it is meant.
            ("", "127.0.0.1", &["lo"], &[]),
            ("", "127.*.*.*", &["lo"], &[]),
            ("", "[11-255].0.0.1", &[], &[]),
            ("lo", "", &["lo"], &[]),
            ("lo", "*.*.*.*", &["lo"], &[]),
            // Only interfaces: those that can be used.
            ("eth1[0],eth0", "", &["eth1[0]", "eth0"], &[]),
            ("eth0,eth0", "", &["eth0"], &[]),
            ("eth0,10.0.0.1,192.0.2.1", "", &["eth0"], &[]),
            ("192.0.2.1", "", &["192.0.2.1"], &[]),
            ("127.0.1.1,127.0.2.1", "", &["127.0.1.1", "127.0.2.1"], &[]),
            ("eth0,eth9", "", &["eth0"], &[missing("eth9")]),
            ("203.0.113.1", "", &[], &[missing("203.0.113.1")]),
            ("eth2", "", &[], &[Mismatch::Down("eth2".into())]),
            ("10.0.2.1", "", &[], &[Mismatch::Down("10.0.2.1".into())]),
            ("eth3", "", &[], &[Mismatch::NoAddress("eth3".into())]),
            // Both: those that fit; the others contradict the ranges.
            ("eth0,eth1", "10.0.0.*", &["eth0"], &[contradiction("eth1", "10.0.1.1", "10.0.0.[0-255]")]),
            ("eth0[1]", "192.0.2.2 192.0.2.3", &["192.0.2.2[1]"], &[]),
            ("127.0.1.1", "127.0.[1-2].1", &["127.0.1.1"], &[]),
            ("127.0.1.1", "10.0.0.1", &[], &[contradiction("127.0.1.1", "127.0.1.1", "10.0.0.1")]),
            ("eth9,eth2", "*.*.*.*", &[], &[missing("eth9"), Mismatch::Down("eth2".into())]),
        ];
        for (interfaces, ranges, taken, mismatches) in table {
            let matched = matched(&rule(interfaces, ranges), &host());
            let names: Vec<_> = matched.interfaces.iter().map(InterfaceSpec::to_string).collect();
            assert_eq!(names, *taken, "({interfaces}) {ranges}");
            assert_eq!(matched.mismatches, *mismatches, "({interfaces}) {ranges}");
        }
        assert_eq!(matched(&rule("", ""), &host()[..3]), Matched::default());
    }

    #[test]
    fn a_contradiction_always_fails_and_others_only_where_nothing_is_left() {
        for (interfaces, ranges, errno) in [
            ("eth0", "10.0.0.*", None),
            ("", "198.51.100.*", None),
            ("eth0,eth1", "10.0.0.*", Some(Errno::Invalid)),
            ("eth9,eth1", "10.0.0.*", Some(Errno::Invalid)),
            ("eth0,eth9", "10.0.0.*", None),
            ("eth9", "10.0.0.*", Some(Errno::NoDevice)),
            ("eth2,eth9", "", Some(Errno::NetworkDown)),
            ("eth3", "", Some(Errno::AddressNotAvailable)),
        ] {
            let matched = matched(&rule(interfaces, ranges), &host());
            assert_eq!(matched.failure().map(Mismatch::errno), errno, "({interfaces}) {ranges}");
        }
    }
}
