//! The picture in the language of Graphviz.

use super::graph::{Graph, Role, Status, Tag};
use super::layout::layout;
use super::style;
use std::collections::BTreeSet;
use std::fmt::{self, Write};

/// Writes the graph for `dot`.
pub(super) fn to_dot(graph: &Graph) -> String {
    let mut dot = String::new();
    // Writing to a string cannot fail.
    let _written = write(&mut dot, graph);
    dot
}

fn write(dot: &mut String, graph: &Graph) -> fmt::Result {
    writeln!(dot, "graph cluster {{")?;
    writeln!(
        dot,
        "  graph [label={}, labelloc=t, fontname=\"sans-serif\", ranksep=0.7]",
        quoted(&graph.title)
    )?;
    writeln!(dot, "  node [shape=box, fontname=\"sans-serif\", fontsize=11]")?;
    writeln!(dot, "  edge [fontname=\"sans-serif\", fontsize=9]")?;
    for (index, bar) in graph.bars.iter().enumerate() {
        let name = match bar.nets {
            0 | 1 => bar.name.clone(),
            more => format!("{}\nand {} more nets", bar.name, more - 1),
        };
        let fill = if bar.status == Status::Sound { style::NET } else { style::colour(bar.status) };
        writeln!(
            dot,
            "  net{index} [label={}, style=filled, width=4, height=0.3, color=\"{fill}\", fillcolor=\"{fill}\", fontcolor=\"#ffffff\", tooltip={}]",
            quoted(&labelled(&name, &bar.tags)),
            quoted(&tooltip(&bar.name, &bar.notes)),
        )?;
    }
    for (index, vertex) in graph.vertices.iter().enumerate() {
        let style = match vertex.role {
            Role::End => "solid",
            Role::Router => "rounded",
            Role::Missing => "dashed",
        };
        let name = match vertex.classes {
            0 | 1 => vertex.name.clone(),
            more => format!("{} and {} more", vertex.name, more - 1),
        };
        let label = labelled(&format!("{name}\n{}", vertex.detail()), &vertex.tags);
        box_of(
            dot,
            &format!("class{index}"),
            &label,
            style,
            vertex.status,
            &tooltip(&vertex.name, &vertex.notes),
        )?;
    }
    for (index, switch) in graph.switches.iter().enumerate() {
        let label = labelled(&format!("{}\nswitch, {}", switch.name, switch.detail()), &switch.tags);
        box_of(
            dot,
            &format!("switch{index}"),
            &label,
            "diagonals",
            switch.status,
            &tooltip(&switch.name, &switch.notes),
        )?;
    }
    // Graphviz puts the first end of an edge above the other one, so the nets are in the same order as in the SVG.
    let drawing = layout(graph);
    for nets in drawing.bars.windows(2) {
        if let [above, below] = nets {
            writeln!(dot, "  net{} -- net{} [style=invis]", above.bar, below.bar)?;
        }
    }
    for placed in &drawing.links {
        let link = &graph.links[placed.link];
        let (vertex, bar) = (link.vertex, link.bar);
        let ends = match placed.from < placed.to {
            true => format!("class{vertex} -- net{bar}"),
            false => format!("net{bar} -- class{vertex}"),
        };
        writeln!(dot, "  {ends} [label={}{}]", quoted(&link.label), look(link.status))?;
    }
    for (index, switch) in graph.switches.iter().enumerate() {
        let vertices: BTreeSet<usize> = switch.links.iter().map(|(vertex, _)| *vertex).collect();
        for vertex in vertices {
            writeln!(
                dot,
                "  class{vertex} -- switch{index} [style=dotted, color=\"{}\"]",
                style::colour(switch.status)
            )?;
        }
    }
    writeln!(dot, "}}")
}

fn box_of(
    dot: &mut String,
    id: &str,
    label: &str,
    style: &str,
    status: Status,
    tooltip: &str,
) -> fmt::Result {
    let width = if status == Status::Sound { 1 } else { 2 };
    writeln!(
        dot,
        "  {id} [label={}, style={style}, color=\"{}\", penwidth={width}, tooltip={}]",
        quoted(label),
        style::colour(status),
        quoted(tooltip)
    )
}

fn look(status: Status) -> String {
    let colour = style::colour(status);
    match status {
        Status::Sound => format!(", color=\"{colour}\""),
        Status::Single => format!(", color=\"{colour}\", penwidth=2"),
        Status::Broken => format!(", color=\"{colour}\", penwidth=2, style=dashed"),
    }
}

fn labelled(name: &str, tags: &BTreeSet<Tag>) -> String {
    tags.iter().fold(name.to_owned(), |text, tag| format!("{text}\n{} {}", style::sign(tag.severity), tag.id))
}

fn tooltip(name: &str, notes: &[String]) -> String {
    notes.iter().fold(name.to_owned(), |text, note| format!("{text}\n{note}"))
}

/// A text in quotation marks. Graphviz takes a backslash with the next character for an escape.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\0' => out.push('?'),
            _ => out.push(character),
        }
    }
    out + "\""
}
