//! Reading of the configuration of one node.

use super::{InputProblem, ip2nets};
use crate::model::{Addresses, Class, ClassNi, ClassPeer, ClassRoute, ClassRule, NodeFile};
use lnet_dlc::host_names::Names;
use lnet_dlc::model::{Block, Document, Item, NetItem, PeerItem, Place, RouteItem};
use lnet_dlc::ops::peer::{MAX_NIDS, parse_nids};
use lnet_dlc::yaml::{self, Purpose};
use lnet_settings::{Setting, Settings};
use lnet_wire::nid::Address;
use lnet_wire::{NetId, Nid};
use std::net::IpAddr;
use std::path::Path;

/// The beginning of a file.
const BEGINNING: Place = Place { line: 1, column: 1 };

/// The usual name of the node of a file: that of the file without its extension.
pub(super) fn name_of(file: &Path) -> String {
    file.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Reads the configuration of one node, in any form that `lnetctl import` reads. The class has one node, with this name.
pub(super) fn read(file: &Path, name: &str, text: &str) -> Result<Class, Vec<InputProblem>> {
    let problem = |at, text| InputProblem { file: file.to_owned(), at: Some(at), text };
    let document = yaml::read_with(text, Purpose::Add, Names::without_resolver())
        .map_err(|problems| problems.into_iter().map(|it| problem(it.at, it.text)).collect::<Vec<_>>())?;
    let mut class = Class {
        name: name.to_owned(),
        count: 1,
        nodes: vec![name.to_owned()],
        file: file.to_owned(),
        files: Vec::new(),
        config: Document::default(),
        nis: Vec::new(),
        routes: Vec::new(),
        peers: Vec::new(),
        rules: Vec::new(),
        is_router: false,
        routing_at: BEGINNING,
        buffers: [0; 3],
        buffers_at: BEGINNING,
        settings: Settings::default(),
        settings_at: BEGINNING,
        accept_port: None,
    };
    let mut problems = Vec::new();
    for block in &document.blocks {
        take(&mut class, block);
    }
    match ip2nets::assumed(&document) {
        Ok(nis) => class.nis.extend(nis),
        Err((at, text)) => problems.push(problem(at, text)),
    }
    class.config = document;
    let nis = class.nis.iter().map(|ni| ni.place).collect();
    class.files.push(NodeFile { file: file.to_owned(), nis, routing_at: class.routing_at });
    if problems.is_empty() { Ok(class) } else { Err(problems) }
}

fn take(class: &mut Class, block: &Block) {
    match block {
        Block::Net(items) => {
            for Item { it, at, .. } in items.iter().filter(|item| item.it.ip2net.is_none()) {
                class.nis.extend(nis(it, *at));
            }
        }
        Block::Route(items) => class.routes.extend(items.iter().flat_map(routes)),
        Block::Peer(items) => {
            let file = class.file.clone();
            class.peers.extend(items.iter().filter_map(|item| peer(item, &file)));
        }
        Block::Routing(item) => {
            class.is_router = item.it.unwrap_or(class.is_router);
            class.routing_at = item.at;
        }
        Block::Global(item) => {
            class.settings_at = item.at;
            // Settings bound each other: one that is refused at first fits when the others are there.
            for _ in 0..2 {
                for (setting, value) in &item.it {
                    set(&mut class.settings, *setting, *value);
                }
            }
        }
        Block::Udsp(items) => class.rules.extend(items.iter().map(|item| {
            let rule = item.it.clone();
            let (src, dst, rte) = (rule.src, rule.dst, rule.rte);
            ClassRule { src, dst, rte, action: rule.action, messages: rule.messages, place: item.at }
        })),
        Block::Buffers(item) => {
            class.buffers = item.it.map(|number| number.unwrap_or(0));
            class.buffers_at = item.at;
        }
        Block::Ip2nets(_) | Block::Statistics(_) | Block::Ping(_) | Block::Discover(_) => {}
    }
}

/// Sets a value. One that a node would refuse leaves the default, as it would there.
fn set(settings: &mut Settings, setting: Setting, value: i64) {
    let _refused = settings.set(setting, value);
}

fn nis(item: &NetItem, at: Place) -> Vec<ClassNi> {
    let Some(net) = item.net.filter(|net| *net != NetId::LOOPBACK) else { return Vec::new() };
    let ni = |ni: &lnet_dlc::model::NiItem| {
        let name = ni.interface.as_ref().map(|spec| spec.name.clone());
        let own = name.as_ref().and_then(|name| name.parse::<IpAddr>().ok()).map(Address::from);
        let exported = ni.nid.filter(|nid| nid.net() == net).map(Nid::address);
        ClassNi {
            net,
            interface: ni.link.clone().or_else(|| name.filter(|_| own.is_none())),
            addresses: own.or(exported).map_or(Addresses::UNKNOWN, Addresses::one),
            is_assumed: false,
            switches: Vec::new(),
            mtu: None,
            tunables: ni.tunables,
            lnd: ni.lnd,
            place: if ni.at == Place::default() { at } else { ni.at },
        }
    };
    item.nis.iter().map(ni).collect()
}

fn routes(item: &Item<RouteItem>) -> Vec<ClassRoute> {
    let RouteItem { net, gateway, hops, priority, sensitivity, .. } = &item.it;
    let (Some(net), Some(gateways)) = (*net, gateway) else { return Vec::new() };
    // The reader has checked the list.
    let gateways = parse_nids(gateways, MAX_NIDS).unwrap_or_default();
    let route = |gateway| ClassRoute {
        net,
        gateway,
        hops: *hops,
        priority: priority.unwrap_or(0),
        sensitivity: *sensitivity,
        place: item.at,
    };
    gateways.into_iter().map(route).collect()
}

fn peer(item: &Item<PeerItem>, file: &Path) -> Option<ClassPeer> {
    let PeerItem { primary, nids, multi_rail, .. } = &item.it;
    let primary = (*primary)?;
    let others = nids.iter().flatten().copied().filter(|nid| *nid != primary);
    let nids = std::iter::once(primary).chain(others).collect();
    Some(ClassPeer { nids, multi_rail: *multi_rail, nodes: 1, file: file.to_owned(), place: item.at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_has_its_name_and_its_nid_whatever_its_family() {
        for nid in ["10.0.0.1@tcp", "fd99::1@tcp"] {
            let text = format!(
                "net:\n- net type: tcp\n  local NI(s):\n  - nid: {nid}\n    interfaces:\n      0: eth0\n"
            );
            let class = read(Path::new("a.yaml"), "a", &text).unwrap();
            assert_eq!(class.nis[0].interface.as_deref(), Some("eth0"), "{nid}");
            assert_eq!(class.nid(0, 0), Some(nid.parse().unwrap()), "{nid}");
        }
    }

    #[test]
    fn names_of_hosts_are_refused_and_not_looked_up() {
        let text = "route:\n- net: tcp1\n  gateway: localhost@tcp\n";
        let problems = read(Path::new("a.yaml"), "a", text).unwrap_err();
        assert!(problems[0].text.contains("not looked up"), "{problems:?}");
    }
}
