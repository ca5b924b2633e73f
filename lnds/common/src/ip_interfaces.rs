//! Interfaces of the host for drivers over IP: from the name or address that an operator gives to a NID.

use lnet_core::lnd::{FoundInterface, NidSize, StartError};
use lnet_core::{Errno, start_error};
#[cfg(doc)]
use lnet_os::interfaces::LARGE;
use lnet_os::interfaces::{
    Family, HostInterface, Unusable, addresses_of, first_usable, host_interfaces, is_link_local,
    source_towards, without_large,
};
use lnet_wire::lnd_table::AddressKind;
use lnet_wire::nid::Address;
use lnet_wire::{NetId, Nid};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};

/// Finds the interface with this name or address; for `None` the host's first interface that is up, not the loopback and has an
/// address. Where no address is given, `size` says of which family it is: [`NidSize::Large`] takes an IPv4 address only if there is no
/// other. A name with [`LARGE`] behind it takes an IPv6 address, whatever `size` says. The name that is found for an IPv6 address is that
/// of its link, if it is the first of the link; else the address.
///
/// [`Errno::Invalid`] for IPv6 on a net that has none; [`Errno::NoDevice`] if there is no such interface,
/// [`Errno::AddressNotAvailable`] if it has no address, [`Errno::NetworkDown`] if it is down. The last three may pass, but for an address
/// that no interface can have.
pub fn find(net: NetId, interface: Option<&str>, size: NidSize) -> Result<FoundInterface, StartError> {
    let (name, address) = match interface.map(without_large) {
        None => first_interface(families(size))?,
        Some(("", true)) => first_interface(&[Family::V6])?,
        Some((name, true)) => (name.to_owned(), named_interface(name, &[Family::V6])?),
        Some((text, false)) if text.contains(':') && text.contains('%') => return Err(with_link(text)),
        Some((text, false)) => match text.parse::<IpAddr>() {
            Ok(address) => (name_of(local_address(address)?, text), address),
            Err(_) => (text.to_owned(), named_interface(text, families(size))?),
        },
    };
    if address.is_ipv6() && net.kind().lnd().is_some_and(|lnd| lnd.addresses != AddressKind::Ip) {
        return Err(start_error!(
            Errno::Invalid,
            "net {net}: not started on {address} (nets of this kind have IPv4 addresses only)"
        ));
    }
    Ok(FoundInterface { nid: Address::from(address).on(net), name })
}

/// The error for an address with a link behind it, such as `fe80::1%eth0`.
fn with_link(text: &str) -> StartError {
    start_error!(
        Errno::AddressNotAvailable,
        "address {text}: not usable (other nodes do not know it by its link; a NID has an address that is not link-local)"
    )
}

/// The name of an interface that is given by this address, as `text` says.
fn name_of(address: IpAddr, text: &str) -> String {
    let host = host_interfaces().unwrap_or_default();
    let link = host.iter().find(|it| address.is_ipv6() && !it.loopback && it.address == Some(address));
    let is_first = |it: &&HostInterface| {
        addresses_of(&host, &it.name, Family::V6).is_ok_and(|all| all.first() == Some(&address))
    };
    link.filter(is_first).map_or_else(|| text.to_owned(), |it| it.name.clone())
}

/// The families of which an address is taken, the first that there is.
const fn families(size: NidSize) -> &'static [Family] {
    match size {
        NidSize::Short => &[Family::V4],
        NidSize::Large => &[Family::V6, Family::V4],
    }
}

/// The address from which an NI with the address `own` connects to `remote`: `own`, or, if that is of the other family, the address of its
/// interface ([`source_towards`]). The machine's interfaces are listed in the latter case only. [`Errno::NetworkUnreachable`] if the
/// interface has no address of the family.
pub fn source_address(own: IpAddr, remote: IpAddr) -> Result<IpAddr, StartError> {
    if Family::of(own) == Family::of(remote) {
        return Ok(own);
    }
    source_towards(&all()?, own, remote).map_err(|unusable| {
        start_error!(Errno::NetworkUnreachable, "interface of {own}: no way to {remote} ({unusable})")
    })
}

/// The IP address in a NID of a network over IP.
pub fn address(nid: Nid) -> IpAddr {
    nid.address().ip()
}

