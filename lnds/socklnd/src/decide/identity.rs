//! Identity of a connecting peer (wire-tcp 2.7).

use crate::proto::acceptor::LAST_PRIVILEGED_PORT;
use crate::proto::{Hello, Version};
use lnet_wire::nid::Address;
use lnet_wire::{Header, Nid, Pid, ProcessId};
use std::net::{IpAddr, SocketAddr};

/// The identity of a peer on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The peer's NID and PID.
    pub(crate) id: ProcessId,
    /// Whether the ID is synthetic, so that the source of every message from the peer must be replaced by it.
    pub(crate) synthetic: bool,
}

impl Identity {
    /// Replaces the source in the header of a message from a peer whose ID is synthetic (wire-tcp 2.7).
    pub(crate) fn relabel(self, header: &mut Header) {
        if self.synthetic {
            header.src_nid = self.id.nid;
            header.src_pid = self.id.pid;
        }
    }
}

/// The reason for which a HELLO that can be read is not believed, or cannot be answered in kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RejectedHello {
    /// The address that the peer connects from says nothing about the NID that it claims, and its port is not privileged.
    #[error("it claims {0} from an address of another family, and its port {1} is not privileged")]
    Unproven(Nid, u16),
    /// The answer would have eight bytes for this node's NID, which has more.
    #[error("HELLO of version {} to {target}, whose NID needs version 4", *version as u32)]
    TooOld { version: Version, target: Nid },
}

/// Determines the identity of the peer that connects to the NI `mine` from `source` with `hello`.
///
/// A peer that connects from a privileged port has the ID that it claims. From another port the kernel believes nothing and
/// makes a synthetic ID of source address and port. This driver believes such a peer if it claims the address that it
/// connects from, on the net that it connects to: then nodes without privileges can be full peers of each other, and
/// the claim is no more than the address proves.
///
/// A peer may connect from an address of the other family than its NID's: it reaches an IPv6 NID from an IPv4 NI by the IPv6 address of the
/// interface. No NID is made of that address, as a message to it would not be for the peer: without a privileged port the peer is rejected.
pub(crate) fn identify(hello: &Hello, source: SocketAddr, mine: Nid) -> Result<Identity, RejectedHello> {
    let claimed = ProcessId { nid: hello.src_nid, pid: hello.src_pid };
    let from_its_address = Nid::from_ip(mine, source.ip());
    if source.port() <= LAST_PRIVILEGED_PORT || claimed.nid == from_its_address {
        return Ok(Identity { id: claimed, synthetic: false });
    }
    if claimed.nid.ip().is_ipv4() != from_its_address.ip().is_ipv4() {
        return Err(RejectedHello::Unproven(claimed.nid, source.port()));
    }
    let pid = Pid(Pid::USER_FLAG | u32::from(source.port()));
    Ok(Identity { id: ProcessId { nid: from_its_address, pid }, synthetic: true })
}

/// NIDs of IP networks.
pub(crate) trait IpNid: Sized {
    /// The NID of `ip` on the net of `on`.
    fn from_ip(on: Self, ip: IpAddr) -> Self;
    /// The IP address in the NID.
    fn ip(self) -> IpAddr;
}

impl IpNid for Nid {
    fn from_ip(on: Self, ip: IpAddr) -> Self {
        match ip.to_canonical() {
            IpAddr::V4(ip) => Self::new(on.net(), u32::from(ip)),
            IpAddr::V6(ip) => Self::new_long(on.net(), ip.octets()),
        }
    }

