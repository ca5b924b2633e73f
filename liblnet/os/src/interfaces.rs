//! The network interfaces of this machine.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
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

/// The end of an interface's name with which its IPv6 address is meant: `eth0[large]`.
pub const LARGE: &str = "[large]";

/// The name of an interface without [`LARGE`], and whether it had that.
pub fn without_large(name: &str) -> (&str, bool) {
    name.strip_suffix(LARGE).map_or((name, false), |name| (name, true))
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
    #[error("its only IPv6 address is link-local, which is none of a NID")]
    LinkLocal,
}

/// Returns all interfaces, in the system's order, but those of their IPv6 addresses that will not stay behind all others: temporary
/// ones (RFC 8981), deprecated ones, and those that are not known to be unique on their link.
#[cfg(unix)]
pub fn host_interfaces() -> std::io::Result<Vec<HostInterface>> {
    use getifaddrs::{InterfaceFlags, getifaddrs};

    let mut all: Vec<HostInterface> = getifaddrs()?
        .map(|it| HostInterface {
            up: it.flags.contains(InterfaceFlags::UP),
            loopback: it.flags.contains(InterfaceFlags::LOOPBACK),
            address: it.address.ip_addr(),
            name: it.name,
        })
        .collect();
    // Without this file, the order is the system's. It is that of the thread's network namespace.
    let flags = std::fs::read_to_string("/proc/thread-self/net/if_inet6").unwrap_or_default();
    put_passing_last(&mut all, &flags);
    Ok(all)
}

/// The flags of an IPv6 address that will not stay: `IFA_F_TEMPORARY`, `_DADFAILED`, `_DEPRECATED` and `_TENTATIVE` of Linux.
const PASSING: u8 = 0x01 | 0x08 | 0x20 | 0x40;

/// Puts the addresses that will not stay behind the others. `if_inet6` is Linux's file of that name: a line for each address, of six
/// words: the address, the number of the link, the length of the prefix, the scope, the flags, all in hexadecimal digits, and the link's
/// name.
fn put_passing_last(all: &mut [HostInterface], if_inet6: &str) {
    let passing: Vec<(Ipv6Addr, &str)> = if_inet6.lines().filter_map(passing_address).collect();
    if passing.is_empty() {
        return;
    }
    let is_passing = |it: &HostInterface| {
        passing.iter().any(|(address, link)| it.address == Some(IpAddr::V6(*address)) && it.name == *link)
    };
    // The sort is stable.
    all.sort_by_cached_key(is_passing);
}

/// The address and the link of a line of `if_inet6`, if the address will not stay.
fn passing_address(line: &str) -> Option<(Ipv6Addr, &str)> {
    let mut words = line.split_whitespace();
    let address = u128::from_str_radix(words.next()?, 16).ok()?;
    let flags = u8::from_str_radix(words.nth(3)?, 16).ok()?;
    let link = words.next()?;
    (flags & PASSING != 0).then_some((Ipv6Addr::from_bits(address), link))
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

/// The address from which the interface of `host` that has the address `own` reaches `remote`: `own`, or, if that is of another family,
/// one of the interface's addresses of the family of `remote`: that with the most leading bits in common with it, the first of several.
pub fn source_towards(host: &[HostInterface], own: IpAddr, remote: IpAddr) -> Result<IpAddr, Unusable> {
    let family = Family::of(remote);
    if Family::of(own) == family {
        return Ok(own);
    }
    let has_it = |it: &&HostInterface| it.address == Some(own);
    let loopback = |it: &&HostInterface| it.loopback && own.is_loopback();
    let named = host.iter().find(has_it).or_else(|| host.iter().find(loopback)).ok_or(Unusable::Missing)?;
    let link = link_of(&named.name);
    let mut best: Result<IpAddr, Unusable> = Err(Unusable::NoAddress(family));
    for address in host.iter().filter(|it| link_of(&it.name) == link).filter_map(|it| it.address) {
        if Family::of(address) != family {
            continue;
        }
        best = match best {
            Ok(known) if common_bits(known, remote) >= common_bits(address, remote) => Ok(known),
            other if is_link_local(address) => other.map_err(|_| Unusable::LinkLocal),
            _ => Ok(address),
        };
    }
    best
}

/// The name of the link in that of an interface, which may be an alias.
fn link_of(name: &str) -> &str {
    name.split_once(':').map_or(name, |(link, _alias)| link)
}

/// The number of leading bits that two addresses of one family have in common.
fn common_bits(one: IpAddr, other: IpAddr) -> u32 {
    match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
        _ => 0,
    }
}

