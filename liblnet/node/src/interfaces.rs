//! From the name of an interface to the address that is its NID's.

use getifaddrs::{InterfaceFlags, getifaddrs};
use lnet_core::Errno;
use lnet_wire::{NetId, Nid};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};

/// The NID on `net` of the interface with this name or address; of the machine's first interface that is
/// up, not the loopback and has an IPv4 address, for `None`. The log says what is wrong with it:
/// [`Errno::NoDevice`] when there is no such interface, [`Errno::AddressNotAvailable`] when it has no
/// address, [`Errno::NetworkDown`] when it is down.
pub(crate) fn nid_of(net: NetId, interface: Option<&str>) -> Result<Nid, Errno> {
    match interface {
        None => first_interface().map(|address| nid(net, address)),
        Some(text) => match text.parse::<IpAddr>() {
            Ok(address) => local_address(address).map(|address| nid(net, address)),
            Err(_) => named_interface(text).map(|address| nid(net, address)),
        },
    }
}

/// An interface, found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Its NID on the net in question.
    pub(crate) nid: Nid,
    /// The name or address by which it is found again.
    pub(crate) name: Option<String>,
}

/// As [`nid_of`]; also an interface that is down is [`Errno::AddressNotAvailable`], for to those who ask
/// over the control socket [`Errno::NetworkDown`] says that LNet is.
pub(crate) fn find(net: NetId, interface: Option<&str>) -> Result<Found, Errno> {
    let nid = nid_of(net, interface).map_err(|errno| match errno {
        Errno::NetworkDown => Errno::AddressNotAvailable,
        other => other,
    })?;
    Ok(Found { nid, name: interface.map(str::to_owned) })
}

/// The NID with an IP address.
pub(crate) fn nid(net: NetId, address: IpAddr) -> Nid {
    match address {
        IpAddr::V4(v4) => Nid::new(net, v4.into()),
        IpAddr::V6(v6) => Nid::new_long(net, v6.octets()),
    }
}

fn local_address(address: IpAddr) -> Result<IpAddr, Errno> {
    // One may bind to these, but no interface has them.
    if address.is_unspecified() || address.is_multicast() || address == IpAddr::V4(Ipv4Addr::BROADCAST) {
        log::error!("{address} is not the address of an interface");
        return Err(Errno::AddressNotAvailable);
    }
    // Asking the kernel is surer than comparing lists: all of 127.0.0.0/8 is local, and so are routes of
    // type `local`.
    UdpSocket::bind((address, 0)).map(|_| address).map_err(|error| {
        log::error!("cannot use address {address}: {error}; is it an address of this machine?");
        Errno::from(error)
    })
}

fn named_interface(name: &str) -> Result<IpAddr, Errno> {
    let all: Vec<_> = interfaces()?.into_iter().filter(|it| it.name == name).collect();
    let Some(any) = all.first() else {
        log::error!("there is no interface {name}");
        return Err(Errno::NoDevice);
    };
    if !any.up {
        log::error!("interface {name} is down");
        return Err(Errno::NetworkDown);
    }
    all.iter().find_map(|it| it.v4).ok_or_else(|| {
        log::error!("interface {name} has no IPv4 address");
        Errno::AddressNotAvailable
    })
}

fn first_interface() -> Result<IpAddr, Errno> {
    let usable = interfaces()?.into_iter().find(|it| it.up && !it.loopback && it.v4.is_some());
    usable.and_then(|it| it.v4).ok_or_else(|| {
        log::error!("no interface is up and has an IPv4 address; name one, as in tcp(eth0)");
        Errno::NoDevice
    })
}

struct Interface {
    name: String,
    up: bool,
    loopback: bool,
    v4: Option<IpAddr>,
}

fn interfaces() -> Result<Vec<Interface>, Errno> {
    let list = getifaddrs().map_err(|error| {
        log::error!("cannot list the interfaces: {error}");
        Errno::from(error)
    })?;
    Ok(list
        .map(|it| Interface {
            up: it.flags.contains(InterfaceFlags::UP),
            loopback: it.flags.contains(InterfaceFlags::LOOPBACK),
            v4: it.address.ip_addr().filter(IpAddr::is_ipv4),
            name: it.name,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_wire::NetType;

    #[test]
    fn interfaces_are_found_by_name_and_by_address() {
        let tcp = NetId::new(NetType::TCP, 0);
        assert_eq!(nid_of(tcp, Some("lo")), Ok(Nid::new(tcp, 0x7f00_0001)));
        assert_eq!(nid_of(tcp, Some("127.9.8.7")), Ok(Nid::new(tcp, 0x7f09_0807)));
        assert_eq!(nid_of(tcp, Some("no-such-if")), Err(Errno::NoDevice));
        for none in ["192.0.2.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "::"] {
            assert_eq!(nid_of(tcp, Some(none)), Err(Errno::AddressNotAvailable), "{none}");
        }
    }
}
