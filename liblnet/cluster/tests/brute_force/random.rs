//! Random small clusters.

use crate::naive::{Node, Route};
use fastrand::Rng;
use lnet_cluster::input;
use lnet_cluster::model::Cluster;
use lnet_wire::nid::Address;
use lnet_wire::{NetId, NetType, Nid};
use std::fmt::Write;
use std::fs;

/// The most nets of a cluster.
const MAX_NETS: u16 = 4;

fn nid(net: u16, host: u32) -> Nid {
    Nid::new(NetId::new(NetType::TCP, net), 0x0a00_0000 | u32::from(net) << 16 | host)
}

/// The NIDs of a node on a net: with IPv4, with IPv6, or with both.
fn nids(net: u16, host: u32, families: u8) -> Vec<Nid> {
    let short = nid(net, host);
    let mut bytes = [0; 16];
    (bytes[0], bytes[1], bytes[15]) = (0xfd, net.to_le_bytes()[0], host.to_le_bytes()[0]);
    let long = Address::Long(bytes).on(short.net());
    match families {
        0 => vec![long],
        1 => vec![short, long],
        _ => vec![short],
    }
}

/// Nodes, some of them routers, with routes of which most lead somewhere. With every second seed some have NIDs of IPv6, or of both families.
pub(crate) fn nodes(seed: u64) -> Vec<Node> {
    let mut random = Rng::with_seed(seed);
    let has_families = seed % 2 == 1;
    let nets = random.u16(2..=MAX_NETS);
    let mut nodes = Vec::new();
    for host in 1..=random.u32(2..=5) {
        let mut on: Vec<u16> = (0..nets).filter(|_| random.u8(..4) == 0).collect();
        if on.is_empty() {
            on.push(random.u16(..nets));
        }
        nodes.push(node(format!("n{host}"), families(&mut random, has_families, &on), host, false));
    }
    for router in 1..=random.u32(0..=3) {
        let first = random.u16(..nets);
        let second = (first + random.u16(1..nets)) % nets;
        let (on, forwards) = ([first, second], random.u8(..6) > 0);
        nodes.push(node(
            format!("r{router}"),
            families(&mut random, has_families, &on),
            100 + router,
            forwards,
        ));
    }
    let gateways: Vec<Nid> =
        nodes.iter().filter(|node| node.name.starts_with('r')).flat_map(|node| node.nids.clone()).collect();
    for node in &mut nodes {
        for number in 0..nets {
            let net = nid(number, 1).net();
            if node.is_on(net) || random.u8(..5) == 0 {
                continue;
            }
            for gateway in &gateways {
                // A gateway on a foreign net, or one that is on the net of the route itself, is refused where it is configured.
                let is_usable =
                    node.is_on(gateway.net()) && !node.nids.contains(gateway) && gateway.net() != net;
                if is_usable && random.u8(..3) > 0 {
                    let hops = [None, None, Some(1), Some(2)][random.usize(..4)];
                    node.routes.push(Route { net, gateway: *gateway, hops });
                }
            }
        }
    }
    nodes
}

/// The numbers of nets, with the families on each.
fn families(random: &mut Rng, has_families: bool, nets: &[u16]) -> Vec<(u16, u8)> {
    nets.iter().map(|net| (*net, if has_families { random.u8(..5) } else { 2 })).collect()
}

fn node(name: String, nets: Vec<(u16, u8)>, host: u32, forwards: bool) -> Node {
    let nids = nets.into_iter().flat_map(|(net, families)| nids(net, host, families)).collect();
    Node { name, nids, lost: Vec::new(), routes: Vec::new(), forwards }
}

/// The cluster that the files of these nodes describe.
pub(crate) fn read(nodes: &[Node]) -> Cluster {
    let directory = tempfile::tempdir().unwrap();
    for node in nodes {
        let mut text = "net:\n".to_owned();
        for (index, nid) in node.nids.iter().enumerate() {
            let net = nid.net();
            let ni = format!("{{nid: {nid}, interfaces: {{0: eth{index}}}}}");
            writeln!(text, "  - {{net type: {net}, local NI(s): [{ni}]}}").unwrap();
        }
        if !node.routes.is_empty() {
            text.push_str("route:\n");
        }
        for Route { net, gateway, hops } in &node.routes {
            let hops = hops.map_or_else(|| "-1".to_owned(), |hops| hops.to_string());
            writeln!(text, "  - {{net: {net}, gateway: {gateway}, hop: {hops}}}").unwrap();
        }
        writeln!(text, "routing: {{enable: {}}}", u8::from(node.forwards)).unwrap();
        fs::write(directory.path().join(format!("{}.yaml", node.name)), text).unwrap();
    }
    input::read(&[directory.path()]).unwrap_or_else(|problems| panic!("{problems:?}"))
}
