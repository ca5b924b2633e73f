use super::*;
use proptest::prelude::*;

/// A machine with four nodes of four CPUs in a square: neighbours are nearer than opposite nodes.
pub(crate) fn four_nodes() -> Hardware {
    let distances = [[10, 16, 22, 16], [16, 10, 16, 22], [22, 16, 10, 16], [16, 22, 16, 10]];
    let nodes = (0_u32..).zip(distances).map(|(id, distances)| NumaNode {
        id,
        cpus: (id * 4..id * 4 + 4).collect(),
        distances: distances.to_vec(),
    });
    Hardware { nodes: nodes.collect(), threads_per_core: NonZeroUsize::MIN }
}

fn count(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap()
}

fn cpus(table: &CptTable) -> Vec<Vec<u32>> {
    table.iter().map(|cpt| cpt.cpus.clone()).collect()
}

fn by(hardware: &Hardware, pattern: &str) -> Result<CptTable, LayoutError> {
    CptTable::new(hardware, &Layout::Pattern(pattern.parse().unwrap()))
}

/// NU-1: fails if the default number of partitions differs from the kernel's.
#[test]
fn the_default_count_follows_cpus_and_threads() {
    let table = [
        ((0, 1), 1),
        ((1, 1), 1),
        ((4, 1), 1),
        ((5, 1), 1),
        ((6, 1), 3),
        ((7, 1), 1),
        ((8, 1), 4),
        ((8, 2), 2),
        ((12, 2), 3),
        ((14, 2), 2),
        ((16, 1), 8),
        ((64, 2), 16),
        ((64, 4), 8),
        ((100, 2), 25),
        ((1024, 1), 256),
    ];
    for ((cpus, threads), want) in table {
        assert_eq!(default_count(cpus, count(threads)), count(want), "{cpus} CPUs, {threads} threads");
    }
}

/// NU-2: fails if the distance of two partitions is not the largest between their nodes, or the largest of all if one is unknown.
#[test]
fn distances_are_the_largest_between_the_nodes_of_two_partitions() {
    let table = by(&four_nodes(), "N").unwrap();
    let row = |from| [0, 1, 2, 3].map(|to| table.distance(Some(from), Some(to)));
    assert_eq!([row(0), row(1)], [[10, 16, 22, 16], [16, 10, 16, 22]]);
    let anywhere =
        [(None, None), (None, Some(0)), (Some(0), None), (Some(0), Some(4)), (Some(u32::MAX), Some(0))];
    for (from, to) in anywhere {
        assert_eq!(table.distance(from, to), 22, "{from:?} {to:?}");
    }
    let halves = by(&four_nodes(), "N 0[0,1] 1[2,3]").unwrap();
    assert_eq!(halves.distance(Some(0), Some(0)), 16);
    assert_eq!(halves.distance(Some(0), Some(1)), 22);
    assert_eq!(halves.to_string(), "0: 0:16 1:22\n1: 0:22 1:16");
    assert!(halves.tells_apart());
    assert!(!by(&four_nodes(), "N 0[0-3]").unwrap().tells_apart());
    assert!(!CptTable::uniform(count(4)).tells_apart());
    assert!(
        !CptTable::new(&Hardware::of_one_node((0..64).collect()), &Layout::Default).unwrap().tells_apart()
    );
}

/// NU-3: fails if a node does not map to one partition, or one without CPUs not to the nearest.
#[test]
fn a_node_has_one_partition_and_a_node_without_cpus_the_nearest() {
    let mut hardware = four_nodes();
    hardware.nodes[2].cpus.clear();
    hardware.nodes[2].distances = vec![22, 16, 10, 15];
    let table = by(&hardware, "N").unwrap();
    assert_eq!(table.iter().map(|cpt| cpt.nodes.clone()).collect::<Vec<_>>(), [[0], [1], [3]]);
    assert_eq!([0, 1, 2, 3, 4].map(|node| table.of_node(node)), [Some(0), Some(1), Some(2), Some(2), None]);
    assert_eq!([0, 4, 8, 12].map(|cpu| table.of_cpu(cpu)), [Some(0), Some(1), None, Some(2)]);
    // Two partitions are on every node: it maps to the first.
    let table = CptTable::new(&four_nodes(), &Layout::Default).unwrap();
    assert_eq!(table.count(), count(8));
    assert_eq!([0, 1, 2, 3].map(|node| table.of_node(node)), [Some(0), Some(2), Some(4), Some(6)]);
    assert_eq!(table.distance(Some(0), Some(1)), 10);
    assert_eq!(table.distance(Some(0), Some(5)), 22);
}

