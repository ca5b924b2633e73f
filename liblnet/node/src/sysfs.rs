//! The machine's CPUs, NUMA nodes and the devices of its interfaces: files below `/sys`, or below another directory
//! with the same layout.

use lnet_core::cpt::{Hardware, NumaNode};
use lnet_wire::Expression;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

/// The highest number of a CPU or node that is accepted.
const MAX_NUMBER: u32 = 0xffff;
/// The maximum depth of stacked interfaces: a VLAN on a bond on a card is three.
const MAX_LAYERS: u32 = 8;

/// The machine's online CPUs by NUMA node. Files that cannot be read are replaced by values of a machine without NUMA
/// (snd-010, snd-015).
pub(crate) fn hardware(root: &Path) -> Hardware {
    let system = root.join("devices/system");
    let online = list(&system.join("cpu/online")).unwrap_or_else(all_that_may_be_used);
    let siblings: BTreeMap<u32, Vec<u32>> = online
        .iter()
        .filter_map(|cpu| {
            Some((*cpu, list(&system.join(format!("cpu/cpu{cpu}/topology/thread_siblings_list")))?))
        })
        .collect();
    let core_of = |cpu: u32| siblings.get(&cpu).and_then(|its| its.iter().min().copied()).unwrap_or(cpu);
    let by_cores = |mut cpus: Vec<u32>| {
        cpus.sort_unstable_by_key(|cpu| (core_of(*cpu), *cpu));
        cpus
    };
    let on: BTreeSet<u32> = online.iter().copied().collect();
    let nodes: Vec<NumaNode> = list(&system.join("node/online"))
        .unwrap_or_default()
        .into_iter()
        .map(|id| {
            let node = system.join(format!("node/node{id}"));
            let cpus = list(&node.join("cpulist")).unwrap_or_default();
            let cpus = by_cores(cpus.into_iter().filter(|cpu| on.contains(cpu)).collect());
            NumaNode { id, cpus, distances: numbers(&node.join("distance")) }
        })
        .collect();
    let threads = siblings.values().map(|its| its.iter().filter(|cpu| on.contains(cpu)).count()).max();
    let threads_per_core = threads.and_then(NonZeroUsize::new).unwrap_or(NonZeroUsize::MIN);
    match nodes.iter().all(|node| node.cpus.is_empty()) {
        true => Hardware { threads_per_core, ..Hardware::of_one_node(by_cores(online)) },
        false => Hardware { nodes, threads_per_core },
    }
}

/// The NUMA node of an interface's device (NU-5); of a stacked interface, such as a VLAN or a bond, that of the
/// devices below it, if they agree. `None` if it is unknown, or if the interface has no device.
pub(crate) fn node_of_interface(root: &Path, name: &str) -> Option<u32> {
    node_below(&root.canonicalize().ok()?, name, MAX_LAYERS)
}

fn node_below(root: &Path, name: &str, layers: u32) -> Option<u32> {
    if layers == 0 || name.is_empty() || name.starts_with('.') || name.contains('/') {
        return None;
    }
    let interface = root.join("class/net").join(name);
    if let Ok(device) = interface.join("device").canonicalize() {
        // The file is in the card's directory, which may be several levels above the interface's device.
        let above = device.ancestors().take_while(|path| path.starts_with(root));
        let text = above.filter_map(|path| fs::read_to_string(path.join("numa_node")).ok()).next()?;
        return text.trim().parse().ok();
    }
    let entries = fs::read_dir(interface).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut nodes = names.filter_map(|it| Some(node_below(root, it.strip_prefix("lower_")?, layers - 1)));
    let first = nodes.next()??;
    nodes.all(|node| node == Some(first)).then_some(first)
}

/// Reads a list of numbers such as `0-3,8-11`; it is empty for an empty file.
fn list(file: &Path) -> Option<Vec<u32>> {
    let text = fs::read_to_string(file).ok()?;
    match text.trim() {
        "" => Some(Vec::new()),
        some => {
            Expression::parse(&format!("[{some}]"), 0..=MAX_NUMBER).ok()?.values(MAX_NUMBER as usize).ok()
        }
    }
}

/// Reads numbers such as `10 21`; the first invalid one ends the list.
fn numbers(file: &Path) -> Vec<u32> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_ascii_whitespace().map_while(|number| number.parse().ok()).collect()
}

