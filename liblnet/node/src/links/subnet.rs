//! The check whether interfaces in one subnet send by their own links. Pure.

use lnet_wire::Nid;
use std::fmt;
use std::net::Ipv4Addr;

/// An interface of this node, with the subnet and the link of its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) nid: Nid,
    pub(super) address: Ipv4Addr,
    pub(super) prefix_len: u32,
    /// The link that has the address.
    pub(super) device: String,
}

/// An interface whose packets leave by the link of another one. Its text is the warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Misrouted<'a> {
    pub(super) it: &'a Placed,
    /// The link by which the packets leave.
    pub(super) egress: String,
    /// The setting of the driver that lets them leave by their own link.
    own_link: Option<&'static str>,
}

/// The interfaces in the subnet of `new` whose packets to that subnet leave by a link that is not theirs; none unless two of
/// them are on different links. `egress` returns the link by which the machine sends from one address to another; `None` if
/// it is unknown.
pub(super) fn misrouted<'a>(
    new: Nid,
    all: &'a [Placed],
    own_link: Option<&'static str>,
    egress: impl Fn(Ipv4Addr, Ipv4Addr) -> Option<String>,
) -> Vec<Misrouted<'a>> {
    let Some(new) = all.iter().find(|it| it.nid == new) else { return Vec::new() };
    let subnet = new.subnet();
    let in_it: Vec<&Placed> = all.iter().filter(|it| it.subnet() == subnet).collect();
    if in_it.iter().all(|it| it.device == new.device) {
        return Vec::new();
    }
    let Some(other) = another_address(subnet, &in_it) else { return Vec::new() };
    let leaves_elsewhere = |it: &'a Placed| {
        let egress = egress(it.address, other).filter(|device| *device != it.device)?;
        Some(Misrouted { it, egress, own_link })
    };
    in_it.into_iter().filter_map(leaves_elsewhere).collect()
}

/// An address of the subnet that no interface in `taken` has.
fn another_address((network, prefix_len): (u32, u32), taken: &[&Placed]) -> Option<Ipv4Addr> {
    let hosts = 32_u32.checked_sub(prefix_len).map_or(0, |bits| (1_u64 << bits).saturating_sub(2));
    // One address more than there are to skip.
    let tried = u32::try_from(hosts.min(taken.len() as u64 + 1)).unwrap_or(0);
    (1..=tried)
        .map(|host| Ipv4Addr::from_bits(network + host))
        .find(|address| taken.iter().all(|it| it.address != *address))
}

impl Placed {
    /// The first address of the interface's subnet, and the length of its prefix.
    pub(super) fn subnet(&self) -> (u32, u32) {
        let mask = u32::MAX.checked_shl(32_u32.saturating_sub(self.prefix_len)).unwrap_or(0);
        (self.address.to_bits() & mask, self.prefix_len)
    }
}

impl fmt::Display for Misrouted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Placed { nid, address, device, .. } = self.it;
        let (network, prefix_len) = self.it.subnet();
        let (egress, subnet) = (&self.egress, Ipv4Addr::from_bits(network));
        let or_setting = self.own_link.map(|setting| format!(", or {setting},")).unwrap_or_default();
        write!(
            f,
            "NI {nid}: shares its subnet with another link, and what it sends leaves by {egress}, not {device} (no source route); \
             it goes on so, and stops with {egress}; `ip rule add from {address} table N` and `ip route add {subnet}/{prefix_len} dev \
             {device} table N`{or_setting} have it use {device}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(nid: &str, prefix_len: u32, device: &str) -> Placed {
        let address = nid.split('@').next().unwrap().parse().unwrap();
        Placed { nid: nid.parse().unwrap(), address, prefix_len, device: device.to_owned() }
    }

    #[test]
    fn interfaces_of_one_subnet_are_told_of_if_they_send_by_each_others_links() {
        let first = || placed("10.0.0.1@tcp", 24, "eth0");
        let second = || placed("10.0.0.2@tcp", 24, "eth1");
        let third = || placed("10.0.1.3@tcp1", 24, "eth2");
        // The interfaces, of which the last is new; the link by which the machine sends from each; the interfaces reported.
        let by_eth0 = |_: Ipv4Addr| Some("eth0");
        let by_eth1 = |_: Ipv4Addr| Some("eth1");
        let by_source = |from: Ipv4Addr| match from.octets() {
            [10, 0, 0, 1] => Some("eth0"),
            [10, 0, 0, 2] => Some("eth1"),
            _ => Some("eth2"),
        };
        let unknown = |_: Ipv4Addr| None;
        type Route = fn(Ipv4Addr) -> Option<&'static str>;
        let table: [(&str, Vec<Placed>, Route, &[&str]); 10] = [
            ("alone", vec![first()], by_eth1, &[]),
            ("one link for all", vec![first(), second()], by_eth0, &["10.0.0.2@tcp"]),
            ("the link of the new one", vec![first(), second()], by_eth1, &["10.0.0.1@tcp"]),
            ("source routes", vec![first(), second()], by_source, &[]),
            ("a machine that does not say", vec![first(), second()], unknown, &[]),
            ("other subnets", vec![first(), third()], by_eth0, &[]),
            (
                "nets of LNet do not matter",
                vec![first(), placed("10.0.0.9@tcp7", 24, "eth3")],
                by_eth0,
                &["10.0.0.9@tcp7"],
            ),
            ("two addresses of a link", vec![first(), placed("10.0.0.3@tcp1", 24, "eth0")], by_eth1, &[]),
            (
                "addresses without a subnet",
                vec![placed("10.0.0.1@tcp", 32, "eth0"), placed("10.0.0.2@tcp", 32, "eth1")],
                by_eth0,
                &[],
            ),
            ("another length of the prefix", vec![first(), placed("10.0.0.2@tcp", 16, "eth1")], by_eth0, &[]),
        ];
        for (what, all, route, expected) in table {
            let new = all.last().unwrap().nid;
            let found = misrouted(new, &all, None, |from, to| {
                assert!(all.iter().all(|it| it.address != to), "{what}: {to}");
                route(from).map(str::to_owned)
            });
            let told: Vec<String> = found.iter().map(|found| found.it.nid.to_string()).collect();
            assert_eq!(told, expected, "{what}");
        }
    }

    #[test]
    fn the_line_says_what_to_do() {
        let all = [placed("10.0.0.1@tcp", 24, "eth0"), placed("10.0.0.2@tcp", 24, "eth1")];
        let found = misrouted(all[1].nid, &all, Some("DRIVER_BINDS=1"), |_, _| Some("eth0".to_owned()));
        let line = found[0].to_string();
        for part in [
            "NI 10.0.0.2@tcp: ",
            "leaves by eth0, not eth1",
            "`ip rule add from 10.0.0.2 table N`",
            "`ip route add 10.0.0.0/24 dev eth1 table N`",
            ", or DRIVER_BINDS=1, have it use eth1",
        ] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
}
