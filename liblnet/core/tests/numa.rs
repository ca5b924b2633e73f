//! The interfaces by which PUTs and GETs leave on a machine of two NUMA nodes with an interface on each.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod support;

use lnet_core::cpt::{Hardware, Layout, NumaNode};
use lnet_core::{Core, CoreConfig, CptTable, MdMemory, MdOptions, MdSpec, Near, NiConfig, Placement, Target};
use lnet_wire::{Nid, Pid};
use std::num::NonZeroUsize;
use std::sync::Arc;
use support::{FakeDriver, OnSend, nid};

/// The source NIDs of the messages sent since the last call.
fn sources(driver: &FakeDriver) -> Vec<Nid> {
    driver.recorded().iter().map(|header| header.src_nid).collect()
}

/// A placement for tests: memory at `n << 32` is on node n; threads run on node 1.
#[derive(Debug)]
struct MadeUp;

impl Placement for MadeUp {
    fn node_of_memory(&self, address: usize) -> Option<u32> {
        u32::try_from(address >> 32).ok().filter(|node| *node < 2)
    }

    fn cpu_of_this_thread(&self) -> Option<u32> {
        Some(5)
    }
}

fn node(driver: &FakeDriver) -> Arc<Core> {
    let numa_node = |id: u32, distances: [u32; 2]| NumaNode {
        id,
        cpus: (id * 4..id * 4 + 4).collect(),
        distances: distances.to_vec(),
    };
    let nodes = vec![numa_node(0, [10, 21]), numa_node(1, [21, 10])];
    let hardware = Hardware { nodes, threads_per_core: NonZeroUsize::MIN };
    let core = Core::new(CoreConfig {
        cpts: CptTable::new(&hardware, &Layout::Pattern("N".parse().unwrap())).unwrap(),
        placement: Some(Arc::new(MadeUp)),
        ..CoreConfig::new(Pid::LUSTRE, 1).without_discovery()
    });
    for (own, device_cpt) in [("10.0.0.1@tcp", 0), ("10.0.0.2@tcp", 1)] {
        let config = NiConfig { device_cpt: Some(device_cpt), ..NiConfig::default() };
        core.admin().add_ni(nid(own), config, driver).unwrap();
    }
    core.admin().make_peer(nid("10.0.0.9@tcp"), true, false).unwrap();
    core
}

/// snd-020, NU-4: fails if a message leaves by an interface that is far from its memory.
/// snd-025: fails if interfaces within the range do not take turns.
#[test]
fn messages_leave_by_the_interface_near_their_memory() {
    let driver = FakeDriver::new(OnSend::Complete).recording();
    let core = node(&driver);
    let spec = |options| MdSpec {
        start: 0,
        length: 0,
        threshold: -1,
        max_size: 0,
        options: MdOptions(options),
        user_ptr: 0,
        eq: None,
    };
    let on = |node: usize| MdMemory::contiguous((node << 32) + 4096, 64);
    let bind = |memory| core.data_path().md_bind(spec(0), memory, true).unwrap();
    let bulk = bind(on(1));
    let gone = bind(on(1));
    core.data_path().md_unlink(gone).unwrap();
    let (near, far) = ("10.0.0.1@tcp", "10.0.0.2@tcp");
    let table = [
        (on(0), near),
        (on(1), far),
        (MdMemory::contiguous(0, 0), far),
        (on(7), far),
        (on(0).with_near(Near::Md(bulk)), far),
        (on(0).with_near(Near::Md(gone)), near),
        (on(1).with_near(Near::Cpt(0)), near),
    ];
    let target =
        Target { nid: Some(nid("10.0.0.9@tcp")), pid: Pid::LUSTRE, portal: 9, match_bits: 0, offset: 0 };
    for (memory, want) in table {
        let what = format!("{memory:?}");
        let md = bind(memory);
        for _ in 0..4 {
            core.data_path().put(None, md, false, target, 0).unwrap();
            core.data_path().get(None, md, target).unwrap();
        }
        assert_eq!(sources(&driver), [nid(want); 8], "{what}");
    }

    // All distances are within the range, so that the interfaces take turns.
    core.admin()
        .change_settings(|settings| {
            settings.numa_range = 21;
            Ok(())
        })
        .unwrap();
    (0..4).for_each(|_| core.data_path().put(None, bulk, false, target, 0).unwrap());
    let took_turns = sources(&driver);
    assert_eq!(took_turns.iter().filter(|its| **its == nid(near)).count(), 2, "{took_turns:?}");
    core.admin().shutdown();
}