#[test]
fn patterns_list_the_cpus_or_numa_nodes_of_each_partition() {
    let table = [
        ("N", vec![(0..4).collect(), (4..8).collect(), (8..12).collect(), (12..16).collect()]),
        (" n ", vec![(0..4).collect(), (4..8).collect(), (8..12).collect(), (12..16).collect()]),
        ("0[0,2] 1[1,3]", vec![vec![0, 2], vec![1, 3]]),
        (" 1[ 4-6/2 ]0 [0]", vec![vec![0], vec![4, 6]]),
        ("N 0[3] 1[1]", vec![(12..16).collect(), (4..8).collect()]),
        ("N0[0-3]", vec![(0..16).collect()]),
    ];
    for (pattern, want) in table {
        assert_eq!(by(&four_nodes(), pattern).map(|table| cpus(&table)), Ok(want), "{pattern}");
    }
}

#[test]
fn invalid_patterns_are_rejected() {
    use lnet_wire::text::Problem;
    let at = |problem, at| PatternError::Numbers(lnet_wire::TextError { problem, at });
    let unread = [
        ("", PatternError::NotAPartition(0)),
        ("x", PatternError::NotAPartition(0)),
        ("[0]", PatternError::NotAPartition(0)),
        ("-1[0]", PatternError::NotAPartition(0)),
        ("0]0[", PatternError::NotAPartition(0)),
        ("N 0[0] ?", PatternError::NotAPartition(7)),
        ("N0 1", PatternError::NotAPartition(1)),
        ("0[]", at(Problem::NotANumber, 2)),
        ("N 0[0] 1[x]", at(Problem::NotANumber, 9)),
        ("0[0-65535,1]", PatternError::TooMany(1)),
        ("1[0]", PatternError::Numbering(0)),
        ("0[0] 2[1]", PatternError::Numbering(1)),
        ("0[0] 0[1]", PatternError::Numbering(0)),
    ];
    for (text, want) in unread {
        assert_eq!(text.parse::<Pattern>(), Err(want), "{text}");
    }
    let impossible = [
        ("0[16]", LayoutError::NoCpu(16)),
        ("N 0[4]", LayoutError::NoNode(4)),
        ("0[0] 1[1,0]", LayoutError::Twice(0)),
        ("N 0[1,1]", LayoutError::Twice(1)),
    ];
    for (pattern, want) in impossible {
        assert_eq!(by(&four_nodes(), pattern), Err(want), "{pattern}");
    }
    for wanted in [17, 257] {
        let wrong = CptTable::new(&four_nodes(), &Layout::Count(count(wanted)));
        assert_eq!(wrong, Err(LayoutError::TooMany { wanted, cpus: 16 }));
    }
}

proptest! {
    #[test]
    fn every_cpu_is_in_one_partition_and_none_is_empty(nodes in prop::collection::vec(0_u32..9, 1..5), wanted in 1_usize..40) {
        let mut next = 0;
        let hardware = Hardware {
            nodes: (0_u32..).zip(&nodes).map(|(id, cpus)| {
                let first = next;
                next += cpus;
                NumaNode { id, cpus: (first..next).collect(), distances: Vec::new() }
            }).collect(),
            threads_per_core: NonZeroUsize::MIN,
        };
        let all = next as usize;
        for layout in [Layout::Default, Layout::Count(count(wanted)), Layout::Pattern(Pattern::EachNode)] {
            let Ok(table) = CptTable::new(&hardware, &layout) else {
                prop_assert!(wanted > all.max(1));
                continue;
            };
            prop_assert_eq!(cpus(&table).concat(), (0..next).collect::<Vec<_>>());
            prop_assert!(all == 0 || table.iter().all(|cpt| !cpt.cpus.is_empty()));
            prop_assert!(nodes.iter().zip(0..).all(|(_, node)| table.of_node(node).is_some()));
        }
    }

    #[test]
    fn no_text_makes_the_pattern_reader_panic(text in "[Nn0-9\\[\\], /-]{0,12}") {
        let _ = text.parse::<Pattern>();
    }
}