fn local_address(address: IpAddr) -> Result<IpAddr, StartError> {
    // Binding to these addresses works, but no interface has them.
    if address.is_unspecified() || address.is_multicast() || address == IpAddr::V4(Ipv4Addr::BROADCAST) {
        return Err(start_error!(
            Errno::AddressNotAvailable,
            "address {address}: not usable (it is no address of an interface)"
        ));
    }
    if is_link_local(address) {
        return Err(start_error!(
            Errno::AddressNotAvailable,
            "address {address}: not usable (it is link-local, and so the same on other links)"
        ));
    }
    if let IpAddr::V6(v6) = address
        && let Some(v4) = v6.to_ipv4_mapped()
    {
        return Err(start_error!(
            Errno::AddressNotAvailable,
            "address {address}: not usable (it is an IPv4 address in the form of IPv6: write {v4})"
        ));
    }
    // The kernel is more reliable than a comparison with the list: all of 127.0.0.0/8 is local, and so are routes of
    // type `local`.
    UdpSocket::bind((address, 0)).map(|_| address).map_err(|error| {
        let error_of = |errno| {
            start_error!(errno, "address {address}: not usable ({error}); is it an address of this machine?")
        };
        match Errno::from(&error) {
            Errno::AddressNotAvailable => error_of(Errno::AddressNotAvailable).that_may_pass(),
            errno => error_of(errno),
        }
    })
}

fn named_interface(name: &str, families: &[Family]) -> Result<IpAddr, StartError> {
    let host = all()?;
    address_of(&host, name, families).map_err(|unusable| {
        let errno = match unusable {
            Unusable::Missing => Errno::NoDevice,
            Unusable::Down => Errno::NetworkDown,
            Unusable::NoAddress(_) | Unusable::LinkLocal => Errno::AddressNotAvailable,
        };
        let remedy = match families {
            [Family::V4] if address_of(&host, name, &[Family::V6]).is_ok() => {
                "; 'lnetctl lnet configure --large' (LNET_LARGE_NIDS=1) has names mean IPv6 addresses, and [large] behind this one takes its own"
            }
            _ => "",
        };
        start_error!(errno, "interface {name}: not usable ({unusable}{remedy})").that_may_pass()
    })
}

/// The address of an interface that is taken where none is given.
fn address_of(host: &[HostInterface], name: &str, families: &[Family]) -> Result<IpAddr, Unusable> {
    let of_family = |family: &Family| {
        let all = addresses_of(host, name, *family)?;
        all.first().copied().ok_or(Unusable::NoAddress(*family))
    };
    let mut found = families.iter().map(of_family);
    let first = found.next().unwrap_or(Err(Unusable::Missing));
    first.or_else(|error| found.find_map(Result::ok).ok_or(error))
}

fn first_interface(families: &[Family]) -> Result<(String, IpAddr), StartError> {
    let host = all()?;
    let first = families.iter().find_map(|family| first_usable(&host, *family));
    first.map(|(name, address)| (name.to_owned(), address)).ok_or_else(|| {
        let family = families.last().copied().unwrap_or(Family::V4);
        start_error!(
            Errno::NoDevice,
            "no interface is up and has an {family} address; name one, as in tcp(eth0)"
        )
        .that_may_pass()
    })
}