    fn ip(self) -> IpAddr {
        match self.address() {
            Address::Short(address) => IpAddr::V4(address.into()),
            Address::Long(address) => IpAddr::V6(address.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::proto::ConnectionType;
    use lnet_wire::{NetId, NetType};

    #[test]
    fn a_peer_is_who_it_claims_to_be_if_its_port_or_its_address_proves_it() {
        let tcp = |address| Nid::new(NetId::new(NetType::TCP, 0), address);
        let tcp9 = |address| Nid::new(NetId::new(NetType::TCP, 9), address);
        let mine = tcp(0x0a00_0002);
        for (source, claimed, pid, id, synthetic) in [
            // From a privileged port any claim is believed, also one that does not fit the address.
            ("10.0.0.1:1023", tcp(0x0a00_0001), 12345, (tcp(0x0a00_0001), 12345), false),
            ("10.0.0.1:1023", tcp(0x0a00_0037), 12345, (tcp(0x0a00_0037), 12345), false),
            ("10.0.0.1:900", tcp9(0x0a00_0001), 12345, (tcp9(0x0a00_0001), 12345), false),
            ("10.0.0.1:1023", tcp(0x0a00_0001), 0x8000_3039, (tcp(0x0a00_0001), 0x8000_3039), false),
            // From another port only the peer's own address on the net that it connects to.
            ("10.0.0.1:1024", tcp(0x0a00_0001), 12345, (tcp(0x0a00_0001), 12345), false),
            ("10.0.0.1:40000", tcp(0x0a00_0009), 12345, (tcp(0x0a00_0001), 0x8000_0000 | 40000), true),
            ("10.0.0.1:40000", tcp9(0x0a00_0001), 12345, (tcp(0x0a00_0001), 0x8000_0000 | 40000), true),
            ("[::ffff:10.0.0.1]:40000", tcp(0x0a00_0001), 12345, (tcp(0x0a00_0001), 12345), false),
        ] {
            let hello = Hello {
                version: Version::V3,
                src_nid: claimed,
                dest_nid: Some(mine),
                src_pid: Pid(pid),
                dest_pid: Pid(0),
                src_incarnation: 1,
                dest_incarnation: 0,
                connection_type: Some(ConnectionType::Control),
                ips: vec![],
            };
            let want = Identity { id: ProcessId { nid: id.0, pid: Pid(id.1) }, synthetic };
            assert_eq!(identify(&hello, source.parse().unwrap(), mine), Ok(want), "{source} {claimed:?}");
        }
    }

    #[test]
    fn no_nid_is_made_of_an_address_of_another_family_than_the_claimed_one() {
        for (mine, claimed, source, proven) in [
            ("fd99::11@tcp", "10.99.0.12@tcp", "[fd99::12]:1023", true),
            ("fd99::11@tcp", "10.99.0.12@tcp", "[fd99::12]:1024", false),
            ("10.99.0.11@tcp", "fd99::12@tcp", "10.99.0.12:1023", true),
            ("10.99.0.11@tcp", "fd99::12@tcp", "10.99.0.12:40000", false),
            ("10.99.0.11@tcp", "fd99::12@tcp", "[::ffff:10.99.0.12]:40000", false),
            ("fd99::11@tcp", "fd99::12@tcp", "[fd99::12]:40000", true),
        ] {
            let hello = Hello {
                version: Version::V4,
                src_nid: claimed.parse().unwrap(),
                dest_nid: None,
                src_pid: Pid::LUSTRE,
                dest_pid: Pid(0),
                src_incarnation: 1,
                dest_incarnation: 0,
                connection_type: Some(ConnectionType::Control),
                ips: vec![],
            };
            let id = ProcessId { nid: hello.src_nid, pid: Pid::LUSTRE };
            let source: SocketAddr = source.parse().unwrap();
            let expected = match proven {
                true => Ok(Identity { id, synthetic: false }),
                false => Err(RejectedHello::Unproven(hello.src_nid, source.port())),
            };
            assert_eq!(identify(&hello, source, mine.parse().unwrap()), expected, "{claimed} from {source}");
        }
    }

    #[test]
    fn a_nid_and_its_address_are_the_same() {
        let mine = Nid::new(NetId::new(NetType::TCP, 3), 0x7f00_0001);
        for ip in ["10.0.0.1", "fd99::11"] {
            let ip: IpAddr = ip.parse().unwrap();
            assert_eq!(Nid::from_ip(mine, ip).ip(), ip);
            assert_eq!(Nid::from_ip(mine, ip).net(), mine.net());
        }
    }
}
