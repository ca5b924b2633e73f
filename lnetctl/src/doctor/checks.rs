//! The checks of this host.

use super::host::{Firewall, Host};
use super::{Finding, State};
use lnet_node::{MisroutedAddress, ip_program};
use std::collections::BTreeMap;

/// A check of this host.
pub struct Check {
    /// The name of the check.
    pub name: &'static str,
    /// The decision.
    pub find: fn(&Host) -> Finding,
}

/// All checks, in the order in which they are shown.
pub const CHECKS: [Check; 6] = [
    Check { name: "interfaces in one subnet", find: subnets },
    Check { name: "firewall", find: firewall },
    Check { name: "port", find: port },
    Check { name: "low ports", find: low_ports },
    Check { name: "locked memory", find: locked_memory },
    Check { name: "clock", find: clock },
];

/// The bit of `CAP_NET_BIND_SERVICE`.
const BIND_SERVICE: u32 = 10;
/// The first port that a node with `accept=secure` does not accept connections from.
const FIRST_HIGH_PORT: u32 = 1024;
/// Locked memory that is enough for the buffers of a node with RDMA.
const ENOUGH_LOCKED: u64 = 1 << 30;
/// 2024-01-01: this library is younger.
const OLDEST_CLOCK: u64 = 1_704_067_200;

/// The interfaces of the first subnet of a family that has several.
struct SharedSubnet {
    names: Vec<String>,
    is_v6: bool,
}

