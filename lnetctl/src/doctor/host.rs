//! What the checks of this host look at, as texts of the system.

use lnet_node::{MisroutedAddress, misrouted_addresses};
use std::env;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// The settings of a network interface about which of its addresses it answers for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// The name of the interface.
    pub name: String,
    /// `rp_filter`, of the interface or of all: the larger one counts.
    pub rp_filter: u32,
    /// `arp_ignore`, likewise.
    pub arp_ignore: u32,
}

/// The rules of the firewall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Firewall {
    /// No program that shows them is installed.
    NoProgram,
    /// The program, which may not show them to this user, or fails.
    Hidden(&'static str),
    /// The program and what it shows.
    Rules(&'static str, String),
}

/// This host as the system describes it; a text that cannot be read is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// `/proc/net/route`
    pub routes: String,
    /// `/proc/net/ipv6_route`
    pub routes_v6: String,
    /// The interfaces of `/proc/sys/net/ipv4/conf`.
    pub links: Vec<Link>,
    /// The addresses in shared subnets whose packets leave by other links than theirs.
    pub misrouted: Vec<MisroutedAddress>,
    /// `/proc/net/tcp`
    pub sockets: String,
    /// `/proc/net/tcp6`
    pub sockets_v6: String,
    /// `/proc/self/status`
    pub status: String,
    /// `/proc/self/limits`
    pub limits: String,
    /// `/proc/sys/net/ipv4/ip_unprivileged_port_start`
    pub unprivileged_ports: String,
    /// The devices of `/sys/class/infiniband`.
    pub rdma_devices: Vec<String>,
    /// Whether the kernel's LNet is loaded.
    pub has_kernel_lnet: bool,
    /// The firewall.
    pub firewall: Firewall,
    /// The port on which nodes of this environment listen, and to which they connect.
    pub port: u16,
    /// The seconds since 1970 on the clock of this host.
    pub seconds: u64,
    /// Whether a program says that the clock follows another one; `None`: nothing says so.
    pub is_clock_set: Option<bool>,
}

/// The port of LNet.
pub const LNET_PORT: u16 = 988;

impl Host {
    /// The host on which this process runs.
    pub fn here() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self {
            routes: text("/proc/net/route"),
            routes_v6: text("/proc/net/ipv6_route"),
            links: links(Path::new("/proc/sys/net/ipv4/conf")),
            misrouted: misrouted_addresses(),
            sockets: text("/proc/net/tcp"),
            sockets_v6: text("/proc/net/tcp6"),
            status: text("/proc/self/status"),
            limits: text("/proc/self/limits"),
            unprivileged_ports: text("/proc/sys/net/ipv4/ip_unprivileged_port_start"),
            rdma_devices: names(Path::new("/sys/class/infiniband")),
            has_kernel_lnet: Path::new("/sys/module/lnet").exists(),
            firewall: firewall(),
            port: port(env::var("LNET_ACCEPT_PORT").ok().as_deref()),
            seconds: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            is_clock_set: Path::new("/run/systemd/timesync/synchronized").exists().then_some(true),
        }
    }

    /// The addresses and ports on which somebody listens with TCP.
    pub fn listening(&self) -> Vec<SocketAddr> {
        self.sockets.lines().chain(self.sockets_v6.lines()).filter_map(listening_in).collect()
    }

    /// The IPv4 subnets of interfaces, each with the name of one interface.
    pub fn subnets_v4(&self) -> Vec<(String, String)> {
        self.routes.lines().skip(1).filter_map(subnet_v4).collect()
    }

    /// The IPv6 subnets of interfaces, each with the name of one interface; not those of link-local addresses and groups, which every
    /// interface has.
    pub fn subnets_v6(&self) -> Vec<(String, String)> {
        self.routes_v6.lines().filter_map(subnet_v6).collect()
    }
}

/// The subnet and the interface in a line of `/proc/net/route`, if it is that of a subnet.
fn subnet_v4(line: &str) -> Option<(String, String)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    // Interface, destination, gateway, flags, three counters, mask. Without a gateway it is the subnet of the interface.
    let [name, destination, "00000000", _, _, _, _, mask, ..] = fields[..] else { return None };
    (destination != "00000000").then(|| (format!("{destination}/{mask}"), name.to_owned()))
}