fn all_that_may_be_used() -> Vec<u32> {
    let count = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    (0..count.min(MAX_NUMBER as usize) as u32).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    /// A directory like a machine's `/sys`: files by name, and links.
    pub(crate) fn synthetic(files: &[(&str, &str)], links: &[(&str, &str)]) -> TempDir {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, format!("{text}\n")).unwrap();
        }
        for (link, to) in links {
            let link = root.path().join(link);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(root.path().join(to), link).unwrap();
        }
        root
    }

    /// Four nodes of two cores with two threads each, a card on every node, and memory on a fifth node.
    pub(crate) fn four_nodes() -> TempDir {
        let mut files = vec![
            ("devices/system/cpu/online".to_owned(), "0-15".to_owned()),
            ("devices/system/node/online".to_owned(), "0-3,7".to_owned()),
            ("devices/system/node/node7/cpulist".to_owned(), String::new()),
            ("devices/system/node/node7/distance".to_owned(), "22 22 17 22 10".to_owned()),
        ];
        let mut links = Vec::new();
        let distances = ["10 16 22 16 22", "16 10 16 22 22", "22 16 10 16 17", "16 22 16 10 22"];
        for (node, distances) in distances.iter().enumerate() {
            let (cpu, card) = (node * 2, format!("devices/pci000{node}:00/000{node}:00:03.0"));
            let directory = format!("devices/system/node/node{node}");
            files.push((
                format!("{directory}/cpulist"),
                format!("{}-{},{}-{}", cpu, cpu + 1, cpu + 8, cpu + 9),
            ));
            files.push((format!("{directory}/distance"), (*distances).to_owned()));
            for cpu in [cpu, cpu + 1] {
                for thread in [cpu, cpu + 8] {
                    let siblings = format!("devices/system/cpu/cpu{thread}/topology/thread_siblings_list");
                    files.push((siblings, format!("{},{}", cpu, cpu + 8)));
                }
            }
            files.push((format!("{card}/numa_node"), node.to_string()));
            files.push((format!("{card}/net/eth{node}/mtu"), "1500".to_owned()));
            links.push((format!("{card}/net/eth{node}/device"), card.clone()));
            links.push((format!("class/net/eth{node}"), format!("{card}/net/eth{node}")));
        }
        let text = |pair: &'_ (String, String)| (pair.0.clone(), pair.1.clone());
        let files: Vec<_> = files.iter().map(text).collect();
        let files: Vec<_> = files.iter().map(|(file, text)| (file.as_str(), text.as_str())).collect();
        let links: Vec<_> = links.iter().map(|(link, to)| (link.as_str(), to.as_str())).collect();
        synthetic(&files, &links)
    }

    /// snd-010: fails if a distance differs from the one that Linux reports.
    #[test]
    fn nodes_cpus_threads_and_distances_are_read() {
        let hardware = hardware(four_nodes().path());
        assert_eq!(hardware.threads_per_core.get(), 2);
        let node = |id: u32, distances: &[u32]| NumaNode {
            id,
            cpus: if id < 4 { vec![id * 2, id * 2 + 8, id * 2 + 1, id * 2 + 9] } else { Vec::new() },
            distances: distances.to_vec(),
        };
        let want = [
            node(0, &[10, 16, 22, 16, 22]),
            node(1, &[16, 10, 16, 22, 22]),
            node(2, &[22, 16, 10, 16, 17]),
            node(3, &[16, 22, 16, 10, 22]),
            node(7, &[22, 22, 17, 22, 10]),
        ];
        assert_eq!(hardware.nodes, want);
    }

    /// snd-015: fails if a kernel that reports no NUMA nodes, or no distances, yields anything but one node
    /// with all CPUs.
    #[test]
    fn a_machine_without_numa_is_one_node() {
        let of = |files: &[(&str, &str)]| hardware(synthetic(files, &[]).path());
        let one = |cpus: &[u32]| Hardware::of_one_node(cpus.to_vec());
        let cpus = ("devices/system/cpu/online", "0,2-3");
        assert_eq!(of(&[cpus]), one(&[0, 2, 3]));
        assert_eq!(of(&[cpus, ("devices/system/node/online", "0")]), one(&[0, 2, 3]));
        assert_eq!(of(&[cpus, ("devices/system/node/online", "?")]), one(&[0, 2, 3]));
        assert_eq!(of(&[]).nodes.len(), 1);
        // A CPU that is off is in no node.
        let node = [
            cpus,
            ("devices/system/node/online", "0"),
            ("devices/system/node/node0/cpulist", "0-3"),
            ("devices/system/node/node0/distance", "10"),
        ];
        assert_eq!(of(&node), one(&[0, 2, 3]));
    }

    /// NU-5: fails if an interface is not on the node of its card, or a stacked one not on the node of those below it.
    #[test]
    fn an_interface_is_on_the_node_of_its_card() {
        let root = four_nodes();
        let node = |name: &str| node_of_interface(root.path(), name);
        assert_eq!(
            ["eth0", "eth3", "eth4", "", "..", "../net/eth1"].map(node),
            [Some(0), Some(3), None, None, None, None]
        );

        let files = [
            ("devices/pci0/card/numa_node", "1"),
            ("devices/pci0/card/virtio/net/vio/mtu", "1"),
            ("devices/pci0/other/numa_node", "-1"),
            ("devices/pci0/other/net/nowhere/mtu", "1"),
            ("devices/virtual/net/veth/mtu", "1"),
            ("devices/virtual/net/bond/mtu", "1"),
            ("devices/virtual/net/bond.7/mtu", "1"),
            ("devices/virtual/net/mixed/mtu", "1"),
            ("devices/virtual/net/itself/mtu", "1"),
        ];
        let links = [
            ("devices/pci0/card/virtio/net/vio/device", "devices/pci0/card/virtio"),
            ("devices/pci0/other/net/nowhere/device", "devices/pci0/other"),
            ("devices/virtual/net/bond/lower_vio", "class/net/vio"),
            ("devices/virtual/net/bond.7/lower_bond", "class/net/bond"),
            ("devices/virtual/net/mixed/lower_vio", "class/net/vio"),
            ("devices/virtual/net/mixed/lower_nowhere", "class/net/nowhere"),
            ("devices/virtual/net/itself/lower_itself", "class/net/itself"),
            ("class/net/vio", "devices/pci0/card/virtio/net/vio"),
            ("class/net/nowhere", "devices/pci0/other/net/nowhere"),
            ("class/net/veth", "devices/virtual/net/veth"),
            ("class/net/bond", "devices/virtual/net/bond"),
            ("class/net/bond.7", "devices/virtual/net/bond.7"),
            ("class/net/mixed", "devices/virtual/net/mixed"),
            ("class/net/itself", "devices/virtual/net/itself"),
        ];
        let root = synthetic(&files, &links);
        let table = [
            ("vio", Some(1)),
            ("nowhere", None),
            ("veth", None),
            ("bond", Some(1)),
            ("bond.7", Some(1)),
            ("mixed", None),
            ("itself", None),
        ];
        for (name, want) in table {
            assert_eq!(node_of_interface(root.path(), name), want, "{name}");
        }
    }
}
