//! Boxes and lines with coordinates, in CSS pixels from the top left corner.
//!
//! Nets are horizontal bars, one below the other. Each box stands in a gap between bars, and its lines run vertically to its bars. Boxes share
//! a column only if no line of one runs through the gap of the other, so lines cross nothing but bars.

use super::graph::{Graph, Role};
use super::style::{self, MARGIN};
use super::text::{bar_lines, label_width, switch_lines, text_width, vertex_lines};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The least width of a picture.
const MIN_WIDTH: u32 = 780;
/// The height of the title with the space below.
const TITLE: u32 = 52;
/// The height of a line of text.
pub(super) const LINE: u32 = 18;
/// The height of a row of the legend.
pub(super) const LEGEND_LINE: u32 = 23;
/// The space between the text of a box and its edge.
const PADDING: u32 = 10;
/// The least width of a box.
const MIN_BOX: u32 = 96;
/// The space between columns.
const COLUMN_SPACE: u32 = 26;
/// The thickness of a bar.
const BAR: u32 = 12;
/// The height between a box and the next bar, where labels of links are.
const LINK: u32 = 50;
/// The height of a gap without boxes.
const MIN_GAP: u32 = 36;
/// The height of the label of a link.
const LABEL: u32 = 18;

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rect {
    /// The left edge.
    pub x: u32,
    /// The upper edge.
    pub y: u32,
    /// The width.
    pub width: u32,
    /// The height.
    pub height: u32,
}

impl Rect {
    /// Whether two rectangles have a part in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }

    /// The right edge.
    pub const fn right(&self) -> u32 {
        self.x + self.width
    }

    /// The lower edge.
    pub const fn bottom(&self) -> u32 {
        self.y + self.height
    }

    /// The horizontal middle.
    pub const fn middle(&self) -> u32 {
        self.x + self.width / 2
    }
}

/// A bar of the drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedBar {
    /// The index in [`Graph::bars`].
    pub bar: usize,
    /// The bar itself.
    pub rect: Rect,
    /// The texts at its left.
    pub label: Rect,
}

/// A box of the drawing: a vertex or a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedBox {
    /// The index in [`Graph::vertices`] or [`Graph::switches`].
    pub index: usize,
    /// The box.
    pub rect: Rect,
}

/// A vertical line of the drawing, from a box to a bar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedLink {
    /// The index in [`Graph::links`].
    pub link: usize,
    /// The horizontal position.
    pub x: u32,
    /// The edge of the box.
    pub from: u32,
    /// The middle of the bar.
    pub to: u32,
    /// The label, if there is one.
    pub label: Option<Rect>,
}

/// The picture with coordinates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// The width.
    pub width: u32,
    /// The height.
    pub height: u32,
    /// The bars, from the top.
    pub bars: Vec<PlacedBar>,
    /// The boxes of vertices, in their order.
    pub boxes: Vec<PlacedBox>,
    /// The lines.
    pub links: Vec<PlacedLink>,
    /// The boxes of switches.
    pub switches: Vec<PlacedBox>,
    /// The upper edge of the legend.
    pub legend: u32,
}

impl Drawing {
    /// All areas that must not overlap: bars and their names, boxes, labels of links.
    pub fn areas(&self) -> Vec<Rect> {
        let bars = self.bars.iter().flat_map(|bar| [bar.rect, bar.label]);
        let boxes = self.boxes.iter().chain(&self.switches).map(|it| it.rect);
        let labels = self.links.iter().filter_map(|link| link.label);
        bars.chain(boxes).chain(labels).collect()
    }
}

/// A box before its column is known.
struct Stand {
    vertex: usize,
    /// The number of bars above.
    gap: usize,
    /// The links of the vertex to bars above, and below; each from the top.
    up: Vec<usize>,
    down: Vec<usize>,
    width: u32,
    height: u32,
}

