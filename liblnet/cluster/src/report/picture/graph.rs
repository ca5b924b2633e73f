//! Vertices and links, without coordinates. Both forms of the picture are made from them.

use crate::checks::{FindingKind, Severity};
use std::collections::BTreeSet;

/// The state of a part of the picture; of several, the greatest counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Nothing is wrong with it.
    #[default]
    Sound,
    /// The loss of the part cuts nodes off.
    Single,
    /// The part does not work, or an error is about it.
    Broken,
}

/// A finding at a part of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag {
    /// The severity.
    pub severity: Severity,
    /// The stable name of the kind.
    pub id: &'static str,
}

/// A net, or several nets that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// The name of the first net.
    pub name: String,
    /// The number of nets.
    pub nets: u64,
    /// The state.
    pub status: Status,
    /// The findings about the net itself.
    pub tags: BTreeSet<Tag>,
    /// The texts of these findings.
    pub notes: Vec<String>,
}

/// The part that a vertex plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Nodes that send and receive messages of their own.
    End,
    /// Nodes that forward messages, or that routes name as gateways.
    Router,
    /// Something that is not there: a gateway that no node is, or a path that would be needed.
    Missing,
}

/// A class of nodes, several classes that are alike, or something that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vertex {
    /// The name of the first class, or of what is missing.
    pub name: String,
    /// The part that it plays.
    pub role: Role,
    /// The number of classes, or of missing things.
    pub classes: u64,
    /// The number of nodes; 0 for what is missing.
    pub nodes: u64,
    /// A text below the name, for what is missing.
    pub detail: String,
    /// The state.
    pub status: Status,
    /// The findings about it.
    pub tags: BTreeSet<Tag>,
    /// The texts of these findings.
    pub notes: Vec<String>,
}

/// The interfaces of a vertex on a net, or the place where one is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The index of the vertex.
    pub vertex: usize,
    /// The index of the bar.
    pub bar: usize,
    /// The state. Broken links are those of messages that go nowhere.
    pub status: Status,
    /// Whether the nodes are on the net.
    pub exists: bool,
    /// The names of the interfaces, and their switches.
    pub label: String,
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchVertex {
    /// The label.
    pub name: String,
    /// The number of interfaces that are connected to it.
    pub interfaces: u64,
    /// The vertices and bars whose links go through it.
    pub links: BTreeSet<(usize, usize)>,
    /// The state.
    pub status: Status,
    /// The findings about it.
    pub tags: BTreeSet<Tag>,
    /// The texts of these findings.
    pub notes: Vec<String>,
}

/// The picture without coordinates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// A summary.
    pub title: String,
    /// The nets, in the order of the picture.
    pub bars: Vec<Bar>,
    /// The classes, routers, and what is missing.
    pub vertices: Vec<Vertex>,
    /// At most one link for a vertex and a bar.
    pub links: Vec<Link>,
    /// The switches.
    pub switches: Vec<SwitchVertex>,
}

impl Vertex {
    /// The text below the name.
    pub fn detail(&self) -> String {
        let (nodes, classes) = (self.nodes, self.classes);
        let of_classes = if classes > 1 { format!(" in {classes} classes") } else { String::new() };
        match self.role {
            Role::Missing if classes > 1 => format!("and {} like it", classes - 1),
            Role::Missing => self.detail.clone(),
            Role::Router if nodes == 1 => "router".to_owned(),
            Role::Router => format!("{nodes} routers{of_classes}"),
            Role::End if nodes == 1 => "1 node".to_owned(),
            Role::End => format!("{nodes} nodes{of_classes}"),
        }
    }

    /// Something that is not there, with the finding about it.
    pub(super) fn missing(name: String, detail: String, kind: FindingKind, note: String) -> Self {
        let row = kind.row();
        Self {
            name,
            role: Role::Missing,
            classes: 1,
            nodes: 0,
            detail,
            status: Status::Broken,
            tags: BTreeSet::from([Tag { severity: row.severity, id: row.id }]),
            notes: vec![note],
        }
    }
}

impl SwitchVertex {
    /// The text below the name.
    pub fn detail(&self) -> String {
        match self.interfaces {
            1 => "1 interface".to_owned(),
            more => format!("{more} interfaces"),
        }
    }
}
