//! Network identifiers: a net and an address on it.
//!
//! A [`Nid`] always names one interface. The "any" wildcard of the C API is not a `Nid`; Rust code uses `Option<Nid>`
//! (or a match type) where any NID is valid.

use crate::byte_order::array;
use crate::text::Problem;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroUsize;

/// The kind of network, which is the kind of driver (`LND`) that serves it.
///
/// Kept as the wire's number, because a peer may name kinds that this node does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetType(pub u16);

impl NetType {
    /// TCP (`SOCKLND`).
    pub const TCP: Self = Self(2);
    /// InfiniBand verbs (`O2IBLND`).
    pub const O2IB: Self = Self(5);
    /// Loopback (`LOLND`).
    pub const LO: Self = Self(9);
    /// Cray Gemini (`GNILND`).
    pub const GNI: Self = Self(13);
    /// Gemini with IP addresses (`GNIIPLND`).
    pub const GNI_IP: Self = Self(14);
    /// Portals 4 (`PTL4LND`).
    pub const PTL4: Self = Self(15);
    /// libfabric in the kernel (`KFILND`).
    pub const KFI: Self = Self(16);
    /// Elastic fabric adapter (`EFALND`).
    pub const EFA: Self = Self(18);
    /// BXI 3 (`BXI3LND`).
    pub const BXI3: Self = Self(19);
    /// Shared memory between nodes of one host (`SHMLND`), of this library alone. Kernels count from 1; numbers above 255 do not fit in a
    /// NID of 20 bytes.
    pub const SHM: Self = Self(240);
}

/// A network: its type and its number (`tcp1` is type TCP, number 1).
///
/// The 32-bit value is `type << 16 | number`, as on the wire and in the C API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetId(u32);

impl NetId {
    /// The net that holds `0@lo`.
    pub const LOOPBACK: Self = Self::new(NetType::LO, 0);

    /// Makes the net of `kind` with `number`.
    pub const fn new(kind: NetType, number: u16) -> Self {
        Self((kind.0 as u32) << 16 | number as u32)
    }

    /// Makes a net from the value in the C API and on the wire; `None` for the wildcard (all ones), and for types above 254,
    /// which do not fit in the twenty-byte form or mean the wildcard there.
    pub const fn from_u32(value: u32) -> Option<Self> {
        if value >> 16 > 254 { None } else { Some(Self(value)) }
    }

    /// The value in the C API and on the wire.
    pub const fn to_u32(self) -> u32 {
        self.0
    }

    /// The kind of network.
    pub const fn kind(self) -> NetType {
        NetType((self.0 >> 16) as u16)
    }

    /// The number of the net among those of its kind.
    pub const fn number(self) -> u16 {
        self.0 as u16
    }
}

/// The address part of a NID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// Four bytes, as an integer: an IPv4 address in host order (10.0.0.1 is 0x0a000001), or a plain number.
    Short(u32),
    /// Sixteen bytes in network order: an IPv6 address (2.16 and later).
    Long([u8; 16]),
}

impl Address {
    /// The IP address that it is, on nets over IP.
    pub fn ip(self) -> IpAddr {
        match self {
            Self::Short(v4) => IpAddr::V4(v4.into()),
            Self::Long(v6) => IpAddr::V6(v6.into()),
        }
    }

    /// The NID with this address on a net.
    pub const fn on(self, net: NetId) -> Nid {
        Nid { net, address: self }
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Self::Short(v4.into()),
            IpAddr::V6(v6) => Self::Long(v6.octets()),
        }
    }
}

/// The identity of one network interface of one node: address and net, as in `10.0.0.1@tcp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nid {
    net: NetId,
    address: Address,
}

impl Nid {
    /// `0@lo`.
    pub const LOOPBACK: Self = Self::new(NetId::LOOPBACK, 0);

    /// Makes the NID with a four-byte address.
    pub const fn new(net: NetId, address: u32) -> Self {
        Self { net, address: Address::Short(address) }
    }

    /// Makes the NID with a sixteen-byte address in network order.
    pub const fn new_long(net: NetId, address: [u8; 16]) -> Self {
        Self { net, address: Address::Long(address) }
    }

    /// Makes a NID from the eight-byte form (`lnet_nid_t`: net in the high half); `None` for the wildcard (all ones)
    /// and for nets that [`NetId::from_u32`] refuses.
    pub const fn from_u64(value: u64) -> Option<Self> {
        match NetId::from_u32((value >> 32) as u32) {
            Some(net) => Some(Self::new(net, value as u32)),
            None => None,
        }
    }

    /// The eight-byte form (`lnet_nid_t`); `None` when the address does not fit in it.
    pub const fn to_u64(self) -> Option<u64> {
        match self.address {
            Address::Short(address) => Some((self.net.0 as u64) << 32 | address as u64),
            Address::Long(_) => None,
        }
    }