/// The subnet and the interface in a line of `/proc/net/ipv6_route`, if it is that of a subnet.
fn subnet_v6(line: &str) -> Option<(String, String)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    // Destination and source, each with the length of its prefix; gateway, metric, two counters, flags, interface.
    let [destination, bits, _, _, gateway, _, _, _, _, name] = fields[..] else { return None };
    let first = Ipv6Addr::from(u128::from_str_radix(destination, 16).ok()?);
    let bits = u8::from_str_radix(bits, 16).ok()?;
    let has_gateway = gateway.bytes().any(|digit| digit != b'0');
    let is_of_all = first.is_unicast_link_local() || first.is_multicast() || name == "lo";
    // An address alone, and the default route, are no subnets.
    let is_subnet = (1..128).contains(&bits) && !has_gateway && !is_of_all;
    is_subnet.then(|| (format!("{destination}/{bits}"), name.to_owned()))
}

/// The socket in a line of `/proc/net/tcp` or `/proc/net/tcp6`, if it listens.
fn listening_in(line: &str) -> Option<SocketAddr> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, local, _, "0A", ..] = fields[..] else { return None };
    let (address, port) = local.split_once(':')?;
    Some(SocketAddr::new(ip_of(address)?, u16::from_str_radix(port, 16).ok()?))
}

/// The address in hexadecimal digits, of which each eight are four bytes as this machine reads a number from them.
fn ip_of(digits: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        let word = digits.get(at..at + 8)?;
        u32::from_str_radix(word, 16).ok().map(u32::to_ne_bytes)
    };
    match digits.len() {
        8 => Some(IpAddr::V4(Ipv4Addr::from(word(0)?))),
        32 => {
            let mut bytes = [0; 16];
            for (at, place) in bytes.chunks_exact_mut(4).enumerate() {
                place.copy_from_slice(&word(at * 8)?);
            }
            Some(IpAddr::V6(bytes.into()))
        }
        _ => None,
    }
}

fn port(named: Option<&str>) -> u16 {
    named.and_then(|text| text.trim().parse().ok()).unwrap_or(LNET_PORT)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

fn links(directory: &Path) -> Vec<Link> {
    let number = |link: &str, name: &str| -> u32 {
        let text = fs::read_to_string(directory.join(link).join(name)).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    };
    let either = |link: &str, name: &str| number(link, name).max(number("all", name));
    let all = names(directory).into_iter().filter(|name| name != "all" && name != "default");
    all.map(|name| Link {
        rp_filter: either(&name, "rp_filter"),
        arp_ignore: either(&name, "arp_ignore"),
        name,
    })
    .collect()
}

fn firewall() -> Firewall {
    let programs: [(&'static str, &[&str]); 2] = [("nft", &["list", "ruleset"]), ("iptables", &["-S"])];
    for (program, words) in programs {
        let directories = ["/usr/sbin", "/sbin", "/usr/bin"];
        let found = directories.iter().map(|it| Path::new(it).join(program)).find(|path| path.exists());
        let Some(path) = found else { continue };
        return match Command::new(path).args(words).stdin(Stdio::null()).output() {
            Ok(output) if output.status.success() => {
                Firewall::Rules(program, String::from_utf8_lossy(&output.stdout).into_owned())
            }
            _ => Firewall::Hidden(program),
        };
    }
    Firewall::NoProgram
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_that_listen_are_told_from_connections() {
        let line = "   0: 0100007F:03DC 00000000:0000 0A 00000000:00000000 00:00000000 0 0 0 1 1";
        let v6 = "   1: 000099FD000000000000000012000000:03DC 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 1 1";
        // The bytes of the address are shown as numbers of this machine.
        if cfg!(target_endian = "little") {
            assert_eq!(listening_in(line), Some("127.0.0.1:988".parse().unwrap()));
            assert_eq!(listening_in(v6), Some("[fd99::12]:988".parse().unwrap()));
        }
        for wrong in ["0: 01\u{e9}007F:03DC 0 0A", "0: 0100007F0:03DC 0 0A", "0: :1 0 0A"] {
            assert_eq!(listening_in(wrong), None, "{wrong}");
        }
        assert_eq!(listening_in(&line.replace(" 0A ", " 01 ")), None);
        assert_eq!(listening_in("  sl  local_address rem_address   st tx_queue"), None);
    }
}
