//! The check whether interfaces in one subnet send by their own links. Pure.

use lnet_wire::{IpPrefix, Nid};
use std::fmt;
use std::net::IpAddr;

/// An interface of this node, with the subnet and the link of its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) nid: Nid,
    pub(super) address: IpAddr,
    /// The subnet of the address.
    pub(super) subnet: IpPrefix,
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
    egress: impl Fn(IpAddr, IpAddr) -> Option<String>,
) -> Vec<Misrouted<'a>> {
    let Some(new) = all.iter().find(|it| it.nid == new) else { return Vec::new() };
    let in_it: Vec<&Placed> = all.iter().filter(|it| it.subnet == new.subnet).collect();
    if in_it.iter().all(|it| it.device == new.device) {
        return Vec::new();
    }
    let Some(other) = another_address(new.subnet, &in_it) else { return Vec::new() };
    let leaves_elsewhere = |it: &'a Placed| {
        let egress = egress(it.address, other).filter(|device| *device != it.device)?;
        Some(Misrouted { it, egress, own_link })
    };
    in_it.into_iter().filter_map(leaves_elsewhere).collect()
}

/// An address of the subnet that no interface in `taken` has, nor is the first or the last.
fn another_address(subnet: IpPrefix, taken: &[&Placed]) -> Option<IpAddr> {
    // One address more than there are to skip.
    let hosts = 1..=taken.len() as u32 + 1;
    let address = |host: u32| {
        Some(match subnet.first() {
            IpAddr::V4(first) => IpAddr::V4(first.to_bits().checked_add(host)?.into()),
            IpAddr::V6(first) => IpAddr::V6(first.to_bits().checked_add(host.into())?.into()),
        })
    };
    hosts.filter_map(|host| Some((address(host)?, address(host + 1)?))).find_map(|(it, next)| {
        let is_inside = subnet.matches(it) && subnet.matches(next);
        (is_inside && taken.iter().all(|its| its.address != it)).then_some(it)
    })
}

/// The program that shows and changes routes and rules of a family.
pub const fn ip_program(address: IpAddr) -> &'static str {
    if address.is_ipv6() { "ip -6" } else { "ip" }
}

impl fmt::Display for Misrouted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Placed { nid, address, device, subnet } = self.it;
        let (egress, ip) = (&self.egress, ip_program(*address));
        let or_setting = self.own_link.map(|setting| format!(", or {setting},")).unwrap_or_default();
        write!(
            f,
            "NI {nid}: shares its subnet with another link, and what it sends leaves by {egress}, not {device} (no source route); \
             it goes on so, and stops with {egress}; `{ip} rule add from {address} table N` and `{ip} route add {subnet} dev \
             {device} table N`{or_setting} have it use {device}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(nid: &str, prefix_len: u8, device: &str) -> Placed {
        let nid: Nid = nid.parse().unwrap();
        let address = nid.address().ip();
        let subnet = IpPrefix::new(address, prefix_len).unwrap();
        Placed { nid, address, subnet, device: device.to_owned() }
    }

    #[test]
    fn interfaces_of_one_subnet_are_told_of_if_they_send_by_each_others_links() {
        let first = || placed("10.0.0.1@tcp", 24, "eth0");
        let second = || placed("10.0.0.2@tcp", 24, "eth1");
        let third = || placed("10.0.1.3@tcp1", 24, "eth2");
        // The interfaces, of which the last is new; the link by which the machine sends from each; the interfaces reported.
        let by_eth0 = |_: IpAddr| Some("eth0");
        let by_eth1 = |_: IpAddr| Some("eth1");
        let by_source = |from: IpAddr| match from.to_string().as_str() {
            "10.0.0.1" | "fd99::1" => Some("eth0"),
            "10.0.0.2" | "fd99::2" => Some("eth1"),
            _ => Some("eth2"),
        };
        let (first_v6, second_v6) =
            (|| placed("fd99::1@tcp", 64, "eth0"), || placed("fd99::2@tcp", 64, "eth1"));
        let unknown = |_: IpAddr| None;
        type Route = fn(IpAddr) -> Option<&'static str>;
        let table: [(&str, Vec<Placed>, Route, &[&str]); 15] = [
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
            ("IPv6", vec![first_v6(), second_v6()], by_eth0, &["fd99::2@tcp"]),
            ("IPv6 with source routes", vec![first_v6(), second_v6()], by_source, &[]),
            ("both families", vec![first_v6(), first(), second()], by_eth0, &["10.0.0.2@tcp"]),
            ("families on different links", vec![first(), second_v6()], by_eth0, &[]),
            (
                "IPv6 addresses without a subnet",
                vec![placed("fd99::1@tcp", 128, "eth0"), placed("fd99::2@tcp", 128, "eth1")],
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
        let all = [placed("fd99::1@tcp", 64, "eth0"), placed("fd99::2@tcp", 64, "eth1")];
        let line = misrouted(all[1].nid, &all, None, |_, _| Some("eth0".to_owned()))[0].to_string();
        for part in ["`ip -6 rule add from fd99::2 table N`", "`ip -6 route add fd99::/64 dev eth1 table N`"]
        {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
}
