//! The addresses of this host whose packets leave by other links than theirs, whether interfaces of a node have them or not.

use super::subnet::{Misrouted, Placed, misrouted};
use super::{egress, host_links, link_and_subnet};
use lnet_os::interfaces::is_link_local;
use lnet_wire::nid::{Address, NetId};
use lnet_wire::{IpPrefix, NetType};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// An address in a subnet that several links are in, from which packets to that subnet leave by another link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MisroutedAddress {
    /// The address.
    pub address: IpAddr,
    /// The link that has it.
    pub device: String,
    /// The link by which its packets leave.
    pub egress: String,
    /// The subnet.
    pub subnet: IpPrefix,
}

/// All such addresses of this host, as the kernel routes; none where it does not say. Link-local addresses are left out: no NID has them, and
/// all links are in their subnet.
pub fn misrouted_addresses() -> Vec<MisroutedAddress> {
    let entries = host_links::entries().unwrap_or_default();
    let all: Vec<Placed> = entries
        .iter()
        .filter_map(|entry| {
            let address = entry.address.filter(|_| entry.up && entry.whole_net.is_none())?;
            if is_link_local(address) {
                return None;
            }
            let (device, subnet) = link_and_subnet(entry)?;
            // The net does not matter.
            let nid = Address::from(address).on(NetId::new(NetType::TCP, 0));
            Some(Placed { nid, address, subnet, device })
        })
        .collect();
    of_each_subnet(&all, egress::device)
}

fn of_each_subnet(
    all: &[Placed],
    egress: impl Fn(IpAddr, IpAddr) -> Option<String>,
) -> Vec<MisroutedAddress> {
    let mut subnets = BTreeSet::new();
    let firsts = all.iter().filter(|it| subnets.insert(it.subnet));
    let found = firsts.flat_map(|first| misrouted(first.nid, all, None, &egress));
    found
        .map(|Misrouted { it, egress, .. }| MisroutedAddress {
            address: it.address,
            device: it.device.clone(),
            egress,
            subnet: it.subnet,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_send_by_other_links_are_found_once() {
        let placed = |address: &str, prefix_len, device: &str| {
            let address: IpAddr = address.parse().unwrap();
            let nid = Address::from(address).on(NetId::new(NetType::TCP, 0));
            let subnet = IpPrefix::new(address, prefix_len).unwrap();
            Placed { nid, address, subnet, device: device.to_owned() }
        };
        let all = [
            placed("192.0.2.1", 24, "eth0"),
            placed("198.51.100.1", 24, "eth0"),
            placed("192.0.2.2", 24, "eth1"),
            placed("192.0.2.3", 24, "eth2"),
            placed("2001:db8::1", 64, "eth0"),
            placed("2001:db8::2", 64, "eth1"),
            placed("2001:db8::3", 64, "eth2"),
        ];
        let by_source = |from: IpAddr, _: IpAddr| {
            let device = if from.to_string().ends_with('3') { "eth2" } else { "eth0" };
            Some(device.to_owned())
        };
        let expected =
            [("192.0.2.2", "192.0.2.0/24"), ("2001:db8::2", "2001:db8::/64")].map(|(address, subnet)| {
                MisroutedAddress {
                    address: address.parse().unwrap(),
                    device: "eth1".to_owned(),
                    egress: "eth0".to_owned(),
                    subnet: subnet.parse().unwrap(),
                }
            });
        assert_eq!(of_each_subnet(&all, by_source), expected);
        assert_eq!(of_each_subnet(&all, |_, _| None), []);
    }
}
