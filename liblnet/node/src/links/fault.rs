//! The decision whether an interface of this node works, from the machine's links. Pure.

use super::host_links::LinkAddress;
use std::fmt;
use std::net::IpAddr;

/// The reason why an interface of this node is down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault<'a> {
    /// No link has this name.
    Removed(&'a str),
    /// The link of this name is set down.
    Down(&'a str),
    /// The link of this name is set up, but has no carrier.
    NoCarrier(&'a str),
    /// The link of this name works, but no link has the address.
    NoAddress(&'a str),
    /// The address does not exist on this machine.
    Nowhere,
}

/// The fault of the interface with this address. `name` is how it was resolved: the name of a link, the label of an
/// alias, or an address. `is_local` is called for an address that no link has, unless the interface was resolved by a
/// name: then a link had it.
///
/// An address that has moved to another link works as before, and an address on two links works if one of them does.
pub(super) fn fault_of<'a>(
    address: IpAddr,
    name: Option<&'a str>,
    machine: &'a [LinkAddress],
    is_local: impl FnOnce(IpAddr) -> bool,
) -> Option<Fault<'a>> {
    let holders = || machine.iter().filter(|entry| entry.has(address));
    if let Some(first) = holders().next() {
        let works = |entry: &LinkAddress| fault_of_link(entry).is_none();
        return if holders().any(works) { None } else { fault_of_link(first) };
    }
    let Some(name) = name.filter(|name| name.parse::<IpAddr>().is_err()) else {
        return if is_local(address) { None } else { Some(Fault::Nowhere) };
    };
    // An alias without its address is not listed, but its link is.
    let link = name.split_once(':').map_or(name, |(link, _)| link);
    match machine.iter().find(|entry| entry.name == link) {
        None => Some(Fault::Removed(link)),
        Some(entry) => fault_of_link(entry).or(Some(Fault::NoAddress(link))),
    }
}

fn fault_of_link(entry: &LinkAddress) -> Option<Fault<'_>> {
    match entry {
        LinkAddress { up: false, name, .. } => Some(Fault::Down(name)),
        LinkAddress { carrier: false, name, .. } => Some(Fault::NoCarrier(name)),
        _ => None,
    }
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Removed(link) => write!(f, "{link} is gone"),
            Self::Down(link) => write!(f, "{link} is down"),
            Self::NoCarrier(link) => write!(f, "{link} has no carrier"),
            Self::NoAddress(link) => write!(f, "{link} does not have the address any more"),
            Self::Nowhere => f.write_str("no interface of the machine has the address"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn entry(name: &str, state: &str, address: Option<&str>) -> LinkAddress {
        LinkAddress {
            name: name.to_owned(),
            up: state != "down",
            carrier: state == "works",
            address: address.map(|address| address.parse().unwrap()),
            whole_net: (name == "lo").then_some(Ipv4Addr::new(255, 0, 0, 0)),
            prefix_len: None,
        }
    }

    #[test]
    fn the_loopback_has_the_addresses_of_its_whole_net_while_it_is_up() {
        let listed = |state| [entry("lo", state, None), entry("lo", state, Some("127.0.0.1"))];
        for (address, state, fault) in [
            ("127.0.0.1", "works", None),
            ("127.3.2.1", "works", None),
            ("127.0.0.1", "down", Some(Fault::Down("lo"))),
            ("127.3.2.1", "down", Some(Fault::Down("lo"))),
            ("128.0.0.1", "works", Some(Fault::Nowhere)),
        ] {
            let (address, machine) = (address.parse().unwrap(), listed(state));
            assert_eq!(fault_of(address, None, &machine, |_| false), fault, "{address}, {state}");
        }
    }

    /// HE-4: fails if an interface counts as down while its address is on a link that works, or as up while it is on none.
    #[test]
    fn an_interface_works_as_long_as_its_address_is_on_a_link_that_works() {
        let machine = [
            entry("lo", "works", None),
            entry("lo", "works", Some("127.0.0.1")),
            entry("lo", "works", Some("::1")),
            entry("eth0", "works", None),
            entry("eth0", "works", Some("10.0.0.1")),
            entry("eth0:1", "works", Some("10.0.0.2")),
            entry("eth0", "works", Some("fd99::1")),
            entry("eth1", "no carrier", None),
            entry("eth1", "no carrier", Some("10.0.1.1")),
            entry("eth1", "no carrier", Some("10.0.9.1")),
            entry("eth2", "down", None),
            entry("eth2", "down", Some("10.0.2.1")),
            entry("eth2:1", "down", Some("10.0.2.2")),
            entry("eth3", "works", None),
            entry("eth3", "works", Some("10.0.9.1")),
        ];
        let text = |address: &str, name, is_local| {
            let address = address.parse().unwrap();
            let fault = fault_of(address, name, &machine, |asked| {
                assert_eq!(asked, address);
                is_local
            });
            fault.map_or_else(|| "works".to_owned(), |fault| fault.to_string())
        };
        let nowhere = "no interface of the machine has the address";
        for (address, name, is_local, result) in [
            ("127.0.0.1", Some("lo"), false, "works"),
            ("127.0.0.1", None, false, "works"),
            // The address is not listed, but the machine accepts it.
            ("127.3.2.1", Some("127.3.2.1"), false, "works"),
            ("127.3.2.1", None, false, "works"),
            ("10.0.0.9", None, true, "works"),
            ("10.0.0.9", None, false, nowhere),
            ("fd99::9", Some("fd99::9"), true, "works"),
            ("fd99::9", Some("fd99::9"), false, nowhere),
            ("10.0.0.1", Some("eth0"), false, "works"),
            ("10.0.0.2", Some("eth0:1"), false, "works"),
            ("fd99::1", None, false, "works"),
            // The address has moved to another link.
            ("10.0.0.1", Some("eth7"), false, "works"),
            ("10.0.0.1", Some("eth2"), false, "works"),
            // The address is on two links, of which one works.
            ("10.0.9.1", Some("eth1"), false, "works"),
            ("10.0.1.1", Some("eth1"), true, "eth1 has no carrier"),
            ("10.0.1.1", None, true, "eth1 has no carrier"),
            ("10.0.2.1", Some("10.0.2.1"), true, "eth2 is down"),
            ("10.0.2.2", Some("eth2:1"), true, "eth2:1 is down"),
            // An address that was on a link is not looked for among local routes.
            ("10.0.0.9", Some("eth0"), true, "eth0 does not have the address any more"),
            ("10.0.0.9", Some("eth0:7"), true, "eth0 does not have the address any more"),
            ("10.0.1.9", Some("eth1"), true, "eth1 has no carrier"),
            ("10.0.2.9", Some("eth2"), true, "eth2 is down"),
            ("10.0.9.9", Some("eth9"), true, "eth9 is gone"),
            ("10.0.9.9", Some("10.0.9.9"), false, nowhere),
        ] {
            assert_eq!(text(address, name, is_local), result, "{address} by {name:?}, local: {is_local}");
        }
    }
}
