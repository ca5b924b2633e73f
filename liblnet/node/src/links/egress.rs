//! The link by which the machine sends, asked of the kernel's routing over netlink, which needs no privilege.

use lnet_os::descriptor::above_standard;
use nix::net::if_::if_indextoname;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use std::net::IpAddr;

/// The types of a route's attributes (`linux/rtnetlink.h`).
const RTA_DST: u16 = 1;
const RTA_SRC: u16 = 2;
const RTA_OIF: u16 = 4;
/// The sizes of `struct nlmsghdr` and `struct rtmsg` in bytes.
const HEADER: usize = 16;
const ROUTE: usize = 12;
/// The size of an attribute's header in bytes.
const ATTRIBUTE: usize = 4;

/// The link by which a packet from `source` to `destination`, addresses of one family, leaves; `None` if the kernel does not report one.
#[expect(clippy::disallowed_methods, reason = "the number is seen to here, and netlink raises no SIGPIPE")]
pub(super) fn device(source: IpAddr, destination: IpAddr) -> Option<String> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None).ok()?;
    let socket = above_standard(socket).ok()?;
    sendto(&socket, &question(source, destination), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))
        .ok()?;
    let mut response = [0; 1024];
    // The kernel answers before `sendto` returns.
    let (_, len) = recv(&socket, &mut response, RecvFlags::DONTWAIT).ok()?;
    let index = link_in(response.get(..len)?)?;
    if_indextoname(index).ok()?.into_string().ok()
}

fn question(source: IpAddr, destination: IpAddr) -> Vec<u8> {
    let family = if destination.is_ipv6() { libc::AF_INET6 } else { libc::AF_INET };
    let attributes = [(RTA_DST, octets(destination)), (RTA_SRC, octets(source))];
    let sizes = attributes.each_ref().map(|(_, address)| ATTRIBUTE + address.len());
    let len = HEADER + ROUTE + sizes.iter().sum::<usize>();
    let mut bytes = Vec::with_capacity(len);
    bytes.extend((len as u32).to_ne_bytes());
    bytes.extend(libc::RTM_GETROUTE.to_ne_bytes());
    bytes.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    // A sequence number, and the port of the sender, which the kernel fills in.
    bytes.extend([0; 8]);
    // Family, both prefix lengths; type of service, table and the rest are 0.
    let bits = attributes.each_ref().map(|(_, address)| address.len() as u8 * 8);
    bytes.extend([family as u8, bits[0], bits[1]]);
    bytes.resize(HEADER + ROUTE, 0);
    for ((attribute, address), size) in attributes.iter().zip(sizes) {
        bytes.extend((size as u16).to_ne_bytes());
        bytes.extend(attribute.to_ne_bytes());
        bytes.extend(address);
    }
    bytes
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}

/// The index of the link in a response that is a route; `None` for any other response.
fn link_in(response: &[u8]) -> Option<u32> {
    let is_route = response.get(4..6)? == libc::RTM_NEWROUTE.to_ne_bytes();
    let mut rest = response.get(HEADER + ROUTE..).filter(|_| is_route)?;
    loop {
        let len = usize::from(u16::from_ne_bytes(rest.get(..2)?.try_into().ok()?));
        let attribute = u16::from_ne_bytes(rest.get(2..4)?.try_into().ok()?);
        let value = rest.get(ATTRIBUTE..len)?;
        if attribute == RTA_OIF {
            return Some(u32::from_ne_bytes(value.try_into().ok()?));
        }
        // Attributes begin at multiples of 4.
        rest = rest.get(len.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_of_a_route_is_found_among_its_attributes() {
        let attribute = |number: u16, value: &[u8]| {
            let mut bytes = ((ATTRIBUTE + value.len()) as u16).to_ne_bytes().to_vec();
            bytes.extend(number.to_ne_bytes());
            bytes.extend(value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        let response = |kind: u16, attributes: &[Vec<u8>]| {
            let mut bytes = [&[0; 4], &kind.to_ne_bytes()[..], &[0; HEADER + ROUTE - 6]].concat();
            bytes.extend(attributes.concat());
            bytes
        };
        let oif = attribute(RTA_OIF, &7_u32.to_ne_bytes());
        let table: [(Vec<u8>, Option<u32>); 7] = [
            (response(libc::RTM_NEWROUTE, &[attribute(RTA_DST, &[1, 2, 3, 4]), oif.clone()]), Some(7)),
            (response(libc::RTM_NEWROUTE, &[attribute(9, &[1]), oif.clone()]), Some(7)),
            (response(libc::RTM_NEWROUTE, &[attribute(RTA_DST, &[1, 2, 3, 4])]), None),
            (response(libc::RTM_NEWROUTE, &[attribute(RTA_OIF, &[1])]), None),
            (response(libc::NLMSG_ERROR as u16, &[oif]), None),
            (response(libc::RTM_NEWROUTE, &[vec![0; 4]]), None),
            (Vec::new(), None),
        ];
        for (response, expected) in table {
            assert_eq!(link_in(&response), expected, "{response:?}");
        }
    }

    /// Fails if the kernel does not report the loopback as the link by which a machine sends to itself.
    #[test]
    fn the_kernel_says_by_which_link_it_sends() {
        for (source, destination) in [("127.0.0.1", "127.0.0.9"), ("::1", "::1")] {
            let found = device(source.parse().unwrap(), destination.parse().unwrap());
            assert!(found.is_none_or(|link| link == "lo"), "{source}");
        }
    }
}
