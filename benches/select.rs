//! What choosing a path costs: this node's interfaces times the peer's, all equal, so that every criterion is
//! compared; and finding a peer among many.
#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use lnet_core::cpt::{Hardware, Layout, NumaNode, Pattern};
use lnet_core::lnd::{Driver, LndNi, SendOutcome, Upcalls};
use lnet_core::{Core, CoreConfig, CptTable, Errno, Message, Ni, NiConfig, NiTunables, Placement};
use lnet_wire::{NetId, NetType, Nid, Pid};
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// A driver that sends nothing.
struct Idle;

impl Driver for Idle {
    fn net_type(&self) -> NetType {
        NetType::TCP
    }

    fn start_ni(&self, _: &Arc<Ni>, _: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, Errno> {
        Ok(Arc::new(Self))
    }
}

impl LndNi for Idle {
    fn send(&self, message: Box<Message>) -> SendOutcome {
        SendOutcome::Done(message, Err(Errno::HostUnreachable.into()))
    }

    fn shutdown(&self) {}
}

fn nid(address: u32) -> Nid {
    Nid::new(NetId::new(NetType::TCP, 0), address)
}

fn node(interfaces: u32) -> Arc<Core> {
    let core = Core::new(CoreConfig::new(Pid::LUSTRE, 1).without_discovery());
    for i in 0..interfaces {
        core.add_ni(nid(0x0a00_0001 + i), NiTunables::default(), &Idle).unwrap();
    }
    core
}

/// Threads run on the second of four NUMA nodes.
#[derive(Debug)]
struct SecondNode;

impl Placement for SecondNode {
    fn node_of_memory(&self, _: usize) -> Option<u32> {
        Some(1)
    }

    fn cpu_of_this_thread(&self) -> Option<u32> {
        Some(1)
    }
}

/// A machine of four NUMA nodes with an interface on each.
fn numa_node() -> Arc<Core> {
    let distances = |id| (0..4).map(|other| if other == id { 10 } else { 21 }).collect();
    let nodes = (0..4).map(|id| NumaNode { id, cpus: vec![id], distances: distances(id) }).collect();
    let hardware = Hardware { nodes, threads_per_core: NonZeroUsize::MIN };
    let core = Core::new(CoreConfig {
        cpts: CptTable::new(&hardware, &Layout::Pattern(Pattern::EachNode)).unwrap(),
        placement: Some(Arc::new(SecondNode)),
        ..CoreConfig::new(Pid::LUSTRE, 1).without_discovery()
    });
    for i in 0..4 {
        let config = NiConfig { device_cpt: Some(i), ..NiConfig::default() };
        core.add_ni(nid(0x0a00_0001 + i), config, &Idle).unwrap();
    }
    core
}

/// A peer with so many NIDs from `first` on.
fn peer(core: &Core, first: u32, nids: u32) {
    core.make_peer(nid(first), true, false).unwrap();
    for i in 1..nids {
        core.add_peer_nid(nid(first), nid(first + i), true).unwrap();
    }
}

fn choice(c: &mut Criterion) {
    let mut group = c.benchmark_group("choosing a path, own NIs x peer NIs");
    for interfaces in [1, 4, 16] {
        for nids in [1, 16, 128] {
            let core = node(interfaces);
            peer(&core, 0x0b00_0001, nids);
            group.bench_function(BenchmarkId::from_parameter(format!("{interfaces} x {nids}")), |b| {
                b.iter(|| core.choose(None, black_box(nid(0x0b00_0001))).unwrap());
            });
            core.shutdown();
        }
    }
    let core = node(4);
    peer(&core, 0x0b00_0001, 4);
    group.bench_function("4 x 4", |b| b.iter(|| core.choose(None, black_box(nid(0x0b00_0001))).unwrap()));
    let on_numa = numa_node();
    peer(&on_numa, 0x0b00_0001, 4);
    group.bench_function("4 x 4, by distance", |b| {
        b.iter(|| on_numa.choose(None, black_box(nid(0x0b00_0001))).unwrap());
    });
    group.bench_function("4 x 4, source given", |b| {
        b.iter(|| core.choose(Some(nid(0x0a00_0001)), black_box(nid(0x0b00_0001))).unwrap());
    });
    group.finish();
}

fn many_peers(c: &mut Criterion) {
    let mut group = c.benchmark_group("choosing a path, 4 NIs x 4, among so many peers");
    for peers in [1_u32, 100, 10_000] {
        let core = node(4);
        for i in 0..peers {
            peer(&core, 0x0b00_0001 + i * 4, 4);
        }
        let mut which = 0;
        group.bench_function(BenchmarkId::from_parameter(peers), |b| {
            b.iter(|| {
                which = (which + 7919) % peers;
                core.choose(None, black_box(nid(0x0b00_0001 + which * 4))).unwrap()
            });
        });
        // What is left of the difference when the memory has been read before: look-ups take the same steps.
        group.bench_function(BenchmarkId::new("the same one each time", peers), |b| {
            b.iter(|| core.choose(None, black_box(nid(0x0b00_0001))).unwrap());
        });
        core.shutdown();
    }
    group.finish();
}

/// Printed, not timed: what 10 000 peers of 4 NIDs take.
fn memory(_: &mut Criterion) {
    let resident = || {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    };
    let core = node(4);
    let before = resident();
    for i in 0..10_000 {
        peer(&core, 0x0b00_0001 + i * 4, 4);
    }
    let taken = resident() - before;
    println!(
        "10 000 peers of 4 NIDs: {:.1} MiB resident, {} bytes a NID",
        taken as f64 / f64::from(1 << 20),
        taken / 40_000
    );
    core.shutdown();
}

criterion_group!(benches, memory, choice, many_peers);
criterion_main!(benches);