    /// The net that the interface is on.
    pub const fn net(self) -> NetId {
        self.net
    }

    /// The address on that net.
    pub const fn address(self) -> Address {
        self.address
    }

    /// Why the address can be none of an interface in this and another node alike; `Ok` for all IPv4 addresses, as in the kernel.
    pub fn check_address(self) -> Result<(), Problem> {
        let Address::Long(bytes) = self.address else { return Ok(()) };
        let address = Ipv6Addr::from(bytes);
        match () {
            () if address.is_unspecified() || address.is_multicast() => Err(Problem::NoInterfacesAddress),
            () if address.is_unicast_link_local() => Err(Problem::LinkLocal),
            () if address.to_ipv4_mapped().is_some() => Err(Problem::MappedIpv4),
            () => Ok(()),
        }
    }

    /// Whether this is `0@lo`.
    pub fn is_loopback(self) -> bool {
        self == Self::LOOPBACK
    }

    /// Makes a NID from the twenty-byte form (`struct lnet_nid`, always big-endian); `None` for the wildcard, for
    /// sizes other than 4 and 16 address bytes, and for four-byte addresses with anything but zeros behind them: to a kernel, which
    /// compares all twenty bytes, that is none of its NIDs.
    #[inline]
    pub fn from_wire20(bytes: [u8; 20]) -> Option<Self> {
        if bytes[1] == 0xff {
            return None;
        }
        let net = NetId::new(NetType(bytes[1].into()), u16::from_be_bytes([bytes[2], bytes[3]]));
        match bytes[0] {
            0 if bytes[8..] == [0; 12] => Some(Self::new(net, u32::from_be_bytes(array(&bytes, 4)))),
            12 => Some(Self::new_long(net, array(&bytes, 4))),
            _ => None,
        }
    }

    /// The twenty-byte form: size, type, number, address, always big-endian.
    pub fn to_wire20(self) -> [u8; 20] {
        let mut out = [0; 20];
        out[1] = self.net.kind().0 as u8;
        out[2..4].copy_from_slice(&self.net.number().to_be_bytes());
        match self.address {
            Address::Short(address) => out[4..8].copy_from_slice(&address.to_be_bytes()),
            Address::Long(address) => {
                out[0] = 12;
                out[4..].copy_from_slice(&address);
            }
        }
        out
    }
}

/// Returns the one of `partitions` CPU partitions that a NID belongs to, when it may belong to any (OM-11): the sum
/// of its bytes modulo their number.
pub fn cpt_of_nid(nid: Nid, partitions: NonZeroUsize) -> usize {
    nid.to_wire20().iter().map(|byte| usize::from(*byte)).sum::<usize>() % partitions
}

/// A number below `parts`, a power of two, for tables of NIDs in several parts. Consecutive addresses, and those of consecutive networks,
/// have different ones.
#[inline]
pub const fn part_of_table(nid: Nid, parts: usize) -> usize {
    let end = match nid.address() {
        Address::Short(address) => address,
        Address::Long([.., a, b, c, d]) => u32::from_be_bytes([a, b, c, d]),
    };
    part_of_addresses(end, parts)
}

/// The same for all NIDs whose address ends with these four bytes.
#[inline]
pub const fn part_of_addresses(end: u32, parts: usize) -> usize {
    /// An odd number near 2^32 divided by the golden ratio: multiples of it are spread evenly.
    const SPREAD: u32 = 0x9e37_79b1;
    // The upper bits of the product are those that differ.
    (end.wrapping_mul(SPREAD) >> 24) as usize & parts.wrapping_sub(1)
}

/// The order that decides connection races: the twenty-byte forms compared byte by byte, which for
/// four-byte addresses is the order of the `lnet_nid_t` values.
impl Ord for Nid {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.to_u64(), other.to_u64()) {
            (Some(one), Some(other)) => one.cmp(&other),
            _ => self.to_wire20().cmp(&other.to_wire20()),
        }
    }
}

/// A NID with a four-byte address is hashed as one number: tables of NIDs are searched for every message.
impl Hash for Nid {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.to_u64() {
            Some(short) => state.write_u64(short),
            None => state.write(&self.to_wire20()),
        }
    }
}

impl PartialOrd for Nid {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A process on a node (PID). Kernel nodes have one, 12345.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pid(pub u32);

impl Pid {
    /// The PID of Lustre, selftest and Motr, and the only one of a kernel node.
    pub const LUSTRE: Self = Self(12345);
    /// The bit that an accepting node sets in the PID of a peer that connects from an unprivileged port.
    pub const USER_FLAG: u32 = 0x8000_0000;