/// Places a graph.
pub fn layout(graph: &Graph) -> Drawing {
    let order = order_of_bars(graph);
    let stands = stands(graph, &order);
    let columns = columns(&stands, &order, graph);
    let mut widths = vec![0; columns.iter().max().map_or(0, |last| last + 1)];
    for (stand, column) in stands.iter().zip(&columns) {
        widths[*column] = stand.width.max(widths[*column]);
    }
    let label_width = graph.bars.iter().map(|bar| text_width(&bar_lines(bar))).max().unwrap_or(0);
    let left = MARGIN + label_width + PADDING;
    let right = left + COLUMN_SPACE + widths.iter().map(|width| width + COLUMN_SPACE).sum::<u32>();
    let width = (right + MARGIN).max(MIN_WIDTH);

    let mut drawing = Drawing { width, ..Drawing::default() };
    let gaps = gaps(&stands, graph, &order);
    let mut y = TITLE;
    let mut tops = Vec::new();
    for (gap, height) in gaps.iter().enumerate() {
        tops.push(y);
        y += height;
        if let Some(bar) = order.get(gap) {
            let rect = Rect { x: left, y, width: width - MARGIN - left, height: BAR };
            let lines = bar_lines(&graph.bars[*bar]);
            let label = Rect { x: MARGIN, y: y - 3, width: label_width, height: LINE * number(lines.len()) };
            drawing.bars.push(PlacedBar { bar: *bar, rect, label });
            y += BAR;
        }
    }
    for (stand, column) in stands.iter().zip(&columns) {
        let before: u32 = widths[..*column].iter().map(|width| width + COLUMN_SPACE).sum();
        let x = left + COLUMN_SPACE + before + (widths[*column] - stand.width) / 2;
        let free = gaps[stand.gap] - stand.height;
        let above = match stand.gap {
            0 if order.is_empty() => 0,
            0 => free - LINK,
            last if last == order.len() => LINK,
            _ => free / 2,
        };
        let rect = Rect { x, y: tops[stand.gap] + above, width: stand.width, height: stand.height };
        place_links(&mut drawing, graph, stand, rect);
        drawing.boxes.push(PlacedBox { index: stand.vertex, rect });
    }
    drawing.boxes.sort_by_key(|it| it.index);
    drawing.links.sort_by_key(|it| it.link);
    y = place_switches(&mut drawing, graph, y + PADDING);
    drawing.legend = y + PADDING;
    drawing.height =
        drawing.legend + PADDING + LEGEND_LINE * number(style::legend_rows(width).len()) + PADDING;
    drawing
}

/// The order of the bars: each next to the one with which it has the most vertices in common, so that lines are short.
fn order_of_bars(graph: &Graph) -> Vec<usize> {
    let mut vertices_of: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); graph.bars.len()];
    for link in &graph.links {
        vertices_of[link.bar].insert(link.vertex);
    }
    let mut left: Vec<usize> = (0..graph.bars.len()).collect();
    let mut order: Vec<usize> = Vec::new();
    while !left.is_empty() {
        let common = |bar: usize, others: &[usize]| -> usize {
            others.iter().map(|other| vertices_of[bar].intersection(&vertices_of[*other]).count()).sum()
        };
        let last = order.last().map_or(&[][..], std::slice::from_ref);
        let best = (0..left.len())
            .max_by_key(|at| (common(left[*at], last), common(left[*at], &order), Reverse(*at)));
        let Some(best) = best else { break };
        order.push(left.remove(best));
    }
    order
}

fn stands(graph: &Graph, order: &[usize]) -> Vec<Stand> {
    let mut level = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, bar)| level[*bar] = at);
    let mut links_of: Vec<Vec<usize>> = vec![Vec::new(); graph.vertices.len()];
    for (index, link) in graph.links.iter().enumerate() {
        links_of[link.vertex].push(index);
    }
    let mut below = false;
    let mut stands = Vec::new();
    for (index, vertex) in graph.vertices.iter().enumerate() {
        let mut links = std::mem::take(&mut links_of[index]);
        links.sort_by_key(|link| level[graph.links[*link].bar]);
        let levels = links.iter().map(|link| level[graph.links[*link].bar]);
        let gap = match (levels.clone().min(), levels.max()) {
            (Some(first), Some(last)) if first < last && vertex.role != Role::End => {
                (first + last).div_ceil(2)
            }
            // Ends stand outside of their nets, in the nearer half; those in the middle by turns.
            (Some(first), Some(last)) => match (first + last + 1).cmp(&order.len()) {
                std::cmp::Ordering::Less => first,
                std::cmp::Ordering::Greater => last + 1,
                std::cmp::Ordering::Equal => {
                    below = !below;
                    if below { first } else { last + 1 }
                }
            },
            _ => 0,
        };
        let (up, down): (Vec<usize>, Vec<usize>) =
            links.into_iter().partition(|link| level[graph.links[*link].bar] < gap);
        let lines = vertex_lines(graph, index);
        let side = |links: &[usize]| {
            let widest = links.iter().map(|link| label_width(&graph.links[*link])).max().unwrap_or(0);
            widest * number(links.len())
        };
        let width = (text_width(&lines) + 2 * PADDING).max(MIN_BOX).max(side(&up)).max(side(&down));
        let height = LINE * number(lines.len()) + PADDING;
        stands.push(Stand { vertex: index, gap, up, down, width, height });
    }
    stands
}

