//! The checks of the node on this host: its own interfaces, of those that the host has.

use super::Finding;
use super::checks::source_routes;
use super::host::Host;
use lnet_dlc::Backend;
use lnet_dlc::request::{LocalNi, Request, SettingState};
use lnet_metrics::health;
use lnet_node::MisroutedAddress;
use lnet_settings::Value;
use lnet_wire::{Errno, NetType, Nid};
use std::net::IpAddr;

/// A check of the node.
struct Check {
    name: &'static str,
    find: fn(&NodeState, &Host) -> Finding,
}

/// All checks, in the order in which they are shown.
const CHECKS: [Check; 3] = [
    Check { name: "interfaces of the node", find: interfaces },
    Check { name: "links of the node", find: links },
    Check { name: "acceptor of the node", find: acceptor },
];

/// What the node says of itself, as far as it matters here.
struct NodeState {
    /// Its interfaces without the loopback.
    nis: Vec<LocalNi>,
    /// The reasons why interfaces cannot be used.
    unusable: Vec<String>,
    /// Whether it listens for others.
    is_accepting: bool,
    port: u16,
    /// Whether its connections leave by the links of their interfaces, whatever the host's routes say.
    binds_to_device: bool,
}

/// The findings about the node, with the names of their checks; one only, if no node answers.
pub(super) fn findings(host: &Host, node: &dyn Backend) -> Vec<(&'static str, Finding)> {
    match NodeState::of(node, host.port) {
        Ok(state) => CHECKS.iter().map(|check| (check.name, (check.find)(&state, host))).collect(),
        Err(Errno::NetworkDown) => vec![("node", Finding::unknown("no node runs here"))],
        Err(errno) => vec![("node", Finding::unknown(format!("it does not say: {}", errno.text())))],
    }
}

impl NodeState {
    fn of(node: &dyn Backend, port: u16) -> Result<Self, Errno> {
        let all: Vec<Box<LocalNi>> = node.list(Request::GetLocalNi)?;
        let nis = all.into_iter().map(|ni| *ni).filter(|ni| !ni.nid.is_loopback()).collect();
        let settings: Vec<SettingState> = node.ask(Request::GetSettings).unwrap_or_default();
        let setting = |module: &str, name: &str| {
            settings.iter().find(|its| (&*its.module, &*its.name) == (module, name)).map(|its| &its.value)
        };
        let number = |module, name| match setting(module, name) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        };
        Ok(Self {
            nis,
            unusable: health::reasons(node, &[]),
            is_accepting: setting("lnet", "accept") != Some(&Value::Text("none".to_owned())),
            port: number("lnet", "accept_port").and_then(|it| it.try_into().ok()).unwrap_or(port),
            binds_to_device: number("socklnd", "bind_to_device") == Some(1),
        })
    }
}

/// An interface with its link.
fn named(ni: &LocalNi) -> String {
    ni.interface.as_ref().map_or_else(|| ni.nid.to_string(), |link| format!("{} ({link})", ni.nid))
}

/// The names of the interfaces for which `has` holds, between commas; `None`: there are none.
fn with(node: &NodeState, has: impl Fn(&LocalNi) -> bool) -> Option<String> {
    let names: Vec<String> = node.nis.iter().filter(|ni| has(ni)).map(named).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn interfaces(node: &NodeState, _: &Host) -> Finding {
    if !node.unusable.is_empty() {
        return Finding::wrong(
            node.unusable.join("; "),
            "look at ip address show: is the link there, with its carrier and its address? the interface comes with them",
        );
    }
    if let Some(unhealthy) = with(node, |ni| ni.health.value < HEALTHY) {
        return Finding::warning(
            format!("messages have failed by {unhealthy}, whose health is below {HEALTHY}"),
            "lnetctl net show -v 3 counts failures by cause, lnetctl events says what happened",
        );
    }
    match with(node, |_| true) {
        Some(all) => Finding::fine(format!("up: {all}")),
        None => Finding::warning(
            "the node has no interface but the loopback",
            "lnetctl net add --net tcp --if eth0, or LNET_NETWORKS='tcp(eth0)' where it starts",
        ),
    }
}

/// The largest health value.
const HEALTHY: u32 = 1000;

/// Whether what the interfaces send leaves by their own links.
fn links(node: &NodeState, host: &Host) -> Finding {
    let tcp = addresses(&node.nis);
    let elsewhere: Vec<&MisroutedAddress> =
        host.misrouted.iter().filter(|its| tcp.iter().any(|(_, address)| *address == its.address)).collect();
    if elsewhere.is_empty() {
        return Finding::fine("no interface sends by the link of another");
    }
    let seen: Vec<String> = elsewhere
        .iter()
        .map(|its| format!("what {} sends leaves by {}, not {}", its.address, its.egress, its.device))
        .collect();
    if node.binds_to_device {
        return Finding::fine(
            "connections are bound to the links of their interfaces (SOCKLND_BIND_TO_DEVICE)",
        );
    }
    let egress = &elsewhere[0].egress;
    Finding::warning(format!("{}; it stops with {egress}", seen.join("; ")), source_routes(&elsewhere))
}

/// Whether others can connect to all interfaces.
fn acceptor(node: &NodeState, host: &Host) -> Finding {
    let port = node.port;
    let listening = host.listening();
    let is_open = |address: IpAddr| {
        // A socket for all IPv6 addresses is usually one for those of IPv4 too.
        let is_for_all = |its: IpAddr| its.is_unspecified() && (its.is_ipv6() || address.is_ipv4());
        let takes = |its: IpAddr| its == address || is_for_all(its);
        listening.iter().any(|socket| socket.port() == port && takes(socket.ip()))
    };
    if !node.is_accepting {
        return Finding::fine("the node listens for nobody (accept is none), and only connects to others");
    }
    let closed = addresses(&node.nis).into_iter().find(|(_, address)| !is_open(*address));
    match closed {
        None => Finding::fine(format!("port {port} is open on all TCP interfaces")),
        Some((nid, _)) => Finding::warning(
            format!("nothing listens on port {port} for {nid}: other nodes cannot connect to it"),
            "does the node run in this network namespace? the log says why it could not listen (acceptor)",
        ),
    }
}

/// The interfaces on TCP nets, with their addresses.
fn addresses(nis: &[LocalNi]) -> Vec<(Nid, IpAddr)> {
    let tcp = nis.iter().filter(|ni| ni.nid.net().kind() == NetType::TCP);
    tcp.map(|ni| (ni.nid, ni.nid.address().ip())).collect()
}
