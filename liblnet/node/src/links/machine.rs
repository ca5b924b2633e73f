//! What the machine has: links and addresses.

use getifaddrs::{Address, InterfaceFlags, getifaddrs};
use std::io;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};

/// A link, or one of its addresses; a link with two addresses comes three times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The link's name; with an address perhaps the label of an alias (`eth0:1`).
    pub(super) name: String,
    /// Whether the link is set up.
    pub(super) up: bool,
    /// Whether it works: the carrier is there.
    pub(super) running: bool,
    /// The address, if this entry is one.
    pub(super) address: Option<IpAddr>,
    /// Only of an IPv4 address of the loopback: the mask of the net of which every address is the machine's.
    pub(super) whole_net: Option<Ipv4Addr>,
}

impl Entry {
    /// Whether the link has this address.
    pub(super) fn has(&self, address: IpAddr) -> bool {
        let in_its_net = match (self.whole_net, self.address, address) {
            (Some(mask), Some(IpAddr::V4(its)), IpAddr::V4(asked)) => its & mask == asked & mask,
            _ => false,
        };
        in_its_net || self.address == Some(address)
    }
}

/// All that there is now, in the network namespace of the calling thread.
pub(super) fn entries() -> io::Result<Vec<Entry>> {
    Ok(getifaddrs()?
        .map(|it| Entry {
            up: it.flags.contains(InterfaceFlags::UP),
            running: it.flags.contains(InterfaceFlags::RUNNING),
            address: it.address.ip_addr(),
            whole_net: match &it.address {
                Address::V4(v4) if it.flags.contains(InterfaceFlags::LOOPBACK) => v4.netmask,
                _ => None,
            },
            name: it.name,
        })
        .collect())
}

/// Whether an address belongs to this machine though no link has it, as routes of type `local` make it.
pub(super) fn is_local(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}