/// The column of each stand: the first one whose gaps are free.
fn columns(stands: &[Stand], order: &[usize], graph: &Graph) -> Vec<usize> {
    let mut level = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, bar)| level[*bar] = at);
    let mut used: Vec<Vec<bool>> = Vec::new();
    let mut columns = Vec::new();
    for stand in stands {
        let of = |link: &usize| level[graph.links[*link].bar];
        let first = stand.up.iter().map(|link| of(link) + 1).min().unwrap_or(stand.gap);
        let last = stand.down.iter().map(of).max().unwrap_or(stand.gap);
        let is_free = |column: &Vec<bool>| !column[first..=last].iter().any(|used| *used);
        let at = used.iter().position(is_free).unwrap_or_else(|| {
            used.push(vec![false; order.len() + 1]);
            used.len() - 1
        });
        used[at][first..=last].fill(true);
        columns.push(at);
    }
    columns
}

/// The heights of the gaps: above the first bar, between bars, below the last one.
fn gaps(stands: &[Stand], graph: &Graph, order: &[usize]) -> Vec<u32> {
    let height = |gap: usize| {
        let tallest = stands.iter().filter(|stand| stand.gap == gap).map(|stand| stand.height).max();
        let sides = u32::from(gap > 0) + u32::from(gap < order.len());
        let of_boxes = tallest.map_or(0, |tallest| tallest + sides * LINK);
        let bar_above = gap.checked_sub(1).and_then(|bar| order.get(bar));
        let of_names = bar_above.map_or(0, |bar| number(bar_lines(&graph.bars[*bar]).len()) * LINE);
        let least = if gap == 0 || gap == order.len() { PADDING } else { MIN_GAP };
        of_boxes.max(of_names).max(least)
    };
    (0..=order.len()).map(height).collect()
}

fn place_links(drawing: &mut Drawing, graph: &Graph, stand: &Stand, rect: Rect) {
    for (links, is_up) in [(&stand.up, true), (&stand.down, false)] {
        let count = number(links.len()).max(1);
        for (at, link) in (0..).zip(links) {
            let x = rect.x + rect.width * (2 * at + 1) / (2 * count);
            let bar = drawing.bars.iter().find(|it| it.bar == graph.links[*link].bar);
            let to = bar.map_or(0, |it| it.rect.y + BAR / 2);
            let from = if is_up { rect.y } else { rect.bottom() };
            let width = label_width(&graph.links[*link]).saturating_sub(4);
            let y = if is_up { rect.y - 12 - LABEL } else { rect.bottom() + 12 };
            let label = (width > 0).then(|| Rect { x: x - width / 2, y, width, height: LABEL });
            drawing.links.push(PlacedLink { link: *link, x, from, to, label });
        }
    }
}

/// Places the switches in rows from `top`, and returns the end of the last row.
fn place_switches(drawing: &mut Drawing, graph: &Graph, top: u32) -> u32 {
    if graph.switches.is_empty() {
        return top;
    }
    let (mut x, mut y, mut row) = (MARGIN, top + LINE + PADDING, 0);
    for index in 0..graph.switches.len() {
        let lines = switch_lines(graph, index);
        let width = (text_width(&lines) + 2 * PADDING).max(MIN_BOX);
        let height = LINE * number(lines.len()) + PADDING;
        if x > MARGIN && x + width + MARGIN > drawing.width {
            (x, y, row) = (MARGIN, y + row + PADDING, 0);
        }
        drawing.switches.push(PlacedBox { index, rect: Rect { x, y, width, height } });
        x += width + PADDING;
        row = height.max(row);
    }
    y + row + PADDING
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