    /// Whether the accepting node made this PID up (see [`Pid::USER_FLAG`]).
    pub const fn is_user(self) -> bool {
        self.0 & Self::USER_FLAG != 0
    }
}

/// A process on a node: `12345-10.0.0.1@tcp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcessId {
    /// The node's interface.
    pub nid: Nid,
    /// The process.
    pub pid: Pid,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_eight_byte_form_is_net_above_address() {
        let nid = Nid::new(NetId::new(NetType::TCP, 5), 0x0a00_0001);
        assert_eq!(nid.to_u64(), Some(0x0002_0005_0a00_0001));
        assert_eq!(Nid::from_u64(0x0002_0005_0a00_0001), Some(nid));
        assert_eq!(Nid::LOOPBACK.to_u64(), Some(0x0009_0000_0000_0000));
        assert_eq!(Nid::from_u64(u64::MAX), None);
        assert_eq!(Nid::from_u64(0x00ff_0000_0000_0000), None);
        assert_eq!(Nid::from_u64(0x0102_0000_0a00_0001), None);
    }

    #[test]
    fn ipv6_addresses_that_no_interface_has_for_other_nodes_are_named() {
        for (text, expected) in [
            ("fd99::1@tcp", Ok(())),
            ("::1@tcp", Ok(())),
            ("10.0.0.1@tcp", Ok(())),
            ("0@lo", Ok(())),
            ("::@tcp", Err(Problem::NoInterfacesAddress)),
            ("ff02::1@tcp", Err(Problem::NoInterfacesAddress)),
            ("fe80::1@tcp", Err(Problem::LinkLocal)),
            ("::ffff:10.99.0.12@tcp", Err(Problem::MappedIpv4)),
        ] {
            assert_eq!(text.parse::<Nid>().unwrap().check_address(), expected, "{text}");
        }
    }

    #[test]
    fn the_partition_of_a_nid_is_the_sum_of_its_bytes() {
        let nid = Nid::from_u64(0x0002_0000_0a00_0001).unwrap();
        let cpt = |nid, n| cpt_of_nid(nid, NonZeroUsize::new(n).unwrap());
        assert_eq!(cpt(nid, 256), 13);
        assert_eq!(cpt(nid, 4), 1);
        assert_eq!(cpt(nid, 1), 0);
        assert_eq!(cpt(Nid::new_long(nid.net(), [1; 16]), 256), 12 + 2 + 16);
    }

    #[test]
    fn the_twenty_byte_form_starts_with_the_eight_byte_form_in_big_endian() {
        let nid = Nid::new(NetId::new(NetType::TCP, 1), 0x0a00_0001);
        assert_eq!(nid.to_wire20()[..8], 0x0002_0001_0a00_0001_u64.to_be_bytes());
        assert_eq!(Nid::from_wire20(nid.to_wire20()), Some(nid));
        let long = Nid::new_long(nid.net(), [7; 16]);
        assert_eq!(long.to_u64(), None);
        assert_eq!(Nid::from_wire20(long.to_wire20()), Some(long));
    }

    #[test]
    fn twenty_bytes_that_no_node_would_write_are_no_nid() {
        let good = Nid::new(NetId::new(NetType::TCP, 0), 0x0a00_0001).to_wire20();
        for (at, byte) in [(0, 1), (0, 11), (0, 13), (0, 16), (0, 0x20), (1, 0xff), (8, 1), (19, 0xaa)] {
            let mut bytes = good;
            bytes[at] = byte;
            assert_eq!(Nid::from_wire20(bytes), None, "byte {at} is {byte:#x}");
        }
        assert_eq!(Nid::from_wire20([0xff; 20]), None);
    }

    #[test]
    fn the_order_of_short_nids_is_that_of_their_eight_byte_forms() {
        let all =
            [0x0002_0000_0a00_0001, 0x0002_0000_0a00_0002, 0x0002_0001_0a00_0000, 0x0005_0000_0000_0000];
        assert!(all.windows(2).all(|w| Nid::from_u64(w[0]) < Nid::from_u64(w[1])));
    }

    proptest::proptest! {
        #[test]
        fn the_order_is_that_of_the_twenty_byte_forms(words: [(u8, u16, u32); 2], bytes: [[u8; 16]; 2], longs: [bool; 2]) {
            let nid = |at: usize| {
                let (kind, number, address) = words[at];
                let net = NetId::new(NetType(u16::from(kind)), number);
                if longs[at] { Nid::new_long(net, bytes[at]) } else { Nid::new(net, address) }
            };
            let (one, other) = (nid(0), nid(1));
            proptest::prop_assert_eq!(one.cmp(&other), one.to_wire20().cmp(&other.to_wire20()));
        }
    }
}
