//! Like parts of large clusters become one, so that the picture can be read.

use super::graph::{Graph, Link, Status, SwitchVertex};
use std::collections::{BTreeMap, BTreeSet};

/// The most vertices that are shown one by one.
pub(super) const MAX_VERTICES: usize = 16;
/// The most nets that are shown one by one.
pub(super) const MAX_BARS: usize = 10;
/// The most switches that are shown one by one.
pub(super) const MAX_SWITCHES: usize = 24;
/// The most findings whose texts a part keeps.
const MAX_NOTES: usize = 12;

/// Folds a graph as far as its size asks for: first vertices of the same role, findings and nets; then nets with like vertices, too; and
/// switches with the same findings.
pub(super) fn fold(mut graph: Graph) -> Graph {
    if graph.vertices.len() > MAX_VERTICES {
        let bars: Vec<usize> = (0..graph.bars.len()).collect();
        let vertices = vertex_colours(&graph, &bars);
        graph = merged(&graph, &vertices, &bars);
    }
    if graph.bars.len() > MAX_BARS || graph.vertices.len() > MAX_VERTICES {
        let (vertices, bars) = alike(&graph);
        graph = merged(&graph, &vertices, &bars);
    }
    if graph.switches.len() > MAX_SWITCHES {
        graph.switches = folded_switches(&graph.switches);
    }
    graph.vertices.iter_mut().for_each(|it| it.notes.truncate(MAX_NOTES));
    graph.bars.iter_mut().for_each(|it| it.notes.truncate(MAX_NOTES));
    graph.switches.iter_mut().for_each(|it| it.notes.truncate(MAX_NOTES));
    graph
}

/// The colours of vertices and bars: those of one colour have the same role and findings, and links of the same state to the same colours.
fn alike(graph: &Graph) -> (Vec<usize>, Vec<usize>) {
    let mut bars = colours(graph.bars.iter().map(|bar| (bar.status, &bar.tags)));
    let mut vertices = vertex_colours(graph, &bars);
    loop {
        let of_bar = |index: usize| -> BTreeSet<(usize, Status, bool)> {
            let links = graph.links.iter().filter(|link| link.bar == index);
            links.map(|link| (vertices[link.vertex], link.status, link.exists)).collect()
        };
        let next_bars = colours((0..bars.len()).map(|index| (bars[index], of_bar(index))));
        let next_vertices = vertex_colours(graph, &next_bars);
        let is_done = count(&next_bars) == count(&bars) && count(&next_vertices) == count(&vertices);
        (bars, vertices) = (next_bars, next_vertices);
        if is_done {
            return (vertices, bars);
        }
    }
}

fn vertex_colours(graph: &Graph, bars: &[usize]) -> Vec<usize> {
    let mut links: Vec<BTreeSet<(usize, Status, bool)>> = vec![BTreeSet::new(); graph.vertices.len()];
    for link in &graph.links {
        links[link.vertex].insert((bars[link.bar], link.status, link.exists));
    }
    colours(graph.vertices.iter().zip(links).map(|(it, links)| (it.role, it.status, &it.tags, links)))
}

/// Numbers keys in the order of their first appearance.
fn colours<K: Ord>(keys: impl Iterator<Item = K>) -> Vec<usize> {
    let mut known = BTreeMap::new();
    keys.map(|key| {
        let next = known.len();
        *known.entry(key).or_insert(next)
    })
    .collect()
}

fn count(colours: &[usize]) -> usize {
    colours.iter().max().map_or(0, |most| most + 1)
}

/// Merges vertices and bars of one colour. Colours are numbers from 0 in the order of their first appearance.
fn merged(graph: &Graph, vertices: &[usize], bars: &[usize]) -> Graph {
    let mut to = Graph { title: graph.title.clone(), ..Graph::default() };
    for (vertex, colour) in graph.vertices.iter().zip(vertices) {
        match to.vertices.get_mut(*colour) {
            None => to.vertices.push(vertex.clone()),
            Some(into) => {
                into.classes += vertex.classes;
                into.nodes += vertex.nodes;
                into.notes.extend(vertex.notes.iter().cloned());
            }
        }
    }
    for (bar, colour) in graph.bars.iter().zip(bars) {
        match to.bars.get_mut(*colour) {
            None => to.bars.push(bar.clone()),
            Some(into) => {
                into.nets += bar.nets;
                into.notes.extend(bar.notes.iter().cloned());
            }
        }
    }
    let mut links: BTreeMap<(usize, usize), Link> = BTreeMap::new();
    for link in &graph.links {
        let (vertex, bar) = (vertices[link.vertex], bars[link.bar]);
        let into = links.entry((vertex, bar)).or_insert_with(|| Link { vertex, bar, ..link.clone() });
        into.status = into.status.max(link.status);
        into.exists |= link.exists;
        if into.label != link.label {
            into.label.clear();
        }
    }
    to.links = links.into_values().collect();
    to.switches = graph.switches.clone();
    for switch in &mut to.switches {
        switch.links = switch.links.iter().map(|(vertex, bar)| (vertices[*vertex], bars[*bar])).collect();
    }
    to
}

/// Merges switches with the same findings.
fn folded_switches(switches: &[SwitchVertex]) -> Vec<SwitchVertex> {
    let mut all: Vec<(u64, SwitchVertex)> = Vec::new();
    for switch in switches {
        match all.iter_mut().find(|(_, into)| (into.status, &into.tags) == (switch.status, &switch.tags)) {
            None => all.push((1, switch.clone())),
            Some((count, into)) => {
                *count += 1;
                into.interfaces += switch.interfaces;
                into.links.extend(&switch.links);
                into.notes.extend(switch.notes.iter().cloned());
            }
        }
    }
    let named = all.into_iter().map(|(count, switch)| match count {
        1 => switch,
        _ => SwitchVertex { name: format!("{} and {} more", switch.name, count - 1), ..switch },
    });
    named.collect()
}