fn all() -> Result<Vec<HostInterface>, StartError> {
    host_interfaces().map_err(|error| {
        start_error!(Errno::from(&error), "interfaces of this machine: cannot be listed ({error})")
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use lnet_wire::NetType;

    #[test]
    fn a_missing_interface_or_address_may_come_and_an_impossible_address_may_not() {
        let tcp = NetId::new(NetType::TCP, 0);
        for (interface, may_pass) in [
            ("no-such-if", true),
            ("192.0.2.1", true),
            ("2001:db8::1", true),
            ("0.0.0.0", false),
            ("224.0.0.1", false),
            ("fe80::1", false),
            ("fe80::1%lo", false),
            ("::1%lo", false),
            ("::ffff:127.0.0.1", false),
        ] {
            assert_eq!(
                find(tcp, Some(interface), NidSize::Short).unwrap_err().may_pass,
                may_pass,
                "{interface}"
            );
        }
    }

    #[test]
    fn ipv6_is_taken_where_it_is_asked_for_and_the_net_has_it() {
        let (tcp, o2ib) = (NetId::new(NetType::TCP, 0), NetId::new(NetType::O2IB, 0));
        let found = |net, interface, size| match find(net, Some(interface), size) {
            Ok(found) => Ok((found.nid.to_string(), found.name)),
            Err(error) => Err(error.errno),
        };
        let lo = |nid: &str, name: &str| Ok((nid.to_owned(), name.to_owned()));
        assert_eq!(found(tcp, "lo", NidSize::Short), lo("127.0.0.1@tcp", "lo"));
        assert_eq!(found(tcp, "no-such-if[large]", NidSize::Short), Err(Errno::NoDevice));
        if UdpSocket::bind(("::1", 0)).is_ok() {
            assert_eq!(found(tcp, "lo[large]", NidSize::Short), lo("::1@tcp", "lo"));
            assert_eq!(found(tcp, "lo", NidSize::Large), lo("::1@tcp", "lo"));
            assert_eq!(found(tcp, "::1", NidSize::Short), lo("::1@tcp", "::1"));
            for interface in ["lo[large]", "::1"] {
                assert_eq!(found(o2ib, interface, NidSize::Short), Err(Errno::Invalid), "{interface}");
            }
        }
    }

    #[test]
    fn interfaces_are_found_by_name_and_by_address() {
        let tcp = NetId::new(NetType::TCP, 0);
        let nid_of = |interface| match find(tcp, Some(interface), NidSize::Short) {
            Ok(found) => Ok(found.nid),
            Err(error) => Err(error.errno),
        };
        assert_eq!(nid_of("lo"), Ok(Nid::new(tcp, 0x7f00_0001)));
        assert_eq!(nid_of("127.9.8.7"), Ok(Nid::new(tcp, 0x7f09_0807)));
        assert_eq!(nid_of("no-such-if"), Err(Errno::NoDevice));
        for none in ["192.0.2.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "::", "fe80::1", "ff02::1"] {
            assert_eq!(nid_of(none), Err(Errno::AddressNotAvailable), "{none}");
        }
    }

    #[test]
    fn an_ni_connects_from_its_own_address_or_from_its_interfaces_of_the_other_family() {
        let source = |own: &str, remote: &str| {
            source_address(own.parse().unwrap(), remote.parse().unwrap()).map_err(|error| error.errno)
        };
        assert_eq!(source("192.0.2.1", "192.0.2.9"), Ok("192.0.2.1".parse().unwrap()));
        assert_eq!(source("2001:db8::1", "127.0.0.1"), Err(Errno::NetworkUnreachable));
        // Only IPv4 is sure to be on every machine.
        let from_long = source("::1", "127.0.0.9");
        assert!(from_long == Ok(Ipv4Addr::LOCALHOST.into()) || from_long.is_err(), "{from_long:?}");
    }

    #[test]
    fn an_interface_with_both_families_has_the_address_that_is_asked_for() {
        let entry = |name: &str, address: &str| HostInterface {
            name: name.to_owned(),
            up: true,
            loopback: false,
            address: address.parse().ok(),
        };
        let host = [
            entry("both", "10.0.0.1"),
            entry("both", "fe80::1"),
            entry("both", "fd99::1"),
            entry("v4", "10.0.0.2"),
            entry("v4", "fe80::2"),
            entry("v6", "fd99::3"),
        ];
        for (name, short, large) in [
            ("both", Ok("10.0.0.1"), Ok("fd99::1")),
            ("v4", Ok("10.0.0.2"), Ok("10.0.0.2")),
            ("v6", Err(Unusable::NoAddress(Family::V4)), Ok("fd99::3")),
            ("none", Err(Unusable::Missing), Err(Unusable::Missing)),
        ] {
            for (size, expected) in [(NidSize::Short, short), (NidSize::Large, large)] {
                let found = address_of(&host, name, families(size)).map(|address| address.to_string());
                assert_eq!(found.as_deref().map_err(|error| *error), expected, "{name} {size:?}");
            }
        }
    }
}
