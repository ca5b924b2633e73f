//! Rules of `ip2nets`, which put a machine on nets by its addresses (dlc 4).
//!
//! One set of rules serves many machines: each applies those that match its own addresses.

mod text;

pub use lnet_os::interfaces::HostInterface;
pub use text::{Ip2netsError, Ip2netsErrorCause, parse_string};

use crate::InterfaceSpec;
use lnet_os::interfaces::{
    Family, Unusable, addresses_of, first_usable, has_address, is_link_local, without_large,
};
use lnet_wire::{Errno, IpRange, NetId};
use std::net::IpAddr;
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
    Contradiction { interface: String, address: IpAddr, ranges: String },
    #[error("there is no interface {0}")]
    Missing(String),
    #[error("interface {0} is down")]
    Down(String),
    #[error("interface {0} has no {1} address")]
    NoAddress(String, Family),
}

/// The interfaces that a rule selects on one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// The interfaces of which an NI is created each. An interface that matches by another address than its first IPv4 address is
    /// named by that address, since its name would mean another one.
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
/// Each interface is selected once for each family of addresses, by its first matching address of that family; so a rule with ranges of both
/// families may select an interface twice. A named interface that is not selected is a mismatch;
/// where none is named, there are no mismatches. Link-local IPv6 addresses match nothing. The loopback is selected if it is named, or if
/// a range has 127 as the first octet, or one number as the first group: `*` means the machine's addresses in the network.
///
/// On a node with large NIDs the name of an interface with an IPv6 address means that one, so its IPv4 address is given instead.
pub fn matched(rule: &Rule, host: &[HostInterface], large_nids: bool) -> Matched {
    let named_by = |name: &str, address| name_for(name, address, host, large_nids);
    let mut matched = Matched::default();
    match (&rule.interfaces[..], &rule.ranges[..]) {
        ([], []) => {
            let first = first_usable(host, Family::V4);
            let named = first.map(|(name, address)| InterfaceSpec::named(named_by(name, address)));
            matched.interfaces.extend(named);
        }
        ([], ranges) => {
            for it in host.iter().filter(|it| it.up) {
                if let Some(address) = it.address.filter(|address| !is_link_local(*address))
                    && ranges.iter().any(|range| admits(range, address, it.loopback))
                {
                    let spec = InterfaceSpec::named(named_by(&it.name, address));
                    matched.take(&it.name, Family::of(address), spec, host);
                }
            }
        }
        (named, ranges) => {
            for spec in named {
                match addresses_for(&spec.name, ranges, host) {
                    Ok(addresses) => {
                        for address in addresses {
                            let name = named_by(&spec.name, address);
                            let spec_of_it = InterfaceSpec { name, cpts: spec.cpts.clone() };
                            matched.take(&spec.name, Family::of(address), spec_of_it, host);
                        }
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

    /// Selects an interface unless it has been selected by another address of the family.
    fn take(&mut self, interface: &str, family: Family, spec: InterfaceSpec, host: &[HostInterface]) {
        let owner = owner_of(interface, host);
        let is_it = |taken: &InterfaceSpec| {
            let its_family = taken.name.parse().map_or(Family::V4, Family::of);
            its_family == family && owner_of(&taken.name, host) == owner
        };
        if !self.interfaces.iter().any(is_it) {
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
            Self::NoAddress(..) => Errno::AddressNotAvailable,
        }
    }
}

/// The addresses of a named interface that are in a range, the first of each family.
fn addresses_for(name: &str, ranges: &[IpRange], host: &[HostInterface]) -> Result<Vec<IpAddr>, Mismatch> {
    let families = match without_large(name) {
        (_, true) => &[Family::V6],
        (_, false) => families_of(ranges),
    };
    let (name, _) = without_large(name);
    let first_of_machine = if name.is_empty() { first_usable(host, Family::V6) } else { None };
    let name = first_of_machine.map_or(name, |(its, _)| its);
    let addresses = match name.parse::<IpAddr>() {
        Ok(address) => has_address(host, address).map(|()| vec![address]),
        Err(_) => all_of_families(host, name, families),
    }
    .map_err(|unusable| match unusable {
        Unusable::Missing => Mismatch::Missing(name.to_owned()),
        Unusable::Down => Mismatch::Down(name.to_owned()),
        Unusable::NoAddress(_) | Unusable::LinkLocal => {
            Mismatch::NoAddress(name.to_owned(), families.first().copied().unwrap_or(Family::V4))
        }
    })?;
    let fits = |address: &&IpAddr| ranges.is_empty() || ranges.iter().any(|it| it.matches(**address));
    let first_of = |family| addresses.iter().filter(fits).find(|address| Family::of(**address) == family);
    let fitting: Vec<IpAddr> = [Family::V4, Family::V6].into_iter().filter_map(first_of).copied().collect();
    match (fitting.is_empty(), addresses.first()) {
        (false, _) => Ok(fitting),
        (true, Some(&address)) => Err(Mismatch::Contradiction {
            interface: name.to_owned(),
            address,
            ranges: ranges.iter().map(IpRange::to_string).collect::<Vec<_>>().join(" "),
        }),
        (true, None) => Err(Mismatch::NoAddress(name.to_owned(), Family::V4)),
    }
}

/// The families of the ranges; IPv4 where there are none.
fn families_of(ranges: &[IpRange]) -> &'static [Family] {
    match (ranges.iter().any(|range| !range.is_v6()), ranges.iter().any(IpRange::is_v6)) {
        (true, true) => &[Family::V4, Family::V6],
        (false, true) => &[Family::V6],
        (_, false) => &[Family::V4],
    }
}

/// The addresses of these families, at least one, of an interface.
fn all_of_families(host: &[HostInterface], name: &str, families: &[Family]) -> Result<Vec<IpAddr>, Unusable> {
    let mut error = Unusable::Missing;
    let mut all = Vec::new();
    for family in families {
        match addresses_of(host, name, *family) {
            Ok(addresses) => all.extend(addresses),
            Err(unusable) => error = unusable,
        }
    }
    if all.is_empty() { Err(error) } else { Ok(all) }
}

/// The name of the interface if that means `address`, its first IPv4 address; else the address.
fn name_for(interface: &str, address: IpAddr, host: &[HostInterface], large_nids: bool) -> String {
    let (interface, _) = without_large(interface);
    let is_name = interface.parse::<IpAddr>().is_err();
    let first = addresses_of(host, interface, Family::V4).ok().and_then(|all| all.first().copied());
    let means_v4 = !large_nids || addresses_of(host, interface, Family::V6).is_err();
    if is_name && means_v4 && first == Some(address) { interface.to_owned() } else { address.to_string() }
}

/// The name of the interface with this name or address. Each address of the IPv4 loopback range counts as an interface of its
/// own: several nodes, and several interfaces of one, share it.
fn owner_of<'a>(interface: &'a str, host: &'a [HostInterface]) -> &'a str {
    let (interface, _) = without_large(interface);
    let Ok(address) = interface.parse::<IpAddr>() else { return interface };
    if address.is_ipv4() && address.is_loopback() {
        return interface;
    }
    host.iter().find(|it| it.address == Some(address)).map_or(interface, |it| &it.name)
}

/// Whether a rule without interfaces matches this address.
fn admits(range: &IpRange, address: IpAddr, loopback: bool) -> bool {
    range.matches(address) && (!loopback || range.begins_with_one_number())
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
            entry("lo", true, Some("::1")),
            entry("eth0", true, Some("fe80::1")),
            entry("eth0", true, Some("fd99::1")),
            entry("eth0", true, Some("fd99::2")),
            entry("eth1", true, Some("fd99:1::1")),
            entry("eth3", true, Some("fe80::3")),
            entry("eth4", true, Some("fd99::4")),
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
            ("eth3", "", &[], &[Mismatch::NoAddress("eth3".into(), Family::V4)]),
            // Both: those that fit; the others contradict the ranges.
            ("eth0,eth1", "10.0.0.*", &["eth0"], &[contradiction("eth1", "10.0.1.1", "10.0.0.[0-255]")]),
            ("eth0[1]", "192.0.2.2 192.0.2.3", &["192.0.2.2[1]"], &[]),
            ("127.0.1.1", "127.0.[1-2].1", &["127.0.1.1"], &[]),
            ("127.0.1.1", "10.0.0.1", &[], &[contradiction("127.0.1.1", "127.0.1.1", "10.0.0.1")]),
            ("eth9,eth2", "*.*.*.*", &[], &[missing("eth9"), Mismatch::Down("eth2".into())]),
            // IPv6: by address, since a name means an IPv4 address; never link-local.
            ("", "::/0", &["fd99::1", "fd99:1::1", "fd99::4"], &[]),
            ("", "*:*:*:*:*:*:*:*", &["fd99::1", "fd99:1::1", "fd99::4"], &[]),
            ("", "fd99::[2-a]", &["fd99::2", "fd99::4"], &[]),
            ("", "fe80::/10", &[], &[]),
            ("", "::1", &["::1"], &[]),
            ("", "10.0.0.0/24 fd99:1::/64", &["eth0", "eth0:1", "fd99:1::1"], &[]),
            ("", "10.0.0.1 fd99::/64", &["eth0", "fd99::1", "fd99::4"], &[]),
            ("eth0", "10.0.0.1 fd99::2", &["eth0", "fd99::2"], &[]),
            ("eth0[1],eth4", "fd99::/64", &["fd99::1[1]", "fd99::4"], &[]),
            ("eth0", "fd99:7::/64", &[], &[contradiction("eth0", "fd99::1", "fd99:7::/64")]),
            ("eth3", "fd99::/64", &[], &[Mismatch::NoAddress("eth3".into(), Family::V6)]),
            ("eth4", "10.0.0.*", &[], &[Mismatch::NoAddress("eth4".into(), Family::V4)]),
            ("eth0[large]", "", &["fd99::1"], &[]),
            ("eth0[large][1]", "fd99::2", &["fd99::2[1]"], &[]),
            ("eth0[large]", "10.0.0.1", &[], &[contradiction("eth0", "fd99::1", "10.0.0.1")]),
            ("[large]", "", &["fd99::1"], &[]),
            ("[large][1]", "fd99::/64", &["fd99::1[1]"], &[]),
            ("fd99::2", "", &["fd99::2"], &[]),
            ("fd99::9", "", &[], &[missing("fd99::9")]),
        ];
        for (interfaces, ranges, taken, mismatches) in table {
            let matched = matched(&rule(interfaces, ranges), &host(), false);
            let names: Vec<_> = matched.interfaces.iter().map(InterfaceSpec::to_string).collect();
            assert_eq!(names, *taken, "({interfaces}) {ranges}");
            assert_eq!(matched.mismatches, *mismatches, "({interfaces}) {ranges}");
        }
        assert_eq!(matched(&rule("", ""), &host()[..3], false), Matched::default());
    }

    /// Fails if an interface with both families is named where the name means its IPv6 address.
    #[test]
    fn on_a_node_with_large_nids_ipv4_addresses_beside_ipv6_ones_are_given_as_addresses() {
        for (interfaces, ranges, taken) in [
            ("", "", &["10.0.0.1"][..]),
            ("eth0[1]", "", &["10.0.0.1[1]"]),
            ("eth0", "10.0.0.1 fd99::1", &["10.0.0.1", "fd99::1"]),
            ("", "10.0.0.0/16", &["10.0.0.1", "eth0:1", "10.0.1.1"]),
            ("eth0[large]", "", &["fd99::1"]),
        ] {
            let names: Vec<_> = matched(&rule(interfaces, ranges), &host(), true).interfaces;
            let names: Vec<_> = names.iter().map(InterfaceSpec::to_string).collect();
            assert_eq!(names, taken, "({interfaces}) {ranges}");
        }
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
            let matched = matched(&rule(interfaces, ranges), &host(), false);
            assert_eq!(matched.failure().map(Mismatch::errno), errno, "({interfaces}) {ranges}");
        }
    }
}
