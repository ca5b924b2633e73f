//! The resolution of interface names to the addresses of NIDs.

use lnet_core::Errno;
use lnet_dlc::interfaces::{HostInterface, Unusable, addresses_of, first_usable, host_interfaces};
use lnet_log::{LogClass, write_line};
use lnet_wire::nid::Address;
use lnet_wire::{NetId, Nid};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};

/// A resolved interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The NID of the interface on the requested net.
    pub(crate) nid: Nid,
    /// The name or address by which the interface is found again.
    pub(crate) name: String,
}

/// Finds the interface with this name or address; for `None` the machine's first interface that is up, not the loopback and
/// has an IPv4 address. The cause of an error is logged: [`Errno::NoDevice`] if there is no such interface,
/// [`Errno::AddressNotAvailable`] if it has no address, [`Errno::NetworkDown`] if it is down.
pub(crate) fn find(net: NetId, interface: Option<&str>) -> Result<Found, Errno> {
    let (name, address) = match interface {
        None => first_interface()?,
        Some(text) => {
            let address = match text.parse::<IpAddr>() {
                Ok(address) => local_address(address)?,
                Err(_) => named_interface(text)?,
            };
            (text.to_owned(), address)
        }
    };
    Ok(Found { nid: nid(net, address), name })
}

/// The NID on `net` with an IP address.
pub(crate) fn nid(net: NetId, address: IpAddr) -> Nid {
    match address {
        IpAddr::V4(v4) => Nid::new(net, v4.into()),
        IpAddr::V6(v6) => Nid::new_long(net, v6.octets()),
    }
}

/// The IP address of a NID on an IP network.
pub(crate) fn address(nid: Nid) -> IpAddr {
    match nid.address() {
        Address::Short(v4) => IpAddr::V4(v4.into()),
        Address::Long(v6) => IpAddr::V6(v6.into()),
    }
}

/// Lists the machine's interfaces. The cause of an error is logged.
pub(crate) fn interfaces() -> Result<Vec<HostInterface>, Errno> {
    host_interfaces().map_err(|error| {
        write_line!(LogClass::NiNotStarted, "interfaces of this machine: cannot be listed ({error})");
        Errno::from(error)
    })
}

fn local_address(address: IpAddr) -> Result<IpAddr, Errno> {
    // Binding to these addresses works, although no interface has them.
    if address.is_unspecified() || address.is_multicast() || address == IpAddr::V4(Ipv4Addr::BROADCAST) {
        write_line!(
            LogClass::NiNotStarted,
            "address {address}: not usable (it is no address of an interface)"
        );
        return Err(Errno::AddressNotAvailable);
    }
    // The kernel is more reliable than a comparison with the list: all of 127.0.0.0/8 is local, and so are routes of
    // type `local`.
    UdpSocket::bind((address, 0)).map(|_| address).map_err(|error| {
        write_line!(
            LogClass::NiNotStarted,
            "address {address}: not usable ({error}); is it an address of this machine?"
        );
        Errno::from(error)
    })
}

fn named_interface(name: &str) -> Result<IpAddr, Errno> {
    let host = interfaces()?;
    let first = addresses_of(&host, name).and_then(|all| all.first().copied().ok_or(Unusable::NoAddress));
    first.map(IpAddr::V4).map_err(|unusable| {
        write_line!(LogClass::NiNotStarted, "interface {name}: not usable ({unusable})");
        match unusable {
            Unusable::Missing => Errno::NoDevice,
            Unusable::Down => Errno::NetworkDown,
            Unusable::NoAddress => Errno::AddressNotAvailable,
        }
    })
}

fn first_interface() -> Result<(String, IpAddr), Errno> {
    let host = interfaces()?;
    first_usable(&host).map(|(name, address)| (name.to_owned(), IpAddr::V4(address))).ok_or_else(|| {
        write_line!(
            LogClass::NiNotStarted,
            "no interface is up and has an IPv4 address; name one, as in tcp(eth0)"
        );
        Errno::NoDevice
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_wire::NetType;

    fn nid_of(net: NetId, interface: Option<&str>) -> Result<Nid, Errno> {
        find(net, interface).map(|found| found.nid)
    }

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
