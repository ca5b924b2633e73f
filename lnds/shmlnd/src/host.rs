//! Who can reach whom: the number of a net, the addresses on it, and the names of sockets.
//!
//! Nodes reach each other if they have the same user, in the same network namespace of the same start of a system: the *place*. The number
//! of the net `shm` is a hash of the place, so that nodes of different places are on different nets and nobody takes them for reachable. An
//! address is a hash of the place and of the interface's number there. A NID has 48 bits of these hashes: two places with the same net number,
//! one pair in 65 535, have different addresses all the same. Without that, discovery would take two hosts' nodes with one NID for one peer.

use lnet_wire::{NetId, NetType, Nid};
use rustix::process::geteuid;
use std::io;
use std::os::unix::fs::MetadataExt;

/// The interfaces that a place may have.
pub(crate) const MAX_INTERFACES: u32 = 1024;

/// The place of this process, and its user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The random number of the system's start, as text.
    pub(crate) boot: String,
    /// Device and inode of the network namespace, which has the names of sockets.
    pub(crate) namespace: (u64, u64),
    pub(crate) user: u32,
}

impl Place {
    /// Finds out where this process is.
    pub(crate) fn of_this_process() -> io::Result<Self> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        let namespace = std::fs::metadata("/proc/self/ns/net")?;
        Ok(Self { boot, namespace: (namespace.dev(), namespace.ino()), user: geteuid().as_raw() })
    }

    /// The net that an operator means: one without a number gets that of the place.
    pub(crate) fn net(&self, given: NetId) -> NetId {
        match given.number() {
            0 => NetId::new(NetType::SHM, (self.hash(0) % u64::from(u16::MAX)) as u16 + 1),
            _ => given,
        }
    }

    /// The NID of the interface with this number, from 1 on, on a net.
    pub(crate) fn nid(&self, net: NetId, interface: u32) -> Nid {
        Nid::new(net, (self.hash(interface) as u32).max(1))
    }

    fn hash(&self, number: u32) -> u64 {
        let Self { boot, namespace, user } = self;
        let text = format!("{} {} {} {user} {number}", boot.trim(), namespace.0, namespace.1);
        // FNV-1a, whose value never changes, with a last step that brings every bit to every other.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
        let hash = (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^ hash >> 29
    }
}

/// The name of the socket to which the peers of an interface connect.
pub(crate) fn socket_name(nid: Nid) -> Vec<u8> {
    format!("lnet-shm/{nid}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn place(boot: u32, inode: u64, user: u32) -> Place {
        Place { boot: format!("{boot:08x}-0000-4000-8000-000000000000\n"), namespace: (4, inode), user }
    }

    #[test]
    fn places_differ_in_the_number_of_the_net_and_in_addresses() {
        let shm = NetId::new(NetType::SHM, 0);
        let places = [place(1, 1, 0), place(2, 1, 0), place(1, 2, 0), place(1, 1, 1)];
        let nets: HashSet<NetId> = places.iter().map(|place| place.net(shm)).collect();
        assert_eq!(nets.len(), places.len());
        assert!(nets.iter().all(|net| net.number() > 0));
        let given = NetId::new(NetType::SHM, 7);
        let nids: HashSet<Nid> = places.iter().map(|place| place.nid(place.net(given), 1)).collect();
        assert_eq!(nids.len(), places.len(), "on a net whose number is given");
        assert!(nids.iter().all(|nid| nid.net() == given));
    }

    #[test]
    fn many_hosts_hardly_ever_share_a_nid() {
        let shm = NetId::new(NetType::SHM, 0);
        let all = (0..2000).flat_map(|boot| {
            let place = place(boot, 4_026_531_840, 0);
            (1..=8).map(move |interface| place.nid(place.net(shm), interface))
        });
        assert_eq!(all.collect::<HashSet<_>>().len(), 16_000);
    }

    #[test]
    fn a_process_finds_its_place_and_finds_it_again() {
        let place = Place::of_this_process().unwrap();
        assert_eq!(place, Place::of_this_process().unwrap());
        assert_eq!(place.user, geteuid().as_raw());
    }
}