impl SharedSubnet {
    /// One of each family that has such a subnet.
    fn all_of(host: &Host) -> impl Iterator<Item = Self> {
        let first = |subnets: Vec<(String, String)>, is_v6| {
            let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for (subnet, name) in subnets {
                let names = all.entry(subnet).or_default();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            all.into_values().find(|names| names.len() > 1).map(|names| Self { names, is_v6 })
        };
        first(host.subnets_v4(), false).into_iter().chain(first(host.subnets_v6(), true))
    }
}

/// Interfaces that share a subnet: answers leave by the first one, unless each address has a route of its own.
fn subnets(host: &Host) -> Finding {
    let found = SharedSubnet::all_of(host).map(|shared| shared_subnet(host, &shared)).collect();
    joined(found).unwrap_or_else(|| Finding::fine("no subnet has several interfaces"))
}

/// One finding of several: all that are not fine, with the worst state; or else all. `None` of none.
fn joined(findings: Vec<Finding>) -> Option<Finding> {
    let all_fine = findings.iter().all(|it| it.state == State::Fine);
    let told = findings.into_iter().filter(|it| all_fine || it.state != State::Fine);
    told.reduce(|one, other| Finding {
        state: if other.state == State::Wrong { State::Wrong } else { one.state },
        seen: format!("{}; {}", one.seen, other.seen),
        remedy: match (one.remedy, other.remedy) {
            (Some(one), Some(other)) => Some(format!("{one}; {other}")),
            (one, other) => one.or(other),
        },
    })
}

fn shared_subnet(host: &Host, SharedSubnet { names: shared, is_v6 }: &SharedSubnet) -> Finding {
    let subnet = if *is_v6 { "one IPv6 subnet" } else { "one subnet" };
    let is_v6 = *is_v6;
    // Neighbour discovery of IPv6 answers for the interface's own addresses only, and has no filter of paths.
    let of_shared = |is_wrong: fn(&super::host::Link) -> bool| {
        !is_v6 && host.links.iter().any(|link| shared.contains(&link.name) && is_wrong(link))
    };
    let names = shared.join(", ");
    let elsewhere: Vec<&MisroutedAddress> = host
        .misrouted
        .iter()
        .filter(|its| shared.contains(&its.device) && its.address.is_ipv6() == is_v6)
        .collect();
    let arp = of_shared(|link| link.arp_ignore == 0).then_some(
        "set net.ipv4.conf.all.arp_ignore=1 and arp_announce=2, so that each answers for its own address",
    );
    let remedy = |first: Option<&str>| {
        let routes = (!elsewhere.is_empty()).then(|| source_routes(&elsewhere));
        let all = [first.map(str::to_owned), arp.map(str::to_owned), routes];
        all.into_iter().flatten().collect::<Vec<_>>().join("; ")
    };
    let sends: Vec<String> = elsewhere
        .iter()
        .map(|its| format!("{} ({}) sends by {}", its.address, its.device, its.egress))
        .collect();
    let sends = sends.join(", ");
    match (elsewhere.is_empty(), arp) {
        (true, None) => {
            Finding::fine(format!("{names} are in {subnet}, and each address sends by its own link"))
        }
        (true, Some(_)) => Finding::warning(
            format!("{names} are in {subnet}, and answer for each other's addresses (arp_ignore=0)"),
            remedy(None),
        ),
        (false, _) if of_shared(|link| link.rp_filter == 1) => Finding::wrong(
            format!(
                "{names} are in {subnet}, {sends}, and rp_filter=1 drops what arrives by another link than Linux sends by"
            ),
            remedy(Some("set net.ipv4.conf.all.rp_filter=2")),
        ),
        (false, _) => Finding::warning(format!("{names} are in {subnet}, and {sends}"), remedy(None)),
    }
}

/// The first routing table that advice names; those of the system have numbers from 253 on.
const FIRST_TABLE: usize = 101;

/// The commands that have each address send by its own link, and the setting of this library that does so too.
pub(super) fn source_routes(misrouted: &[&MisroutedAddress]) -> String {
    let commands: Vec<String> = (FIRST_TABLE..)
        .zip(misrouted)
        .map(|(table, its)| {
            let MisroutedAddress { address, device, subnet, .. } = its;
            let ip = ip_program(*address);
            format!(
                "{ip} route add {subnet} dev {device} src {address} table {table}; {ip} rule add from {address} table {table}"
            )
        })
        .collect();
    format!(
        "{} (with tables that ip rule show does not name yet); or set SOCKLND_BIND_TO_DEVICE=1",
        commands.join("; ")
    )
}

fn firewall(host: &Host) -> Finding {
    let (program, rules) = match &host.firewall {
        Firewall::NoProgram => return Finding::fine("neither nft nor iptables is installed"),
        Firewall::Hidden(program) => {
            return Finding::unknown(format!("{program} shows its rules to root only"));
        }
        Firewall::Rules(program, rules) => (program, rules),
    };
    let port = host.port.to_string();
    let names_port = |line: &&str| line.split(|c: char| !c.is_ascii_digit()).any(|number| number == port);
    let refuses = |line: &&str| {
        line.contains("drop") || line.contains("reject") || line.contains("DROP") || line.contains("REJECT")
    };
    if let Some(line) = rules.lines().filter(names_port).find(refuses) {
        let seen = format!("a rule of {program} is against port {port}: {}", line.trim());
        return Finding::wrong(
            seen,
            format!("accept TCP to port {port} from the other nodes, and delete this rule"),
        );
    }
    let drops = rules.lines().any(|line| {
        (line.contains("hook input") && line.contains("policy drop")) || line.starts_with("-P INPUT DROP")
    });
    match (drops, rules.lines().any(|line| names_port(&line))) {
        // Ranges of ports and sets are not looked into.
        (true, false) => Finding::warning(
            format!("{program} drops what no rule accepts, and no rule names port {port}"),
            format!("accept TCP to port {port} from the other nodes"),
        ),
        _ => Finding::fine(format!("no rule of {program} is against port {port}")),
    }
}

/// Whether somebody listens on the port: a node does, and two cannot on one address.
fn port(host: &Host) -> Finding {
    let port = host.port;
    let is_used = host.listening().iter().any(|socket| socket.port() == port);
    match (is_used, host.has_kernel_lnet) {
        (true, true) => Finding::warning(
            format!("port {port} is in use, and the kernel's LNet is loaded"),
            "another port for this library (LNET_ACCEPT_PORT), on all nodes that it talks to, or other addresses",
        ),
        (true, false) => Finding::fine(format!(
            "port {port} is in use: by a node, unless another program has it (ss -ltnp)"
        )),
        (false, _) => Finding::fine(format!("port {port} is free")),
    }
}

/// Whether this user may use low ports: to listen on 988, and to connect to kernel nodes, which refuse others by default.
fn low_ports(host: &Host) -> Finding {
    let first = host.unprivileged_ports.trim().parse().unwrap_or(FIRST_HIGH_PORT);
    let capabilities = host.status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = capabilities.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    if bits & 1 << BIND_SERVICE != 0 {
        return Finding::fine("this user may use ports below 1024 (CAP_NET_BIND_SERVICE)");
    }
    if first < FIRST_HIGH_PORT {
        return Finding::fine(format!("everybody may use ports from {first} on"));
    }
    let listening = if u32::from(host.port) < first { ", nor a node listen on its port" } else { "" };
    Finding::warning(
        format!(
            "this user may not use ports below {first}: kernel nodes with accept=secure refuse connections{listening}"
        ),
        "sysctl net.ipv4.ip_unprivileged_port_start=512, or CAP_NET_BIND_SERVICE for the program, or accept=all on the other nodes",
    )
}

fn locked_memory(host: &Host) -> Finding {
    if host.rdma_devices.is_empty() {
        return Finding::fine("there is no RDMA device, and only o2ib locks memory");
    }
    let line = host.limits.lines().find_map(|line| line.strip_prefix("Max locked memory"));
    let devices = host.rdma_devices.join(", ");
    match line.and_then(|line| line.split_whitespace().next()) {
        None => Finding::unknown("the limit of locked memory cannot be read"),
        Some("unlimited") => Finding::fine(format!("no limit, for {devices}")),
        Some(limit) if limit.parse().is_ok_and(|bytes: u64| bytes >= ENOUGH_LOCKED) => {
            Finding::fine(format!("{limit} bytes, for {devices}"))
        }
        Some(limit) => Finding::warning(
            format!("{limit} bytes may be locked, which is little for o2ib on {devices}"),
            "ulimit -l unlimited, memlock in /etc/security/limits.d, or LimitMEMLOCK=infinity in the unit",
        ),
    }
}

/// The clock: nodes tell restarts of others by their clocks, and logs of several nodes are compared.
fn clock(host: &Host) -> Finding {
    let remedy = "set the clock, and let it follow a time server (chrony, systemd-timesyncd)";
    if host.seconds < OLDEST_CLOCK {
        return Finding::wrong("the clock of this host is before 2024", remedy);
    }
    match host.is_clock_set {
        Some(true) => Finding::fine("the clock follows a time server"),
        Some(false) => Finding::warning("the clock does not follow a time server", remedy),
        None => Finding::unknown("nothing says whether the clock follows a time server"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::State::{self, Fine, Unknown, Warning, Wrong};
    use super::super::host::{LNET_PORT, Link};
    use super::*;

    pub(in super::super) fn host() -> Host {
        Host {
            routes: String::new(),
            routes_v6: String::new(),
            links: Vec::new(),
            misrouted: Vec::new(),
            sockets: String::new(),
            sockets_v6: String::new(),
            status: String::new(),
            limits: String::new(),
            unprivileged_ports: String::new(),
            rdma_devices: Vec::new(),
            has_kernel_lnet: false,
            firewall: Firewall::NoProgram,
            port: LNET_PORT,
            seconds: OLDEST_CLOCK,
            is_clock_set: None,
        }
    }

    fn assert_finds(find: fn(&Host) -> Finding, host: &Host, state: State, seen: &str) {
        let finding = find(host);
        assert!(finding.state == state && finding.seen.contains(seen), "{seen}: {finding:?}");
        assert_eq!(finding.remedy.is_some(), matches!(state, Warning | Wrong), "{finding:?}");
    }

    #[test]
    fn interfaces_in_one_subnet_are_found_with_what_linux_makes_of_them() {
        let header = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n";
        let (first, second) = (
            "eth0 000200C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n",
            "eth1 000200C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n",
        );
        let other = "eth1 006433C6 00000000 0001 0 0 0 00FFFFFF 0 0 0\neth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0\n";
        let link = |name: &str, rp_filter, arp_ignore| Link { name: name.to_owned(), rp_filter, arp_ignore };
        let shared = || [first, second].concat();
        let table = [
            ([first, other].concat(), false, 1, 0, Fine, "no subnet"),
            (shared(), false, 1, 1, Fine, "each address sends by its own link"),
            (shared(), false, 1, 0, Warning, "answer for each other's addresses (arp_ignore=0)"),
            (shared(), true, 1, 1, Wrong, "192.0.2.2 (eth1) sends by eth0, and rp_filter=1"),
            (
                shared(),
                true,
                2,
                0,
                Warning,
                "eth0, eth1 are in one subnet, and 192.0.2.2 (eth1) sends by eth0",
            ),
        ];
        for (routes, is_misrouted, rp_filter, arp_ignore, state, seen) in table {
            let links = vec![link("eth0", 0, 1), link("eth1", rp_filter, arp_ignore)];
            let misrouted = is_misrouted.then(misrouted).into_iter().collect();
            let host = Host { routes: header.to_owned() + &routes, links, misrouted, ..host() };
            assert_finds(subnets, &host, state, seen);
            let remedy = subnets(&host).remedy.unwrap_or_default();
            let rule = "ip route add 192.0.2.0/24 dev eth1 src 192.0.2.2 table 101; ip rule add from 192.0.2.2 table 101";
            assert_eq!(remedy.contains(rule), is_misrouted, "{remedy}");
            assert_eq!(remedy.contains("arp_ignore=1"), arp_ignore == 0 && state == Warning, "{remedy}");
        }
    }

    /// An address of eth1 that sends by eth0.
    pub(in super::super) fn misrouted() -> MisroutedAddress {
        MisroutedAddress {
            address: "192.0.2.2".parse().unwrap(),
            device: "eth1".to_owned(),
            egress: "eth0".to_owned(),
            subnet: "192.0.2.0/24".parse().unwrap(),
        }
    }

    #[test]
    fn interfaces_in_one_ipv6_subnet_are_found_too() {
        const NONE: &str = "00000000000000000000000000000000";
        let route = |destination: &str, bits: &str, gateway: &str, name: &str| {
            format!("{destination} {bits} {NONE} 00 {gateway} 00000100 00000001 00000000 00000001 {name}\n")
        };
        let subnet = |name: &str| route("fd990000000000000000000000000000", "40", NONE, name);
        let link_local = |name: &str| route("fe800000000000000000000000000000", "40", NONE, name);
        let group = |name: &str| route("ff000000000000000000000000000000", "08", NONE, name);
        let default = |name: &str| route(NONE, "00", "fd990000000000000000000000000001", name);
        let of_all = |name: &str| [subnet(name), link_local(name), group(name), default(name)].concat();
        let misrouted = MisroutedAddress {
            address: "fd99::2".parse().unwrap(),
            device: "eth1".to_owned(),
            egress: "eth0".to_owned(),
            subnet: "fd99::/64".parse().unwrap(),
        };
        let elsewhere = [link_local("eth1"), group("eth1"), default("eth1")].concat();
        let table = [
            (of_all("eth0") + &elsewhere, false, Fine, "no subnet"),
            (of_all("eth0") + &of_all("eth1"), false, Fine, "each address sends by its own link"),
            (
                of_all("eth0") + &of_all("eth1"),
                true,
                Warning,
                "eth0, eth1 are in one IPv6 subnet, and fd99::2 (eth1) sends by eth0",
            ),
        ];
        for (routes_v6, is_misrouted, state, seen) in table {
            let misrouted = is_misrouted.then(|| misrouted.clone()).into_iter().collect();
            let links =
                ["eth0", "eth1"].map(|name| Link { name: name.to_owned(), rp_filter: 1, arp_ignore: 0 });
            let host = Host { routes_v6, misrouted, links: links.to_vec(), ..host() };
            assert_finds(subnets, &host, state, seen);
            let remedy = subnets(&host).remedy.unwrap_or_default();
            let rule = "ip -6 route add fd99::/64 dev eth1 src fd99::2 table 101; ip -6 rule add from fd99::2 table 101";
            assert_eq!(remedy.contains(rule), is_misrouted, "{remedy}");
        }
    }

    /// Fails if a subnet of one family hides what is wrong with one of the other.
    #[test]
    fn subnets_of_both_families_are_found() {
        const NONE: &str = "00000000000000000000000000000000";
        let v4 = |name: &str| format!("{name} 000200C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n");
        let v6 = |name: &str| {
            format!(
                "fd990000000000000000000000000000 40 {NONE} 00 {NONE} 00000100 00000001 00000000 00000001 {name}\n"
            )
        };
        let misrouted_v6 = MisroutedAddress {
            address: "fd99::2".parse().unwrap(),
            subnet: "fd99::/64".parse().unwrap(),
            ..misrouted()
        };
        let sends_v4 = "eth0, eth1 are in one subnet, and 192.0.2.2 (eth1) sends by eth0";
        let sends_v6 = "eth0, eth1 are in one IPv6 subnet, and fd99::2 (eth1) sends by eth0";
        let both = format!("{sends_v4}; {sends_v6}");
        let drops = "192.0.2.2 (eth1) sends by eth0, and rp_filter=1 drops";
        // (those misrouted, rp_filter, the state, what is seen first)
        let table = [
            (vec![], 2, Fine, "eth0, eth1 are in one subnet, and each"),
            (vec![misrouted()], 2, Warning, sends_v4),
            (vec![misrouted_v6.clone()], 2, Warning, sends_v6),
            (vec![misrouted(), misrouted_v6.clone()], 2, Warning, both.as_str()),
            (vec![misrouted(), misrouted_v6], 1, Wrong, drops),
        ];
        for (misrouted, rp_filter, state, seen) in table {
            let links = ["eth0", "eth1"].map(|name| Link { name: name.to_owned(), rp_filter, arp_ignore: 1 });
            let host = Host {
                routes: format!("header\n{}{}", v4("eth0"), v4("eth1")),
                routes_v6: v6("eth0") + &v6("eth1"),
                links: links.to_vec(),
                misrouted,
                ..host()
            };
            assert_finds(subnets, &host, state, seen);
            let remedy = subnets(&host).remedy.unwrap_or_default();
            for (address, rule) in
                [("192.0.2.2", "; ip rule add from 192.0.2.2"), ("fd99::2", "; ip -6 rule add from fd99::2")]
            {
                let is_asked = host.misrouted.iter().any(|its| its.address.to_string() == address);
                assert_eq!(remedy.contains(rule), is_asked, "{remedy}");
            }
        }
    }

    #[test]
    fn firewalls_that_are_against_the_port_are_found() {
        let nft = |text: &str| Firewall::Rules("nft", text.to_owned());
        let drop = "chain input {\n type filter hook input priority 0; policy drop;\n";
        let table = [
            (Firewall::NoProgram, Fine, "neither"),
            (Firewall::Hidden("nft"), Unknown, "root only"),
            (nft(""), Fine, "no rule"),
            (nft(drop), Warning, "no rule names port 988"),
            (nft(&format!("{drop} tcp dport {{ 22, 988 }} accept")), Fine, "no rule"),
            (nft(&format!("{drop} tcp dport 9880 accept")), Warning, "no rule names port 988"),
            (nft("tcp dport 988 reject"), Wrong, "is against port 988: tcp dport 988 reject"),
            (Firewall::Rules("iptables", "-P INPUT DROP\n".to_owned()), Warning, "no rule names port 988"),
        ];
        for (firewall_rules, state, seen) in table {
            assert_finds(firewall, &Host { firewall: firewall_rules, ..host() }, state, seen);
        }
    }

    #[test]
    fn a_port_that_is_in_use_is_found() {
        let listener = "   0: 0100007F:03DC 00000000:0000 0A 00000000:00000000 00:00000000 0 0 0 1 1\n";
        let connection = listener.replace(" 0A ", " 01 ");
        let table = [
            ("", false, Fine, "port 988 is free"),
            (listener, false, Fine, "port 988 is in use"),
            (listener, true, Warning, "the kernel's LNet is loaded"),
            (connection.as_str(), true, Fine, "port 988 is free"),
        ];
        for (sockets, has_kernel_lnet, state, seen) in table {
            assert_finds(port, &Host { sockets: sockets.to_owned(), has_kernel_lnet, ..host() }, state, seen);
        }
        let v6 = "   0: 000099FD000000000000000012000000:03DC 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 1 1\n";
        let host = Host { sockets_v6: v6.to_owned(), ..host() };
        assert_finds(port, &host, Fine, "port 988 is in use");
    }

    #[test]
    fn users_who_may_not_use_low_ports_are_told() {
        let table = [
            ("CapEff:\t0000000000000400", "1024", Fine, "CAP_NET_BIND_SERVICE"),
            ("CapEff:\t0000000000000000", "512", Fine, "from 512 on"),
            ("CapEff:\t0000000000000000", "1024", Warning, "nor a node listen"),
            ("", "", Warning, "below 1024"),
        ];
        for (status, ports, state, seen) in table {
            let (status, unprivileged_ports) = (status.to_owned(), ports.to_owned());
            assert_finds(low_ports, &Host { status, unprivileged_ports, ..host() }, state, seen);
        }
    }

    #[test]
    fn locked_memory_matters_to_hosts_with_rdma() {
        let limit = |value: &str| {
            format!("Limit  Soft Limit  Hard Limit  Units\nMax locked memory   {value}  unlimited  bytes\n")
        };
        let table = [
            (limit("65536"), false, Fine, "only o2ib"),
            (limit("65536"), true, Warning, "65536 bytes"),
            (limit("unlimited"), true, Fine, "no limit"),
            (limit("2147483648"), true, Fine, "2147483648 bytes"),
            (String::new(), true, Unknown, "cannot be read"),
        ];
        for (limits, has_device, state, seen) in table {
            let rdma_devices = has_device.then(|| "rxe0".to_owned()).into_iter().collect();
            assert_finds(locked_memory, &Host { limits, rdma_devices, ..host() }, state, seen);
        }
    }

    #[test]
    fn a_clock_that_is_wrong_is_found() {
        let table = [
            (0, Some(true), Wrong, "before 2024"),
            (OLDEST_CLOCK, Some(true), Fine, "follows"),
            (OLDEST_CLOCK, Some(false), Warning, "does not follow"),
            (OLDEST_CLOCK, None, Unknown, "nothing says"),
        ];
        for (seconds, is_clock_set, state, seen) in table {
            assert_finds(clock, &Host { seconds, is_clock_set, ..host() }, state, seen);
        }
    }
}
