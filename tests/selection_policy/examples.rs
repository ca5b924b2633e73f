//! The ready files of `docs/selection-policy.md`.

use crate::site::{PUTS, puts_to, start};
use crate::support::machines::{Machines, Wiring};
use crate::support::rails::{Rails, Transfer, nids, wait_until};
use lnet_dlc::import::{Source, import};
use lnet_dlc::ops::policy;
use lnet_dlc::yaml::Purpose;
use lnet_dlc::{Report, ReturnCode, SeqNo};
use lnet_node::Node;
use std::fs;
use std::path::Path;

const FILES: [(&str, usize); 6] = [
    ("o2ib-before-tcp.yaml", 2),
    ("storage-and-fallback-rail.yaml", 4),
    ("weights-3-to-1.yaml", 2),
    ("old-and-new-interfaces.yaml", 2),
    ("interface-pairs.yaml", 2),
    ("clients-a-to-routers-a.yaml", 2),
];

#[test]
fn every_ready_file_is_taken_in_shown_as_it_was_and_taken_out_again() {
    let node = start("", "", false);
    let guide = fs::read_to_string(root().join("docs/selection-policy.md")).unwrap();
    for (name, rules) in FILES {
        assert!(guide.contains(name), "the guide does not name {name}");
        take(&node, &ready(name), Purpose::Add);
        assert_eq!(node.core().admin().rules().iter().count(), rules, "{name}");
        let shown = shown(&node);
        take(&node, &ready(name), Purpose::Del);
        assert_eq!(node.core().admin().rules().iter().count(), 0, "{name}");
        take(&node, &shown, Purpose::Add);
        assert_eq!(self::shown(&node), shown, "{name}");
        take(&node, &shown, Purpose::Del);
    }
    let there = fs::read_dir(root().join("examples/selection-policy")).unwrap().count();
    assert_eq!(there, FILES.len(), "a file without a test");
    node.shutdown();
}

/// Fails if, by the ready file with this site's names, two sets of clients do not use their sets of routers, of one router each.
#[test]
fn sets_of_clients_use_their_sets_of_routers_until_those_are_ill() {
    let Some(machines) = Machines::or_skip(5, 2, Wiring::SwitchPerCard, |_| None) else { return };
    let routers = [2, 3].map(|machine| machines.on(machine, || start("tcp(eth0),tcp1(eth1)", "", true)));
    let client = |machine| machines.on(machine, || start("tcp(eth0)", "tcp1 10.78.0.[13-14]@tcp", false));
    let clients = [client(0), client(1)];
    let server = machines.on(4, || start("tcp1(eth1)", "tcp 10.78.1.[13-14]@tcp1", false));
    wait_until("all cards work", || {
        let nodes = clients.iter().chain(&routers).chain([&server]);
        nodes
            .flat_map(|node| node.core().nets().nis().map(|ni| ni.is_fatal()).collect::<Vec<_>>())
            .all(|dead| !dead)
    });
    let there = |text: String, first: &str, second: &str| {
        let text = text.replace("o2ib2", "tcp1").replace("@o2ib", "@tcp");
        text.replace("10.1.0.[1-4]", first).replace("10.1.0.[5-8]", second)
    };
    let of_a = there(ready("clients-a-to-routers-a.yaml"), "10.78.0.13", "10.78.0.14");
    let of_b = there(ready("clients-a-to-routers-a.yaml"), "10.78.0.14", "10.78.0.13");
    take(&clients[0], &of_a, Purpose::Add);
    take(&clients[1], &of_b, Purpose::Add);
    let by_router = |client: usize| {
        let counted = || [0, 1].map(|router| puts_to(&clients[client], &routers[router]));
        let before = counted();
        Rails::between(clients[client].clone(), server.clone()).transfer(
            Transfer::Put,
            PUTS as usize,
            4096,
            8,
        );
        let after = counted();
        [after[0] - before[0], after[1] - before[1]]
    };
    assert_eq!([by_router(0), by_router(1)], [[PUTS, 0], [0, PUTS]]);
    clients[0].core().admin().set_peer_ni_health(Some(nids(&routers[0])[0]), 500);
    assert_eq!(by_router(0), [0, PUTS]);
    clients[0].core().admin().set_peer_ni_health(Some(nids(&routers[0])[0]), 1000);
    assert_eq!(by_router(0), [PUTS, 0]);
    clients.iter().chain(&routers).chain([&server]).for_each(|node| node.shutdown());
}

fn take(node: &Node, text: &str, purpose: Purpose) {
    let mut report = Report::new();
    let rc = import(node, Source { name: "a ready file", text }, purpose, &mut report);
    assert_eq!(rc, ReturnCode::OK, "{}", report.errors_to_yaml());
}

fn shown(node: &Node) -> String {
    let mut report = Report::new();
    assert_eq!(policy::show(node, -1, SeqNo::NONE, &mut report), ReturnCode::OK);
    report.shown.to_yaml()
}

fn ready(name: &str) -> String {
    fs::read_to_string(root().join("examples/selection-policy").join(name)).unwrap()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
