//! Tests on a made-up machine of four nodes in a square, with an interface on each.

use super::*;
use crate::cpt::tests::four_nodes;
use crate::cpt::{CptTable, Layout, Placement};
use crate::environment::ConfigLock;
use crate::model::{NiConfig, NiTunables, PeerState, Routes};
use crate::topology::PeerTable;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

fn nid(text: &str) -> Nid {
    text.parse().unwrap()
}

fn by_nodes() -> CptTable {
    CptTable::new(&four_nodes(), &Layout::Pattern("N".parse().unwrap())).unwrap()
}

/// The memory of node n is at `n << 32`; from node 9 on its node is unknown. Every thread runs on CPU 13, of node 3.
#[derive(Debug, Default)]
struct MadeUp {
    asked: AtomicUsize,
}

impl Placement for MadeUp {
    fn node_of_memory(&self, address: usize) -> Option<u32> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Some((address >> 32) as u32).filter(|node| *node < 9)
    }

    fn cpu_of_this_thread(&self) -> Option<u32> {
        Some(13)
    }
}

const fn on_node(node: usize) -> Origin {
    Origin::Memory(node << 32)
}

/// A node whose interfaces `10.0.0.1@tcp`, `10.0.0.2@tcp` and so on have devices in these partitions.
fn nets(device_cpts: &[Option<u32>]) -> Nets {
    (1..).zip(device_cpts).fold(Nets::default(), |nets, (i, device_cpt)| {
        let config = NiConfig { device_cpt: *device_cpt, ..NiTunables::default().into() };
        let ni = Ni::new(nid(&format!("10.0.0.{i}@tcp")), config, by_nodes().count()).unwrap();
        nets.with(Arc::new(ni)).unwrap()
    })
}

const EVERYWHERE: [Option<u32>; 4] = [Some(0), Some(1), Some(2), Some(3)];

/// A multi-rail peer with two NIDs.
fn peer() -> (PeerTable, Arc<PeerNi>) {
    let table = PeerTable::new();
    let primary = nid("10.0.1.1@tcp");
    table.make(&ConfigLock::default().lock(), primary, PeerState::MULTI_RAIL, 8);
    table.attach(&ConfigLock::default().lock(), &table.get(primary).unwrap().peer(), nid("10.0.1.2@tcp"), 8);
    let peer_ni = table.get(primary).unwrap();
    (table, peer_ni)
}

/// The number of messages of `times` for which each interface is selected, by the last octets of both ends.
fn chosen(nets: &Nets, numa: Numa<'_>, times: usize) -> (BTreeMap<String, usize>, BTreeMap<String, usize>) {
    let (_table, peer_ni) = peer();
    let destination = peer_ni.nid();
    let path_request = PathRequest { numa: Some(&numa), ..PathRequest::unbound(destination, false) };
    let (mut own, mut its) = (BTreeMap::new(), BTreeMap::new());
    for _ in 0..times {
        let chosen =
            select_path(Paths { nets, routes: &Routes::default() }, Some(&peer_ni), path_request).unwrap();
        chosen.commit();
        *own.entry(chosen.ni.nid().to_string()).or_default() += 1;
        *its.entry(chosen.destination().to_string()).or_default() += 1;
    }
    (own, its)
}

/// The last digits of the interfaces that get messages.
fn used(nets: &Nets, numa: Numa<'_>) -> Vec<u32> {
    let (own, _) = chosen(nets, numa, 24);
    let fair = own.values().all(|times| *times == 24 / own.len());
    assert!(fair, "{own:?}");
    (1..).take(nets.nis().count()).filter(|i| own.contains_key(&format!("10.0.0.{i}@tcp"))).collect()
}

