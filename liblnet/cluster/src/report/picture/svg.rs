//! The picture as SVG.

use super::graph::{Graph, Role, Status};
use super::layout::{Drawing, LEGEND_LINE, LINE, Rect, layout};
use super::style::{self, MARGIN, Sample};
use super::text::{self, Look, TextLine};
use crate::xml::escaped;
use std::fmt::{self, Write};

/// Writes the graph as one SVG file.
pub(super) fn to_svg(graph: &Graph) -> String {
    let drawing = layout(graph);
    let mut svg = String::new();
    // Writing to a string cannot fail.
    let _written = write(&mut svg, graph, &drawing);
    svg
}

fn write(svg: &mut String, graph: &Graph, drawing: &Drawing) -> fmt::Result {
    let Drawing { width, height, .. } = *drawing;
    let title = escaped(&graph.title);
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"graphics-document document\" aria-labelledby=\"title\">"
    )?;
    writeln!(svg, "<title id=\"title\">Cluster: {title}</title>")?;
    writeln!(svg, "<style>{}</style>", style::RULES)?;
    writeln!(svg, "<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>")?;
    writeln!(svg, "<text class=\"title\" x=\"{MARGIN}\" y=\"30\">{title}</text>")?;
    links(svg, graph, drawing)?;
    bars(svg, graph, drawing)?;
    ends_of_links(svg, graph, drawing)?;
    vertices(svg, graph, drawing)?;
    switches(svg, graph, drawing)?;
    legend(svg, drawing)?;
    writeln!(svg, "</svg>")
}

/// Writes the lines. Bars are drawn above those that pass.
fn links(svg: &mut String, graph: &Graph, drawing: &Drawing) -> fmt::Result {
    for it in &drawing.links {
        let link = &graph.links[it.link];
        let class = style::word(link.status);
        writeln!(svg, "<path class=\"{class}\" d=\"M{} {}V{}\"/>", it.x, it.from, it.to)?;
    }
    Ok(())
}

fn bars(svg: &mut String, graph: &Graph, drawing: &Drawing) -> fmt::Result {
    for it in &drawing.bars {
        let bar = &graph.bars[it.bar];
        let class = match bar.status {
            Status::Sound => "net",
            Status::Single => "net-single",
            Status::Broken => "net-broken",
        };
        let lines = text::bar_lines(bar);
        open(svg, &format!("net {}", spoken(&lines)), &bar.notes)?;
        let Rect { x, y, width, height } = it.rect;
        writeln!(
            svg,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"3\"/>"
        )?;
        texts(svg, &lines, it.label.x, it.label.y)?;
        writeln!(svg, "</g>")?;
    }
    Ok(())
}

/// Writes the points where lines end at bars, and the labels of the lines. Where two lines meet, the worse one is above.
fn ends_of_links(svg: &mut String, graph: &Graph, drawing: &Drawing) -> fmt::Result {
    let mut links: Vec<_> = drawing.links.iter().collect();
    links.sort_by_key(|it| graph.links[it.link].status);
    for it in links {
        let link = &graph.links[it.link];
        let (vertex, bar) = (&graph.vertices[link.vertex], &graph.bars[link.bar]);
        let state = match (link.status, link.exists) {
            (_, false) => ", missing",
            (Status::Sound, _) => "",
            (Status::Single, _) => ", single point of failure",
            (Status::Broken, _) => ", broken",
        };
        let label = if link.label.is_empty() { String::new() } else { format!(": {}", link.label) };
        open(svg, &format!("{} on {}{label}{state}", vertex.name, bar.name), &[])?;
        let class = style::word(link.status);
        if link.exists {
            writeln!(svg, "<circle class=\"at-{class}\" cx=\"{}\" cy=\"{}\" r=\"6\"/>", it.x, it.to)?;
        } else {
            let (x, y) = (it.x, it.to);
            // A cross beside the bar: the line does not arrive.
            let y = if it.from < it.to { y - 14 } else { y + 14 };
            let (left, right, top, bottom) = (x - 5, x + 5, y - 5, y + 5);
            writeln!(
                svg,
                "<path class=\"sound {class}\" style=\"stroke-dasharray:none\" d=\"M{left} {top}L{right} {bottom}M{left} {bottom}L{right} {top}\"/>"
            )?;
        }
        if let Some(Rect { x, y, width, height }) = it.label {
            writeln!(
                svg,
                "<rect class=\"label {class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"9\"/>"
            )?;
            let shown = escaped(&text::label(link));
            writeln!(svg, "<text class=\"small\" x=\"{}\" y=\"{}\">{shown}</text>", it.x, y + 13)?;
        }
        writeln!(svg, "</g>")?;
    }
    Ok(())
}

