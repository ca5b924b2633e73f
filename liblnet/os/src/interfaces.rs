//! The network interfaces of this machine.

use std::net::Ipv4Addr;
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
    /// The IPv4 address, if this entry is one.
    pub v4: Option<Ipv4Addr>,
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
    /// The interface has no IPv4 address.
    #[error("it has no IPv4 address")]
    NoAddress,
}

/// Returns all interfaces, in the system's order.
#[cfg(unix)]
pub fn host_interfaces() -> std::io::Result<Vec<HostInterface>> {
    use getifaddrs::{InterfaceFlags, getifaddrs};
    use std::net::IpAddr;

    Ok(getifaddrs()?
        .map(|it| HostInterface {
            up: it.flags.contains(InterfaceFlags::UP),
            loopback: it.flags.contains(InterfaceFlags::LOOPBACK),
            v4: it.address.ip_addr().and_then(|address| match address {
                IpAddr::V4(v4) => Some(v4),
                IpAddr::V6(_) => None,
            }),
            name: it.name,
        })
        .collect())
}

/// An error: there is no operating system that has interfaces.
#[cfg(not(unix))]
pub fn host_interfaces() -> std::io::Result<Vec<HostInterface>> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// The IPv4 addresses, at least one, of the interface of `host` with this name.
pub fn addresses_of(host: &[HostInterface], name: &str) -> Result<Vec<Ipv4Addr>, Unusable> {
    let its: Vec<_> = host.iter().filter(|it| it.name == name).collect();
    match its.first() {
        None => return Err(Unusable::Missing),
        Some(any) if !any.up => return Err(Unusable::Down),
        Some(_) => {}
    }
    let addresses: Vec<_> = its.iter().filter_map(|it| it.v4).collect();
    if addresses.is_empty() { Err(Unusable::NoAddress) } else { Ok(addresses) }
}

/// Whether some interface of `host` that is up answers to this address. The loopback answers to all of
/// 127.0.0.0/8.
pub fn has_address(host: &[HostInterface], address: Ipv4Addr) -> Result<(), Unusable> {
    let has = |it: &&HostInterface| it.v4 == Some(address) || (it.loopback && address.is_loopback());
    let its: Vec<_> = host.iter().filter(has).collect();
    match its.iter().any(|it| it.up) {
        true => Ok(()),
        false if its.is_empty() => Err(Unusable::Missing),
        false => Err(Unusable::Down),
    }
}

/// The interface that is taken where none is named: the first that is up, is not the loopback and has an
/// IPv4 address.
pub fn first_usable(host: &[HostInterface]) -> Option<(&str, Ipv4Addr)> {
    host.iter().filter(|it| it.up && !it.loopback).find_map(|it| Some((it.name.as_str(), it.v4?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_usable_if_they_are_up_and_have_an_address() {
        let entry = |name: &str, up, v4: Option<[u8; 4]>| HostInterface {
            name: name.into(),
            up,
            loopback: name == "lo",
            v4: v4.map(Ipv4Addr::from),
        };
        let host = [
            entry("lo", true, None),
            entry("lo", true, Some([127, 0, 0, 1])),
            entry("eth0", true, None),
            entry("eth1", false, Some([10, 0, 1, 1])),
            entry("eth2", true, None),
            entry("eth2", true, Some([10, 0, 2, 1])),
            entry("eth2", true, Some([10, 0, 2, 2])),
        ];
        assert_eq!(addresses_of(&host, "lo"), Ok(vec![[127, 0, 0, 1].into()]));
        assert_eq!(addresses_of(&host, "eth2"), Ok(vec![[10, 0, 2, 1].into(), [10, 0, 2, 2].into()]));
        assert_eq!(addresses_of(&host, "eth0"), Err(Unusable::NoAddress));
        assert_eq!(addresses_of(&host, "eth1"), Err(Unusable::Down));
        assert_eq!(addresses_of(&host, "eth9"), Err(Unusable::Missing));
        for (address, result) in [
            ([127, 3, 2, 1], Ok(())),
            ([10, 0, 2, 2], Ok(())),
            ([10, 0, 1, 1], Err(Unusable::Down)),
            ([10, 0, 9, 9], Err(Unusable::Missing)),
        ] {
            assert_eq!(has_address(&host, address.into()), result, "{address:?}");
        }
        assert_eq!(first_usable(&host), Some(("eth2", [10, 0, 2, 1].into())));
        assert_eq!(first_usable(&host[..4]), None);
    }
}
