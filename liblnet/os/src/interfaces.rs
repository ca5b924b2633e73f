//! The network interfaces of this machine.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use thiserror::Error;

/// One address of an interface; an interface with several addresses is listed several times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostInterface {
    /// The name of the interface, or the label of an alias (`eth0:1`).
    pub name: String,
    /// Whether the interface is up.
    pub up: bool,
    /// Whether the interface is the loopback.
    pub loopback: bool,
    /// The address, if this entry is one.
    pub address: Option<IpAddr>,
}

impl HostInterface {
    /// The address, if it is one of IPv4.
    pub const fn v4(&self) -> Option<Ipv4Addr> {
        match self.address {
            Some(IpAddr::V4(v4)) => Some(v4),
            _ => None,
        }
    }
}

/// A family of IP addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Four bytes.
    V4,
    /// Sixteen bytes.
    V6,
}

impl Family {
    /// The family of an address.
    pub const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }
}

/// Writes `IPv4` or `IPv6`.
impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}

/// The reasons why an interface cannot have a NID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unusable {
    /// There is no interface with this name or address.
    #[error("there is no such interface")]
    Missing,
    /// The interface is not up.
    #[error("it is down")]
    Down,
    /// The interface has no address of this family.
    #[error("it has no {0} address")]
    NoAddress(Family),
    /// The interface has no other IPv6 address than one that is only valid on its link.
    #[error("its IPv6 address is link-local, which is none of a NID")]
    LinkLocal,
}

/// Returns all interfaces, in the system's order.
#[cfg(unix)]
pub fn host_interfaces() -> std::io::Result<Vec<HostInterface>> {
    use getifaddrs::{InterfaceFlags, getifaddrs};

    Ok(getifaddrs()?
        .map(|it| HostInterface {
            up: it.flags.contains(InterfaceFlags::UP),
            loopback: it.flags.contains(InterfaceFlags::LOOPBACK),
            address: it.address.ip_addr(),
            name: it.name,
        })
        .collect())
}

/// An error: there is no operating system that has interfaces.
#[cfg(not(unix))]
pub fn host_interfaces() -> std::io::Result<Vec<HostInterface>> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Whether an address is only valid on one link, so that it names no node.
pub const fn is_link_local(address: IpAddr) -> bool {
    match address {
        // The kernel's LNet takes those of 169.254.0.0/16.
        IpAddr::V4(_) => false,
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

/// The addresses of a family, at least one, that the interface of `host` with this name has for NIDs.
pub fn addresses_of(host: &[HostInterface], name: &str, family: Family) -> Result<Vec<IpAddr>, Unusable> {
    let its: Vec<_> = host.iter().filter(|it| it.name == name).collect();
    match its.first() {
        None => return Err(Unusable::Missing),
        Some(any) if !any.up => return Err(Unusable::Down),
        Some(_) => {}
    }
    let all = its.iter().filter_map(|it| it.address).filter(|address| Family::of(*address) == family);
    let (link_local, addresses): (Vec<_>, Vec<_>) = all.partition(|address| is_link_local(*address));
    match (addresses.is_empty(), link_local.is_empty()) {
        (false, _) => Ok(addresses),
        (true, false) => Err(Unusable::LinkLocal),
        (true, true) => Err(Unusable::NoAddress(family)),
    }
}

/// Whether some interface of `host` that is up answers to this address. The loopback answers to all of
/// 127.0.0.0/8.
pub fn has_address(host: &[HostInterface], address: IpAddr) -> Result<(), Unusable> {
    let has = |it: &&HostInterface| {
        it.address == Some(address) || (it.loopback && address.is_ipv4() && address.is_loopback())
    };
    let its: Vec<_> = host.iter().filter(has).collect();
    match its.iter().any(|it| it.up) {
        true => Ok(()),
        false if its.is_empty() => Err(Unusable::Missing),
        false => Err(Unusable::Down),
    }
}

/// The interface that is taken where none is named: the first that is up, is not the loopback and has an
/// address of this family for NIDs.
pub fn first_usable(host: &[HostInterface], family: Family) -> Option<(&str, IpAddr)> {
    let usable = host.iter().filter(|it| it.up && !it.loopback);
    let mut addresses = usable.filter_map(|it| Some((it.name.as_str(), it.address?)));
    addresses.find(|(_, address)| Family::of(*address) == family && !is_link_local(*address))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The addresses that are found, as text.
    type Found = Result<&'static [&'static str], Unusable>;

    #[test]
    fn interfaces_are_usable_if_they_are_up_and_have_an_address_of_the_family() {
        let entry = |name: &str, up, address: &str| HostInterface {
            name: name.into(),
            up,
            loopback: name == "lo",
            address: address.parse().ok(),
        };
        let host = [
            entry("lo", true, ""),
            entry("lo", true, "127.0.0.1"),
            entry("lo", true, "::1"),
            entry("eth0", true, "fe80::1"),
            entry("eth1", false, "10.0.1.1"),
            entry("eth2", true, ""),
            entry("eth2", true, "10.0.2.1"),
            entry("eth2", true, "10.0.2.2"),
            entry("eth2", true, "fe80::2"),
            entry("eth2", true, "fd99::2"),
            entry("eth3", true, "fd99::3"),
        ];
        let table: [(&str, Family, Found); 9] = [
            ("lo", Family::V4, Ok(&["127.0.0.1"])),
            ("lo", Family::V6, Ok(&["::1"])),
            ("eth2", Family::V4, Ok(&["10.0.2.1", "10.0.2.2"])),
            ("eth2", Family::V6, Ok(&["fd99::2"])),
            ("eth0", Family::V4, Err(Unusable::NoAddress(Family::V4))),
            ("eth0", Family::V6, Err(Unusable::LinkLocal)),
            ("eth1", Family::V4, Err(Unusable::Down)),
            ("eth3", Family::V4, Err(Unusable::NoAddress(Family::V4))),
            ("eth9", Family::V4, Err(Unusable::Missing)),
        ];
        for (name, family, expected) in table {
            let expected = expected.map(|all| all.iter().map(|it| it.parse::<IpAddr>().unwrap()).collect());
            assert_eq!(addresses_of(&host, name, family), expected, "{name} {family}");
        }
        for (address, result) in [
            ("127.3.2.1", Ok(())),
            ("10.0.2.2", Ok(())),
            ("fd99::2", Ok(())),
            ("::1", Ok(())),
            ("10.0.1.1", Err(Unusable::Down)),
            ("10.0.9.9", Err(Unusable::Missing)),
            ("fd99::9", Err(Unusable::Missing)),
        ] {
            assert_eq!(has_address(&host, address.parse().unwrap()), result, "{address}");
        }
        let first = |family| first_usable(&host, family).map(|(name, address)| (name, address.to_string()));
        assert_eq!(first(Family::V4), Some(("eth2", "10.0.2.1".to_owned())));
        assert_eq!(first(Family::V6), Some(("eth2", "fd99::2".to_owned())));
        assert_eq!(first_usable(&host[..6], Family::V4), None);
    }
}
