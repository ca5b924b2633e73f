//! The ready files in `examples/o2ib`.

use crate::support::rails::{Rails, Transfer, nids, wait_until};
use crate::{exported, free_port, node, take};
use lnet_core::stats::MessageOutcome;
use lnet_node::Node;
use o2iblnd::device::model::ModelNet;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

const FILES: [&str; 2] = ["o2ib-and-tcp.yaml", "router.yaml"];
const PUTS: usize = 20;

/// A ready file with the addresses of a host in place of its interfaces.
fn ready(name: &str, host: u8) -> String {
    let text = fs::read_to_string(root().join("examples/o2ib").join(name)).unwrap();
    text.replace("0: ib0", &format!("0: {}", o2ib(host))).replace("0: eth0", &format!("0: {}", tcp(host)))
}

fn o2ib(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 14, host)
}

fn tcp(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 15, host)
}

/// A file that puts a host on one net.
fn on(net: &str, address: Ipv4Addr) -> String {
    format!(
        "net:\n    - net type: {net}\n      local NI(s):\n        - interfaces:\n              0: {address}\n"
    )
}

/// Messages that a node has sent by its interface on a net.
fn sent(node: &Node, net: &str) -> u64 {
    let nets = node.core().nets();
    let of_net = nets.nis().filter(|ni| ni.nid().net().to_string() == net);
    of_net.map(|ni| ni.counters().read(MessageOutcome::Sent).messages()).sum()
}

#[test]
fn every_ready_file_is_named_in_the_guides_and_imports_again_as_it_was_exported() {
    let there = fs::read_dir(root().join("examples/o2ib")).unwrap().count();
    assert_eq!(there, FILES.len(), "a file without a test");
    for name in FILES {
        for guide in ["docs/o2ib.md", "docs/configuration.md"] {
            let text = fs::read_to_string(root().join(guide)).unwrap();
            assert!(text.contains(&format!("(../examples/o2ib/{name})")), "{guide} does not name {name}");
        }
        let (net, port) = (ModelNet::default(), free_port());
        let first = node(&net, &port);
        take(&first, &ready(name, 1));
        let once = exported(&first, true);
        first.shutdown();
        let second = node(&net, &port);
        take(&second, &once);
        assert_eq!(exported(&second, true), once, "{name}");
        second.shutdown();
    }
}

/// Fails if, by the ready file, anything leaves by tcp while o2ib works, or does not while o2ib is cut.
#[test]
fn o2ib_goes_before_tcp_until_nothing_gets_through_there() {
    let (net, port) = (ModelNet::default(), free_port());
    let nodes = [1, 2].map(|host| {
        let node = node(&net, &port);
        take(&node, &ready("o2ib-and-tcp.yaml", host));
        node
    });
    for (node, other) in [(&nodes[0], &nodes[1]), (&nodes[1], &nodes[0])] {
        let its = nids(other);
        node.core().admin().make_peer(its[0], true, false).unwrap();
        its[1..].iter().for_each(|nid| node.core().admin().add_peer_nid(its[0], *nid, true).unwrap());
    }
    let [near, far] = nodes;
    let rails = Rails::between(near, far);
    let puts = || rails.transfer(Transfer::Put, PUTS, 4096, 4);
    puts();
    assert_eq!((sent(&rails.near, "o2ib"), sent(&rails.near, "tcp")), (PUTS as u64, 0));
    net.cut(o2ib(2), true);
    puts();
    assert!(sent(&rails.near, "tcp") > 0);
    net.cut(o2ib(2), false);
    rails.shutdown();
}

#[test]
fn the_router_passes_messages_between_o2ib_and_tcp() {
    let (net, port) = (ModelNet::default(), free_port());
    let [router, client, server] = [(); 3].map(|()| node(&net, &port));
    take(&router, &ready("router.yaml", 9));
    let route = |net: &str, gateway: String| format!("route:\n    - net: {net}\n      gateway: {gateway}\n");
    take(&client, &(on("tcp", tcp(1)) + &route("o2ib", format!("{}@tcp", tcp(9)))));
    take(&server, &(on("o2ib", o2ib(2)) + &route("tcp", format!("{}@o2ib", o2ib(9)))));
    let rails = Rails::between(client, server);
    wait_until("the routes are up", || {
        [&rails.near, &rails.far].iter().all(|node| {
            let routes = node.core().admin().routes();
            routes.active().iter().all(|route| node.core().admin().route_is_up(route))
        })
    });
    for how in [Transfer::Put, Transfer::Get] {
        rails.transfer(how, PUTS, 100_000, 4);
        rails.turned().transfer(how, PUTS, 100_000, 4);
    }
    rails.shutdown();
    router.shutdown();
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
