//! The addresses of this host whose packets leave by other links than theirs, whether interfaces of a node have them or not.

use super::subnet::{Misrouted, Placed, misrouted};
use super::{egress, host_links, link_and_prefix};
use lnet_wire::nid::NetId;
use lnet_wire::{NetType, Nid};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

/// An address in a subnet that several links are in, from which packets to that subnet leave by another link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MisroutedAddress {
    /// The address.
    pub address: Ipv4Addr,
    /// The link that has it.
    pub device: String,
    /// The link by which its packets leave.
    pub egress: String,
    /// The first address of the subnet.
    pub network: Ipv4Addr,
    /// The length of the subnet's prefix in bits.
    pub prefix_len: u32,
}

/// All such addresses of this host, as the kernel routes; none where it does not say.
pub fn misrouted_addresses() -> Vec<MisroutedAddress> {
    let entries = host_links::entries().unwrap_or_default();
    let all: Vec<Placed> = entries
        .iter()
        .filter_map(|entry| {
            let Some(IpAddr::V4(address)) = entry.address.filter(|_| entry.up && entry.whole_net.is_none())
            else {
                return None;
            };
            let (device, prefix_len) = link_and_prefix(entry);
            // The net does not matter.
            let nid = Nid::new(NetId::new(NetType::TCP, 0), address.to_bits());
            Some(Placed { nid, address, prefix_len: prefix_len.unwrap_or(32), device })
        })
        .collect();
    of_each_subnet(&all, egress::device)
}

fn of_each_subnet(
    all: &[Placed],
    egress: impl Fn(Ipv4Addr, Ipv4Addr) -> Option<String>,
) -> Vec<MisroutedAddress> {
    let mut subnets = BTreeSet::new();
    let firsts = all.iter().filter(|it| subnets.insert(it.subnet()));
    let found = firsts.flat_map(|first| misrouted(first.nid, all, None, &egress));
    found
        .map(|Misrouted { it, egress, .. }| {
            let (network, prefix_len) = it.subnet();
            MisroutedAddress {
                address: it.address,
                device: it.device.clone(),
                egress,
                network: Ipv4Addr::from_bits(network),
                prefix_len,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_send_by_other_links_are_found_once() {
        let placed = |address: [u8; 4], prefix_len, device: &str| {
            let address = Ipv4Addr::from(address);
            let nid = Nid::new(NetId::new(NetType::TCP, 0), address.to_bits());
            Placed { nid, address, prefix_len, device: device.to_owned() }
        };
        let all = [
            placed([192, 0, 2, 1], 24, "eth0"),
            placed([198, 51, 100, 1], 24, "eth0"),
            placed([192, 0, 2, 2], 24, "eth1"),
            placed([192, 0, 2, 3], 24, "eth2"),
        ];
        let by_source = |from: Ipv4Addr, _: Ipv4Addr| {
            let device = if from.octets()[3] == 3 { "eth2" } else { "eth0" };
            Some(device.to_owned())
        };
        let expected = MisroutedAddress {
            address: Ipv4Addr::new(192, 0, 2, 2),
            device: "eth1".to_owned(),
            egress: "eth0".to_owned(),
            network: Ipv4Addr::new(192, 0, 2, 0),
            prefix_len: 24,
        };
        assert_eq!(of_each_subnet(&all, by_source), [expected]);
        assert_eq!(of_each_subnet(&all, |_, _| None), []);
    }
}
