//! The layout of pictures.

use crate::clusters::{library, many_nets, of_library};
use lnet_cluster::checks::FindingKind;
use lnet_cluster::report::picture::{
    Bar, Drawing, Graph, Link, Role, Status, SwitchVertex, Tag, Vertex, graph, layout,
};
use std::collections::BTreeSet;

/// Areas that overlap or leave the picture, and lines that cross a box that is not theirs.
fn problems(graph: &Graph, drawing: &Drawing) -> Vec<String> {
    let mut problems = Vec::new();
    let areas = drawing.areas();
    for (at, one) in areas.iter().enumerate() {
        if one.right() > drawing.width || one.bottom() > drawing.legend {
            problems.push(format!("{one:?} leaves the picture"));
        }
        problems.extend(
            areas[at + 1..]
                .iter()
                .filter(|other| one.overlaps(other))
                .map(|other| format!("{one:?} overlaps {other:?}")),
        );
    }
    for link in &drawing.links {
        let (top, bottom) = (link.from.min(link.to), link.from.max(link.to));
        let vertex = graph.links[link.link].vertex;
        let others = drawing.boxes.iter().filter(|it| it.index != vertex).map(|it| it.rect);
        let labels = drawing.links.iter().filter(|it| it.link != link.link).filter_map(|it| it.label);
        let names = drawing.bars.iter().map(|it| it.label);
        for rect in others.chain(labels).chain(names) {
            if link.x > rect.x && link.x < rect.right() && bottom > rect.y && top < rect.bottom() {
                problems.push(format!("line {link:?} crosses {rect:?}"));
            }
        }
    }
    problems
}

fn tags(random: &mut fastrand::Rng) -> BTreeSet<Tag> {
    let tag = |random: &mut fastrand::Rng| {
        let row = FindingKind::ALL[random.usize(..FindingKind::ALL.len())].row();
        Tag { severity: row.severity, id: row.id }
    };
    (0..random.usize(..4)).map(|_| tag(random)).collect()
}

fn random_graph(random: &mut fastrand::Rng) -> Graph {
    let status =
        |random: &mut fastrand::Rng| [Status::Sound, Status::Single, Status::Broken][random.usize(..3)];
    let text = |random: &mut fastrand::Rng| "abcdefghij".repeat(random.usize(..5));
    let bars: Vec<Bar> = (0..random.usize(..9))
        .map(|index| {
            let nets = random.u64(1..3);
            Bar {
                name: format!("tcp{index}"),
                nets,
                status: status(random),
                tags: tags(random),
                notes: Vec::new(),
            }
        })
        .collect();
    let vertices: Vec<Vertex> = (0..random.usize(..14))
        .map(|_| Vertex {
            name: text(random),
            role: [Role::End, Role::Router, Role::Missing][random.usize(..3)],
            classes: random.u64(1..3),
            nodes: random.u64(..100_000),
            detail: text(random),
            status: status(random),
            tags: tags(random),
            notes: Vec::new(),
        })
        .collect();
    let mut links = Vec::new();
    for vertex in 0..vertices.len() {
        for bar in 0..bars.len() {
            if random.usize(..3) == 0 {
                links.push(Link {
                    vertex,
                    bar,
                    status: status(random),
                    exists: random.bool(),
                    label: text(random),
                });
            }
        }
    }
    let switches = (0..random.usize(..12))
        .map(|_| SwitchVertex {
            name: text(random),
            interfaces: random.u64(..1000),
            links: BTreeSet::new(),
            status: status(random),
            tags: tags(random),
            notes: Vec::new(),
        })
        .collect();
    Graph { title: "a cluster".to_owned(), bars, vertices, links, switches }
}

#[test]
fn nothing_overlaps_in_pictures_of_random_graphs() {
    for seed in 0..2000 {
        let graph = random_graph(&mut fastrand::Rng::with_seed(seed));
        let drawing = layout(&graph);
        let counts = (drawing.bars.len(), drawing.boxes.len(), drawing.links.len(), drawing.switches.len());
        assert_eq!(
            counts,
            (graph.bars.len(), graph.vertices.len(), graph.links.len(), graph.switches.len()),
            "{seed}"
        );
        assert_eq!(problems(&graph, &drawing), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn nothing_overlaps_in_pictures_of_the_library() {
    for name in library() {
        let (cluster, findings) = of_library(&name);
        let graph = graph(&cluster, &findings);
        assert_eq!(problems(&graph, &layout(&graph)), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn every_finding_is_named_in_the_picture() {
    for name in library() {
        let (cluster, findings) = of_library(&name);
        let graph = graph(&cluster, &findings);
        let bars = graph.bars.iter().map(|it| &it.tags);
        let named = bars
            .chain(graph.vertices.iter().map(|it| &it.tags))
            .chain(graph.switches.iter().map(|it| &it.tags));
        let named: BTreeSet<&str> = named.flatten().map(|tag| tag.id).collect();
        for finding in &findings {
            assert!(named.contains(finding.kind.row().id), "{name}: {}", finding.what);
        }
    }
}

#[test]
fn hundreds_of_classes_and_nets_are_folded_and_the_odd_one_is_shown() {
    let (cluster, findings) = many_nets(100);
    assert_eq!(cluster.classes.len(), 201);
    let graph = graph(&cluster, &findings);
    let names: Vec<(&str, u64, u64)> =
        graph.vertices.iter().map(|it| (it.name.as_str(), it.classes, it.nodes)).collect();
    let nets: Vec<(&str, u64)> = graph.bars.iter().map(|it| (it.name.as_str(), it.nets)).collect();
    assert_eq!(nets, [("tcp", 1), ("tcp1", 99), ("tcp100", 1)]);
    assert_eq!(names.len(), 6, "{names:?}");
    let nodes: u64 = graph.vertices.iter().map(|it| it.nodes).sum();
    assert_eq!(nodes, cluster.node_count());
    assert_eq!(problems(&graph, &layout(&graph)), Vec::<String>::new());
}

#[test]
fn broken_paths_are_broken_links_and_single_points_are_single() {
    // Cluster, vertex, bar, state, whether the vertex is on the net.
    for (name, vertex, bar, status, exists) in [
        ("healthy/routed-two-rails", "r1", "tcp", Status::Sound, true),
        ("broken/single-router", "r1", "tcp", Status::Single, true),
        ("broken/gateway-does-not-forward", "r1", "tcp", Status::Broken, true),
        ("broken/gateway-not-on-target", "r2", "tcp1", Status::Broken, false),
        ("broken/gateway-nobody", "no such gateway", "tcp", Status::Broken, false),
        ("broken/no-path-without-route-back", "no path", "tcp", Status::Broken, false),
    ] {
        let (cluster, findings) = of_library(name);
        let graph = graph(&cluster, &findings);
        let found = graph.links.iter().find(|link| {
            let its = &graph.vertices[link.vertex];
            (its.name == vertex || its.detail == vertex) && graph.bars[link.bar].name == bar
        });
        let found = found.map(|link| (link.status, link.exists));
        assert_eq!(found, Some((status, exists)), "{name}: {graph:#?}");
    }
}