/// The speed of a link in Mbit/s, from the machine's `sysfs` (`/sys`); `None` if the link has none, is down, or does not say.
pub fn link_speed(sysfs: &Path, link: &str) -> Option<u32> {
    let text = std::fs::read_to_string(sysfs.join("class/net").join(link_of(link)).join("speed")).ok()?;
    // An unknown speed is -1.
    text.trim().parse().ok().filter(|speed| (1..u32::MAX).contains(speed))
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

    #[test]
    fn addresses_that_will_not_stay_come_last() {
        let entry = |name: &str, address: &str| HostInterface {
            name: name.into(),
            up: true,
            loopback: false,
            address: address.parse().ok(),
        };
        let mut all = [
            entry("eth0", "10.0.0.1"),
            entry("eth0", "fd99::a"),
            entry("eth0", "fd99::b"),
            entry("eth0", "fd99::1"),
            entry("eth0", "fd99::d"),
            entry("eth0", "fd99::2"),
            entry("eth1", "fd99::a"),
        ];
        // Temporary, deprecated, permanent, failed and tentative, permanent without a check, and what is no line.
        let if_inet6 = "fd99000000000000000000000000000a 02 40 00 01     eth0\n\
                        fd99000000000000000000000000000b 02 40 00 a0     eth0\n\
                        fd990000000000000000000000000001 02 40 00 80     eth0\n\
                        fd99000000000000000000000000000d 02 40 00 c8     eth0\n\
                        fd990000000000000000000000000002 02 40 00 82     eth0\n\
                        fd9900000000 zz\n\n";
        put_passing_last(&mut all, if_inet6);
        let found = addresses_of(&all, "eth0", Family::V6).unwrap();
        let found: Vec<String> = found.iter().map(IpAddr::to_string).collect();
        assert_eq!(found, ["fd99::1", "fd99::2", "fd99::a", "fd99::b", "fd99::d"]);
        assert_eq!(all[0].name, "eth0");
        assert_eq!((&*all[3].name, all[3].address), ("eth1", "fd99::a".parse().ok()));
    }

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

    #[test]
    fn an_interface_reaches_the_other_family_from_its_address_of_that_family() {
        let entry = |name: &str, address: &str| HostInterface {
            name: name.to_owned(),
            up: true,
            loopback: name == "lo",
            address: address.parse().ok(),
        };
        let host = [
            entry("lo", "127.0.0.1"),
            entry("lo", "::1"),
            entry("eth0", ""),
            entry("eth0", "10.99.0.11"),
            entry("eth0:1", "10.99.7.11"),
            entry("eth0", "fe80::11"),
            entry("eth0", "fd99::11"),
            entry("eth0", "fd99:1::11"),
            entry("eth1", "10.99.1.11"),
            entry("eth1", "fe80::12"),
            entry("eth2", "10.99.2.11"),
            entry("eth3", "fd99:3::11"),
            entry("eth3", "10.99.3.11"),
        ];
        let table: [(&str, &str, Result<&str, Unusable>); 13] = [
            ("10.99.0.11", "10.1.1.1", Ok("10.99.0.11")),
            ("10.99.0.11", "fd99::12", Ok("fd99::11")),
            ("10.99.0.11", "fd99:1::12", Ok("fd99:1::11")),
            ("10.99.0.11", "2001:db8::1", Ok("fd99::11")),
            ("10.99.7.11", "fd99::12", Ok("fd99::11")),
            ("10.99.1.11", "fd99::12", Err(Unusable::LinkLocal)),
            ("10.99.2.11", "fd99::12", Err(Unusable::NoAddress(Family::V6))),
            ("fd99:3::11", "10.99.0.12", Ok("10.99.3.11")),
            ("fd99::11", "10.99.7.12", Ok("10.99.7.11")),
            ("127.0.0.1", "::1", Ok("::1")),
            ("127.9.8.7", "fd99::11", Ok("::1")),
            ("::1", "127.0.0.2", Ok("127.0.0.1")),
            ("192.0.2.1", "fd99::12", Err(Unusable::Missing)),
        ];
        for (own, remote, expected) in table {
            let found = source_towards(&host, own.parse().unwrap(), remote.parse().unwrap());
            assert_eq!(found, expected.map(|address| address.parse().unwrap()), "{own} to {remote}");
        }
    }

    #[test]
    fn the_speed_of_a_link_is_read_where_the_kernel_says_it() {
        let sysfs = tempfile::tempdir().unwrap();
        for (link, text) in [("eth0", "25000\n"), ("eth1", "-1\n"), ("eth2", "4294967295\n"), ("eth3", "")] {
            let directory = sysfs.path().join("class/net").join(link);
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("speed"), text).unwrap();
        }
        let speeds =
            ["eth0", "eth0:1", "eth1", "eth2", "eth3", "eth4"].map(|link| link_speed(sysfs.path(), link));
        assert_eq!(speeds, [Some(25_000), Some(25_000), None, None, None, None]);
    }
}
