//! The machine's links and addresses.

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::SockaddrStorage;
use std::io;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};

/// A link, or one of its addresses; a link with two addresses has three entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LinkAddress {
    /// The name of the link; in an entry with an address possibly the label of an alias (`eth0:1`).
    pub(super) name: String,
    /// Whether the link is set up.
    pub(super) up: bool,
    /// Whether the link has a carrier.
    pub(super) carrier: bool,
    /// The address; `None` in the entry of the link itself.
    pub(super) address: Option<IpAddr>,
    /// The mask of the net whose addresses are all local, for an IPv4 address of the loopback.
    pub(super) whole_net: Option<Ipv4Addr>,
    /// The prefix length of the address's subnet.
    pub(super) prefix_len: Option<u32>,
}

impl LinkAddress {
    /// Whether the entry makes this address one of the link's.
    pub(super) fn has(&self, address: IpAddr) -> bool {
        let in_its_net = match (self.whole_net, self.address, address) {
            (Some(mask), Some(IpAddr::V4(its)), IpAddr::V4(asked)) => its & mask == asked & mask,
            _ => false,
        };
        in_its_net || self.address == Some(address)
    }
}

/// All current entries, in the network namespace of the calling thread.
pub(super) fn entries() -> io::Result<Vec<LinkAddress>> {
    let entry = |name, flags: InterfaceFlags, address: Option<IpAddr>, mask: Option<IpAddr>| LinkAddress {
        name,
        up: flags.contains(InterfaceFlags::IFF_UP),
        carrier: has_carrier(flags),
        address,
        whole_net: match mask {
            Some(IpAddr::V4(mask)) if flags.contains(InterfaceFlags::IFF_LOOPBACK) => Some(mask),
            _ => None,
        },
        prefix_len: mask.map(|mask| match mask {
            IpAddr::V4(mask) => mask.to_bits().leading_ones(),
            IpAddr::V6(mask) => mask.to_bits().leading_ones(),
        }),
    };
    let listed = getifaddrs()?;
    Ok(listed.map(|it| entry(it.interface_name, it.flags, ip(it.address), ip(it.netmask))).collect())
}

/// Whether the flags of a link show a carrier. IFF_RUNNING is set up to a second after the carrier, and IFF_LOWER_UP does not
/// exist everywhere; when one is cleared and its netlink message has arrived, both are. IFF_DORMANT is a port that has not
/// admitted this machine yet.
fn has_carrier(flags: InterfaceFlags) -> bool {
    flags.intersects(InterfaceFlags::IFF_LOWER_UP | InterfaceFlags::IFF_RUNNING)
        && !flags.contains(InterfaceFlags::IFF_DORMANT)
}

fn ip(address: Option<SockaddrStorage>) -> Option<IpAddr> {
    let address = address?;
    let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip())))
}

/// Whether an address is local although no link has it, as with routes of type `local`.
pub(super) fn is_local(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_carrier_is_what_either_flag_says_unless_the_port_keeps_this_machine_out() {
        for (flags, carrier) in [
            (libc::IFF_UP, false),
            (libc::IFF_UP | libc::IFF_RUNNING, true),
            (libc::IFF_UP | libc::IFF_LOWER_UP, true),
            (libc::IFF_UP | libc::IFF_RUNNING | libc::IFF_LOWER_UP, true),
            (libc::IFF_UP | libc::IFF_LOWER_UP | libc::IFF_DORMANT, false),
        ] {
            assert_eq!(has_carrier(InterfaceFlags::from_bits_truncate(flags)), carrier, "{flags:#x}");
        }
    }

    /// Fails if the loopback is missing where interfaces can be listed at all.
    #[test]
    fn links_are_listed_with_their_addresses() {
        let all = entries().unwrap();
        let lo = all.iter().find(|entry| entry.address == Some(Ipv4Addr::LOCALHOST.into())).unwrap();
        assert_eq!((lo.up, lo.carrier, lo.whole_net), (true, true, Some(Ipv4Addr::new(255, 0, 0, 0))));
        assert!(lo.has([127, 3, 2, 1].into()) && !lo.has([128, 0, 0, 1].into()));
        assert!(all.iter().any(|entry| entry.name == lo.name && entry.address.is_none()));
        assert!(is_local([127, 3, 2, 1].into()) && !is_local([192, 0, 2, 1].into()));
    }
}