fn vertices(svg: &mut String, graph: &Graph, drawing: &Drawing) -> fmt::Result {
    for it in &drawing.boxes {
        let vertex = &graph.vertices[it.index];
        let (class, corner) = look_of(vertex.role);
        let lines = text::vertex_lines(graph, it.index);
        let name = format!("{}: {}", vertex.name, spoken(&lines[1..]));
        place_box(
            svg,
            &format!("{class} {}", style::word(vertex.status)),
            corner,
            it.rect,
            &lines,
            &name,
            &vertex.notes,
        )?;
    }
    Ok(())
}

fn switches(svg: &mut String, graph: &Graph, drawing: &Drawing) -> fmt::Result {
    if let Some(first) = drawing.switches.first() {
        writeln!(svg, "<text class=\"name\" x=\"{MARGIN}\" y=\"{}\">Switches</text>", first.rect.y - 12)?;
    }
    for it in &drawing.switches {
        let switch = &graph.switches[it.index];
        let lines = text::switch_lines(graph, it.index);
        let name = format!("switch {}: {}", switch.name, spoken(&lines[1..]));
        let class = format!("switch {}", style::word(switch.status));
        place_box(svg, &class, 2, it.rect, &lines, &name, &switch.notes)?;
    }
    Ok(())
}

/// The class in the rules, and the radius of the corners.
const fn look_of(role: Role) -> (&'static str, u32) {
    match role {
        Role::End => ("end", 3),
        Role::Router => ("router", 14),
        Role::Missing => ("missing", 3),
    }
}

fn place_box(
    svg: &mut String,
    class: &str,
    corner: u32,
    rect: Rect,
    lines: &[TextLine],
    name: &str,
    notes: &[String],
) -> fmt::Result {
    open(svg, name, notes)?;
    let Rect { x, y, width, height } = rect;
    writeln!(
        svg,
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{corner}\"/>"
    )?;
    texts(svg, lines, x + 10, y + 4)?;
    writeln!(svg, "</g>")
}

/// Opens a group with a tooltip, which is also its name for those who do not see it.
fn open(svg: &mut String, name: &str, notes: &[String]) -> fmt::Result {
    let text: Vec<&str> = std::iter::once(name).chain(notes.iter().map(String::as_str)).collect();
    writeln!(svg, "<g role=\"graphics-symbol img\"><title>{}</title>", escaped(&text.join("\n")))
}

fn texts(svg: &mut String, lines: &[TextLine], x: u32, top: u32) -> fmt::Result {
    for (at, (look, text)) in (0..).zip(lines) {
        let class = match look {
            Look::Name => "name",
            Look::Detail => "detail",
            Look::Tag(tag) => tag.severity.word(),
        };
        let y = top + LINE * at + 13;
        writeln!(svg, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", escaped(text))?;
    }
    Ok(())
}

/// Lines of text as one, without signs.
fn spoken(lines: &[TextLine]) -> String {
    let text = |(look, text): &TextLine| match look {
        Look::Tag(tag) => tag.id.to_owned(),
        Look::Name | Look::Detail => text.clone(),
    };
    lines.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn legend(svg: &mut String, drawing: &Drawing) -> fmt::Result {
    let (top, right) = (drawing.legend, drawing.width - MARGIN);
    writeln!(svg, "<path class=\"rule\" d=\"M{MARGIN} {top}H{right}\"/>")?;
    for (row, entries) in (1..).zip(style::legend_rows(drawing.width)) {
        let y = top + LEGEND_LINE * row + 4;
        for (x, sample, meaning) in entries {
            let (middle, up) = (y - 4, y - 11);
            let rect = |class: &str, corner: u32| {
                format!(
                    "<rect class=\"{class}\" x=\"{x}\" y=\"{up}\" width=\"28\" height=\"13\" rx=\"{corner}\"/>"
                )
            };
            let mark = match sample {
                Sample::Net => format!(
                    "<rect class=\"net\" x=\"{x}\" y=\"{}\" width=\"28\" height=\"8\" rx=\"3\"/>",
                    y - 8
                ),
                Sample::Nodes => rect("end sound", 2),
                Sample::Router => rect("router sound", 6),
                Sample::Missing => rect("missing broken", 2),
                Sample::Line(status) => {
                    format!("<path class=\"{}\" d=\"M{x} {middle}h28\"/>", style::word(status))
                }
                Sample::Sign(severity) => format!(
                    "<text class=\"{}\" x=\"{}\" y=\"{y}\">{}</text>",
                    severity.word(),
                    x,
                    style::sign(severity)
                ),
            };
            writeln!(
                svg,
                "{mark}<text class=\"detail\" x=\"{}\" y=\"{y}\">{meaning}</text>",
                x + sample.width()
            )?;
        }
    }
    Ok(())
}