/// snd-010, snd-020, NU-2, NU-5, NU-6: fails if another interface is used than the nearest.
/// snd-025, cfg-090: fails if an interface within the range is not used, or one beyond it is. From where,
/// with which range, over which interfaces.
#[test]
fn the_interfaces_nearest_to_the_memory_are_used_round_robin() {
    let cpts = by_nodes();
    let placement = MadeUp::default();
    let [lone, across] = [[Some(0), None, Some(2), None], [Some(2), Some(2), None, None]];
    let table = [
        // The nearest alone.
        (EVERYWHERE, on_node(0), 0, vec![1]),
        (EVERYWHERE, on_node(2), 0, vec![3]),
        // Wider: with both neighbours, then with all.
        (EVERYWHERE, on_node(0), 10, vec![1]),
        (EVERYWHERE, on_node(0), 15, vec![1]),
        (EVERYWHERE, on_node(0), 16, vec![1, 2, 4]),
        (EVERYWHERE, on_node(1), 16, vec![1, 2, 3]),
        (EVERYWHERE, on_node(1), 21, vec![1, 2, 3]),
        (EVERYWHERE, on_node(1), 22, vec![1, 2, 3, 4]),
        (EVERYWHERE, on_node(1), u32::MAX, vec![1, 2, 3, 4]),
        // If the memory is unknown, or there is none, the thread counts.
        (EVERYWHERE, on_node(9), 0, vec![4]),
        (EVERYWHERE, Origin::Thread, 0, vec![4]),
        (EVERYWHERE, Origin::Cpt(1), 0, vec![2]),
        (EVERYWHERE, Origin::Cpt(4), 0, vec![1, 2, 3, 4]),
        // A device whose place is unknown has the largest distance.
        (lone, on_node(0), 0, vec![1]),
        (lone, on_node(1), 0, vec![1, 3]),
        (across, on_node(0), 0, vec![1, 2, 3, 4]),
        (across, on_node(1), 0, vec![1, 2]),
        ([None; 4], on_node(0), 0, vec![1, 2, 3, 4]),
    ];
    for (devices, origin, range, want) in table {
        let numa = Numa { cpts: &cpts, range, placement: Some(&placement), origin };
        assert_eq!(used(&nets(&devices), numa), want, "{devices:?} {origin:?} {range}");
    }
    // There is no source of placements.
    let numa = Numa { cpts: &cpts, range: 0, placement: None, origin: on_node(0) };
    assert_eq!(used(&nets(&EVERYWHERE), numa), [1, 2, 3, 4]);
}

/// Looking up the placement costs a system call.
#[test]
fn the_numa_node_of_memory_is_not_looked_up_when_it_decides_nothing() {
    let cpts = by_nodes();
    let table = [
        (&EVERYWHERE[..], 0, true),
        (&EVERYWHERE[..], 21, true),
        (&EVERYWHERE[..], 22, false),
        (&EVERYWHERE[..1], 0, false),
        (&[Some(2), Some(2)], 0, false),
        (&[None, None], 0, false),
        (&[None, Some(2)], 0, true),
    ];
    for (devices, range, want) in table {
        let placement = MadeUp::default();
        let numa = Numa { cpts: &cpts, range, placement: Some(&placement), origin: on_node(0) };
        chosen(&nets(devices), numa, 1);
        let asked = placement.asked.load(Ordering::Relaxed) > 0;
        assert_eq!(asked, want, "{devices:?} {range}");
    }
}

/// snd-005: fails if distance goes before health, or before the priority that rules give.
#[test]
fn a_distant_interface_is_used_when_the_near_one_is_unhealthy() {
    let cpts = by_nodes();
    let placement = MadeUp::default();
    let numa = Numa { cpts: &cpts, range: 0, placement: Some(&placement), origin: on_node(0) };
    let nets = nets(&EVERYWHERE);
    let near = nets.ni(nid("10.0.0.1@tcp")).unwrap();
    near.set_health(999);
    assert_eq!(used(&nets, numa), [2, 4]);
    near.set_health(1000);
    nets.ni(nid("10.0.0.3@tcp")).unwrap().set_priority(0);
    assert_eq!(used(&nets, numa), [3]);
}

/// snd-040: fails if the peer's interfaces do not take turns, whichever of this node's it is.
/// snd-060: fails if the peer's interface is chosen first: then not every message leaves by the near one.
#[test]
fn distance_does_not_choose_among_a_peers_interfaces() {
    let cpts = by_nodes();
    let placement = MadeUp::default();
    for node in 0..4 {
        let numa = Numa { cpts: &cpts, range: 0, placement: Some(&placement), origin: on_node(node) };
        let (own, its) = chosen(&nets(&EVERYWHERE), numa, 10);
        assert_eq!(own, [(format!("10.0.0.{}@tcp", node + 1), 10)].into());
        assert_eq!(its, [("10.0.1.1@tcp".to_owned(), 5), ("10.0.1.2@tcp".to_owned(), 5)].into());
    }
}

#[test]
fn an_explanation_lists_the_numa_distances() {
    let cpts = by_nodes();
    let placement = MadeUp::default();
    let (_table, peer_ni) = peer();
    let numa = Numa { cpts: &cpts, range: 12, placement: Some(&placement), origin: on_node(1) };
    let destination = peer_ni.nid();
    let path_request = PathRequest { numa: Some(&numa), ..PathRequest::unbound(destination, false) };
    let (nets, routes) = (nets(&EVERYWHERE), Routes::default());
    let explanation = explain(Paths { nets: &nets, routes: &routes }, Some(&peer_ni), path_request).unwrap();
    assert_eq!(explanation.chosen.ni.nid(), nid("10.0.0.2@tcp"));
    let losers = explanation.local_nis.iter().map(|(_, why)| why.to_string());
    let far = |distance| format!("farther from the memory: {distance}, the chosen one has 12");
    assert_eq!(losers.collect::<Vec<_>>(), [far(16), far(16), far(22)]);
}
