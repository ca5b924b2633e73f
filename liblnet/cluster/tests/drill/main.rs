//! Drills on small clusters.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod losses;
mod random;
mod reports;
mod sampling;

use lnet_cluster::drill::{
    DrillCluster, DrillError, DrillInterface, DrillNode, DrillPlan, DrillReport, Load, Loss, run,
};
use lnet_sim::{NodeSpec, nid};
use lnet_wire::{NetId, Nid};
use std::time::Duration;

const CLIENTS: u32 = 3;
const SERVERS: u32 = 2;

fn net(number: u16) -> NetId {
    nid(number, 0).net()
}

/// A node whose interfaces are called `eth0`, `eth1`.
fn node(name: &str, class: &str, spec: NodeSpec) -> DrillNode {
    let mut node = DrillNode::new(name, class, spec);
    for (number, interface) in node.interfaces.iter_mut().enumerate() {
        *interface =
            DrillInterface { name: Some(format!("eth{number}")), switch: Some(format!("leaf-{number}")) };
    }
    node
}

/// Clients and servers with so many rails on one net.
fn one_net(rails: u32) -> DrillCluster {
    let class = |name: &'static str, count: u32, first: u32| {
        (0..count).map(move |number| {
            let nids: Vec<Nid> = (0..rails).map(|rail| nid(0, rail << 8 | (first + number))).collect();
            node(&format!("{name}-{number}"), name, NodeSpec::new(&nids))
        })
    };
    DrillCluster::of_all(class("client", CLIENTS, 1).chain(class("server", SERVERS, 101)).collect())
}

/// Clients on `tcp`, servers on `tcp1`, with so many routers between them.
fn routed(routers: u32) -> DrillCluster {
    let gateways = |number: u16| (0..routers).map(|it| nid(number, 201 + it)).collect::<Vec<_>>();
    let class = |name: &'static str, count: u32, own: u16, other: u16| {
        (0..count).map(move |number| {
            let gateways: Vec<Nid> = (0..routers).map(|it| nid(own, 201 + it)).collect();
            let spec = NodeSpec::new(&[nid(own, 1 + number)]).with_routes(net(other), &gateways);
            node(&format!("{name}-{number}"), name, spec)
        })
    };
    let between =
        gateways(0).into_iter().zip(gateways(1)).enumerate().map(|(number, (a, b))| {
            node(&format!("router-{number}"), "router", NodeSpec::new(&[a, b]).router())
        });
    let nodes = class("client", CLIENTS, 0, 1).chain(class("server", SERVERS, 1, 0)).chain(between);
    DrillCluster::of_all(nodes.collect())
}

/// Clients on `tcp` and `tcp2`, servers on `tcp1` and `tcp3`, with so many routers between them, which are on all four nets.
fn routed_with_two_rails(routers: u32) -> DrillCluster {
    let class = |name: &'static str, count: u32, own: [u16; 2], other: [u16; 2]| {
        (0..count).map(move |number| {
            let spec = NodeSpec::new(&own.map(|its| nid(its, 1 + number)));
            let with = |spec: NodeSpec, (own, other): (u16, u16)| {
                let gateways: Vec<Nid> = (0..routers).map(|it| nid(own, 201 + it)).collect();
                spec.with_routes(net(other), &gateways)
            };
            node(&format!("{name}-{number}"), name, own.into_iter().zip(other).fold(spec, with))
        })
    };
    let router = |number: u32| {
        let nids: Vec<Nid> = (0..4).map(|its| nid(its, 201 + number)).collect();
        node(&format!("router-{number}"), "router", NodeSpec::new(&nids).router())
    };
    let ends = class("client", CLIENTS, [0, 2], [1, 3]).chain(class("server", SERVERS, [1, 3], [0, 2]));
    DrillCluster::of_all(ends.chain((0..routers).map(router)).collect())
}

/// A plan with a small load, so that a drill takes little time: 4 operations of 64 kB in flight for each node.
fn plan(cluster: &DrillCluster, losses: &[&str], seconds: u64) -> DrillPlan {
    let size = 64 << 10;
    DrillPlan {
        losses: losses.iter().map(|loss| Loss::parse(cluster, loss).unwrap()).collect(),
        load: Load { size, in_flight: 4, ..Load::default() },
        duration: Duration::from_secs(seconds),
        rate: std::num::NonZeroU64::new(u64::from(size) * 20),
        ..DrillPlan::default()
    }
}

fn drill(cluster: &DrillCluster, losses: &[&str], seconds: u64) -> DrillReport {
    run(cluster, &plan(cluster, losses, seconds), &mut |_| ()).unwrap()
}

fn refused(cluster: &DrillCluster, loss: &str) -> DrillError {
    Loss::parse(cluster, loss).unwrap_err()
}
