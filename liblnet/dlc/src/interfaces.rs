//! This machine's network interfaces.

use getifaddrs::{InterfaceFlags, getifaddrs};
use std::net::{IpAddr, Ipv4Addr};

/// One address of an interface; an interface with several comes several times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostInterface {
    /// Its name, or the label of an alias (`eth0:1`).
    pub name: String,
    /// Whether it is up.
    pub up: bool,
    /// Whether it is the loopback.
    pub loopback: bool,
    /// Its IPv4 address, if this entry is one.
    pub v4: Option<Ipv4Addr>,
}

/// All of them, in the system's order.
pub fn host_interfaces() -> std::io::Result<Vec<HostInterface>> {
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
