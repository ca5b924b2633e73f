//! The texts of the picture, and the room that they need.

use super::graph::{Bar, Graph, Link, Tag};
use super::style::{self, Font};
use crate::text::shortened;
use std::collections::BTreeSet;

/// The most characters of names and of labels of links.
const MAX_NAME: usize = 26;
const MAX_LABEL: usize = 22;
/// The most findings that a box names; it says how many more there are.
const MAX_TAGS: usize = 4;

/// The look of a line of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Name,
    Detail,
    Tag(Tag),
}

/// A line of text in a box or at a bar.
pub(super) type TextLine = (Look, String);

/// The texts of a box.
pub(super) fn vertex_lines(graph: &Graph, index: usize) -> Vec<TextLine> {
    let vertex = &graph.vertices[index];
    let name = match vertex.classes {
        0 | 1 => shortened(&vertex.name, MAX_NAME),
        more => format!("{} and {} more", shortened(&vertex.name, MAX_NAME - 12), more - 1),
    };
    let mut lines = vec![(Look::Name, name), (Look::Detail, shortened(&vertex.detail(), MAX_NAME + 4))];
    lines.extend(tag_lines(&vertex.tags));
    lines
}

/// The texts at a bar.
pub(super) fn bar_lines(bar: &Bar) -> Vec<TextLine> {
    let mut lines = vec![(Look::Name, bar.name.clone())];
    if bar.nets > 1 {
        lines.push((Look::Detail, format!("and {} more nets", bar.nets - 1)));
    }
    lines.extend(tag_lines(&bar.tags));
    lines
}

/// The texts of a switch.
pub(super) fn switch_lines(graph: &Graph, index: usize) -> Vec<TextLine> {
    let switch = &graph.switches[index];
    let mut lines = vec![(Look::Name, shortened(&switch.name, MAX_NAME)), (Look::Detail, switch.detail())];
    lines.extend(tag_lines(&switch.tags));
    lines
}

/// The label of a link, as it is shown.
pub(super) fn label(link: &Link) -> String {
    shortened(&link.label, MAX_LABEL)
}

fn tag_lines(tags: &BTreeSet<Tag>) -> Vec<TextLine> {
    let shown = if tags.len() > MAX_TAGS { MAX_TAGS - 1 } else { tags.len() };
    let line = |tag: &Tag| (Look::Tag(*tag), format!("{} {}", style::sign(tag.severity), tag.id));
    let mut lines: Vec<TextLine> = tags.iter().take(shown).map(line).collect();
    if tags.len() > shown {
        lines.push((Look::Detail, format!("and {} more", tags.len() - shown)));
    }
    lines
}

/// The space of a label on its link, with what keeps it apart from the next one; 0 without a label.
pub(super) fn label_width(link: &Link) -> u32 {
    match style::width(&label(link), Font::Small) {
        0 => 0,
        width => width + 16,
    }
}

/// The width of the widest line.
pub(super) fn text_width(lines: &[TextLine]) -> u32 {
    let width = |(look, text): &TextLine| {
        let font = if *look == Look::Name { Font::Bold } else { Font::Plain };
        style::width(text, font)
    };
    lines.iter().map(width).max().unwrap_or(0)
}
