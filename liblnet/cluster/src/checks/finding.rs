//! A finding.

use super::{FindingKind, Severity};
use crate::model::{Cluster, Element, NodeFile, NodeRef};
use crate::text::MAX_SHOWN;
use lnet_dlc::model::Place;
use std::path::PathBuf;

/// Something that is wrong with a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The kind, which is a row of the table.
    pub kind: FindingKind,
    /// The severity: that of the row, or another one where the finding has other consequences.
    pub severity: Severity,
    /// The indices of the classes that it is about.
    pub classes: Vec<usize>,
    /// The names of some nodes that it is about, at most [`MAX_SHOWN`].
    pub nodes: Vec<String>,
    /// The number of nodes that it is about.
    pub node_count: u64,
    /// The parts whose loss the finding is about; of interfaces, those of node 0 stand for all of the class. Empty for other findings.
    pub elements: Vec<Element>,
    /// The subjects besides the classes and the elements: NIDs, nets, gateways, settings, interfaces. Two findings with the same ones are
    /// one, whatever their words say about numbers of nodes. Empty where the classes say all.
    pub subjects: Vec<String>,
    /// The file that is to be looked at.
    pub file: PathBuf,
    /// The place in the file.
    pub place: Place,
    /// The finding in words.
    pub what: String,
    /// The reason for which it matters.
    pub why: String,
    /// The remedy.
    pub mend: String,
}

impl Finding {
    /// A finding about all nodes of some classes, with the severity and the remedy of its row. The place is in the file of the first class.
    pub(crate) fn new(
        kind: FindingKind,
        cluster: &Cluster,
        classes: &[usize],
        place: Place,
        what: String,
    ) -> Self {
        let row = kind.row();
        let about: Vec<_> = classes.iter().filter_map(|index| cluster.classes.get(*index)).collect();
        let mut nodes = Vec::new();
        for class in &about {
            let room = u64::try_from(MAX_SHOWN - nodes.len()).unwrap_or(0);
            nodes.extend((0..class.count.min(room)).map(|node| class.node_name(node)));
        }
        Self {
            kind,
            severity: row.severity,
            classes: classes.to_vec(),
            nodes,
            elements: Vec::new(),
            subjects: Vec::new(),
            node_count: about.iter().map(|class| class.count).sum(),
            file: about.first().map_or_else(PathBuf::new, |class| class.file.clone()),
            place,
            what,
            why: row.why.to_owned(),
            mend: row.mend.to_owned(),
        }
    }

    /// The same in the file of a node, if it has one of its own, at the place that it has there.
    pub(crate) fn in_file_of(
        self,
        cluster: &Cluster,
        node: NodeRef,
        place: impl Fn(&NodeFile) -> Option<Place>,
    ) -> Self {
        let of_node = cluster.classes.get(node.class).and_then(|class| class.file_of(node.node));
        match of_node.and_then(|file| Some((file, place(file)?))) {
            Some((of_node, place)) => Self { file: of_node.file.clone(), place, ..self },
            None => self,
        }
    }

    /// The same with another severity.
    pub(crate) fn with_severity(self, severity: Severity) -> Self {
        Self { severity, ..self }
    }

    /// The same about the loss of these parts.
    pub(crate) fn with_elements(self, elements: Vec<Element>) -> Self {
        Self { elements, ..self }
    }

    /// The same with these subjects.
    pub(crate) fn with_subjects<T: ToString>(self, subjects: impl IntoIterator<Item = T>) -> Self {
        Self { subjects: subjects.into_iter().map(|subject| subject.to_string()).collect(), ..self }
    }

    /// The same with another remedy.
    pub(crate) fn with_mend(self, mend: String) -> Self {
        Self { mend, ..self }
    }
}
