//! The picture of a cluster: nets as bars, classes of nodes and routers as boxes, and findings where they belong.
//!
//! - `build`: from the cluster and its findings to a [`Graph`], vertices and links without coordinates. Both forms are made from it.
//! - `fold`: like vertices of large clusters become one.
//! - `layout`, `text`: boxes and lines with coordinates, and their texts.
//! - `svg`, `dot`, `style`: the two forms, and their looks.
//!
//! The same cluster and findings give the same bytes. Cost: classes times nets to make the graph, vertices squared to lay it out.

mod build;
mod dot;
mod fold;
mod graph;
mod layout;
mod style;
mod svg;
mod text;

pub use graph::{Bar, Graph, Link, Role, Status, SwitchVertex, Tag, Vertex};
pub use layout::{Drawing, PlacedBar, PlacedBox, PlacedLink, Rect, layout};

use crate::checks::Finding;
use crate::model::Cluster;
use std::path::Path;

/// A form of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One SVG file, without anything from elsewhere.
    Svg,
    /// The language of Graphviz.
    Dot,
}

impl Form {
    /// The form that the suffix of a file names: `.svg`, or `.dot` or `.gv`.
    pub fn of_file(file: &Path) -> Option<Self> {
        match file.extension()?.to_str()? {
            "svg" => Some(Self::Svg),
            "dot" | "gv" => Some(Self::Dot),
            _ => None,
        }
    }
}

/// The graph of a cluster with its findings, folded to a size that can be read.
pub fn graph(cluster: &Cluster, findings: &[Finding]) -> Graph {
    fold::fold(build::build(cluster, findings))
}

/// The picture as the text of a file.
pub fn draw(form: Form, cluster: &Cluster, findings: &[Finding]) -> String {
    let graph = graph(cluster, findings);
    match form {
        Form::Svg => svg::to_svg(&graph),
        Form::Dot => dot::to_dot(&graph),
    }
}
