//! The changes between two configurations of a cluster, and the nodes that they concern.
//!
//! [`compare`] returns a [`Comparison`], which is data: nodes that come and go, changes of configuration, changes of paths between classes,
//! findings that appear and vanish. [`to_text`] shows it to people, [`Comparison::to_json`] to programs.
//!
//! Cost: nodes with a file each, and pairs of classes times routes; a class of a topology file costs the same whatever the number of its nodes.

mod changes;
mod findings;
mod nodes;
mod paths;
mod text;

pub use changes::{Change, ClassChanges};
pub use findings::FindingChange;
pub use paths::{PathChange, Reached};
pub use text::to_text;

use crate::model::Cluster;
use nodes::{Movement, movements};
use serde::Serialize;

/// The JSON Schema of comparisons.
pub const SCHEMA: &str = include_str!("../../../../docs/schema/cluster-compare.schema.json");

/// The changes between two configurations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Nodes that only the new configuration has.
    pub added: Vec<NodesOf>,
    /// Nodes that only the old configuration has.
    pub gone: Vec<NodesOf>,
    /// The number of nodes that both have, and whose configuration is the same.
    pub unchanged: u64,
    /// Changes of the configuration of nodes that both have.
    pub changed: Vec<ClassChanges>,
    /// Pairs of classes whose paths appear, disappear or change. Those of nodes that are added or gone are not in it.
    pub paths: Vec<PathChange>,
    /// Findings of the check that only the new configuration has, the worst first.
    pub findings_new: Vec<FindingChange>,
    /// Findings of the check that only the old configuration has, the worst first.
    pub findings_gone: Vec<FindingChange>,
}

/// Some nodes of a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodesOf {
    /// The name of the class.
    pub class: String,
    /// The names of the first of the nodes, at most [`MAX_NAMES`].
    pub nodes: Vec<String>,
    /// The number of the nodes.
    pub count: u64,
}

/// The most names of nodes that are shown.
pub const MAX_NAMES: usize = 4;

impl Comparison {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        let Self { added, gone, changed, paths, findings_new, findings_gone, unchanged: _ } = self;
        added.is_empty()
            && gone.is_empty()
            && changed.is_empty()
            && paths.is_empty()
            && findings_new.is_empty()
            && findings_gone.is_empty()
    }

    /// Whether the new configuration is worse: a pair of classes loses its path, or an error appears.
    pub fn is_worse(&self) -> bool {
        self.paths.iter().any(|path| path.new == Reached::No)
            || self.findings_new.iter().any(|its| its.is_error())
    }

    /// The comparison as JSON, with a line end behind it.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }
}

/// Compares two configurations. Nodes are the same if they have the same name: that of their file, or that of their class in a topology
/// file with the same number.
pub fn compare(old: &Cluster, new: &Cluster) -> Comparison {
    let moved = movements(old, new);
    let mut comparison = Comparison { paths: paths::changes(old, new, &moved), ..Comparison::default() };
    for movement in &moved {
        match (movement.old, movement.new) {
            (Some(before), Some(after)) => {
                let classes = (old.classes.get(before), new.classes.get(after));
                let changes = match classes {
                    (Some(before), Some(after)) => changes::of(before, after, movement),
                    _ => Vec::new(),
                };
                match changes.is_empty() {
                    true => comparison.unchanged += movement.count,
                    false => {
                        let nodes = shown(new, after, movement);
                        comparison.changed.push(ClassChanges { nodes, changes });
                    }
                }
            }
            (None, Some(after)) => comparison.added.push(shown(new, after, movement)),
            (Some(before), None) => comparison.gone.push(shown(old, before, movement)),
            (None, None) => {}
        }
    }
    (comparison.findings_gone, comparison.findings_new) = findings::changes(old, new, &moved);
    comparison
}

fn shown(cluster: &Cluster, class: usize, movement: &Movement) -> NodesOf {
    let class = cluster.classes.get(class).map_or("", |class| class.name.as_str());
    NodesOf { class: class.to_owned(), nodes: movement.names.clone(), count: movement.count }
}
