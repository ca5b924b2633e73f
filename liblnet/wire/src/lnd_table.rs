//! The table of network types: number, name, module, and form of addresses.

use crate::nid::NetType;

/// A kind of network, with the names of its driver (LND) for users and for the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lnd {
    /// The number on the wire.
    pub net_type: NetType,
    /// The name that stands after the `@`, before the net's number.
    pub name: &'static str,
    /// The kernel module that holds the driver, if its name is on record.
    pub module: Option<&'static str>,
    /// The form of addresses in texts.
    pub addresses: AddressKind,
}

/// The form of the addresses of a network in texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    /// Any text; the only address is 0.
    Loopback,
    /// Four numbers with dots between.
    Ipv4,
    /// An IPv4 or an IPv6 address.
    Ip,
    /// A single number.
    Number,
}

const fn lnd(
    net_type: NetType,
    name: &'static str,
    module: Option<&'static str>,
    addresses: AddressKind,
) -> Lnd {
    Lnd { net_type, name, module, addresses }
}

/// Every kind of network with a name, in the order in which names are recognised.
///
/// Numbers 1, 3, 4, 6, 7, 8, 10, 11 and 12 belong to drivers that no longer exist and must not be used again; 17 is
/// reserved for a driver that has no name yet.
pub const LNDS: [Lnd; 10] = [
    lnd(NetType::LO, "lo", None, AddressKind::Loopback),
    lnd(NetType::TCP, "tcp", Some("ksocklnd"), AddressKind::Ip),
    lnd(NetType::O2IB, "o2ib", Some("ko2iblnd"), AddressKind::Ipv4),
    lnd(NetType::GNI, "gni", Some("kgnilnd"), AddressKind::Number),
    lnd(NetType::GNI_IP, "gip", Some("kgnilnd"), AddressKind::Ipv4),
    lnd(NetType::PTL4, "ptlf", None, AddressKind::Number),
    lnd(NetType::KFI, "kfi", None, AddressKind::Number),
    lnd(NetType::EFA, "efa", None, AddressKind::Ip),
    lnd(NetType::BXI3, "bxi3f", None, AddressKind::Number),
    lnd(NetType::SHM, "shm", None, AddressKind::Number),
];

impl Lnd {
    /// Returns the kind of network called exactly `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        LNDS.iter().find(|lnd| lnd.name == name)
    }

    /// Returns the kind of network whose name `text` starts with, and the text after the name: for `tcp5` TCP and
    /// `5`.
    pub fn leading(text: &str) -> Option<(&'static Self, &str)> {
        LNDS.iter().find_map(|lnd| Some((lnd, text.strip_prefix(lnd.name)?)))
    }
}

impl NetType {
    /// Returns the table's entry for this kind of network; `None` for numbers that no named network has.
    pub fn lnd(self) -> Option<&'static Lnd> {
        LNDS.iter().find(|lnd| lnd.net_type == self)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_and_names_are_those_of_the_protocol() {
        let table: Vec<_> = LNDS.iter().map(|lnd| (lnd.net_type.0, lnd.name)).collect();
        let expected = [
            (9, "lo"),
            (2, "tcp"),
            (5, "o2ib"),
            (13, "gni"),
            (14, "gip"),
            (15, "ptlf"),
            (16, "kfi"),
            (18, "efa"),
            (19, "bxi3f"),
            // Of this library.
            (240, "shm"),
        ];
        assert_eq!(table, expected);
    }

    #[test]
    fn retired_and_reserved_numbers_name_no_network() {
        for number in [0, 1, 3, 4, 6, 7, 8, 10, 11, 12, 17, 20, 255] {
            assert_eq!(NetType(number).lnd(), None, "{number}");
        }
    }

    #[test]
    fn no_name_hides_another_that_starts_with_it() {
        for lnd in &LNDS {
            assert_eq!(Lnd::named(lnd.name), Some(lnd));
            assert_eq!(Lnd::leading(&format!("{}7", lnd.name)).unwrap(), (lnd, "7"));
        }
        assert_eq!(Lnd::leading("elan"), None);
        assert_eq!(Lnd::leading("TCP"), None);
    }
}
