//! Errors of drills.

use crate::text::printable;
use lnet_sim::Violation;
use std::time::Duration;

/// The reason for which a drill cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DrillError {
    /// The text is no loss, load or kind of element; the text says what is accepted.
    #[error("{given:?}: {expected}")]
    Unparsable {
        /// The text that was given.
        given: String,
        /// The accepted form.
        expected: String,
    },
    /// No simulated node or interface has this name.
    #[error("no node of the drill is called {name:?}{}", printable(.hint))]
    UnknownElement {
        /// The name that was given.
        name: String,
        /// Names that exist.
        hint: String,
    },
    /// The node or switch with this name is none of those that are simulated.
    #[error("{name:?} is not in the sample of the drill; raise --clients")]
    NotSampled {
        /// The name that was given.
        name: String,
    },
    /// The loss is not before the end of the time in which operations begin.
    #[error("{}: the loss at {at:?} is not before the end of the drill, {end:?}", printable(.element))]
    LossAfterEnd {
        /// The name of the element.
        element: String,
        /// The time of the loss.
        at: Duration,
        /// The time in which operations begin.
        end: Duration,
    },
    /// There are no elements of this kind in the cluster.
    #[error("the cluster has no {kind} that could be lost{hint}")]
    NoElement {
        /// The kind, in the plural.
        kind: &'static str,
        /// The remedy, if there is one.
        hint: &'static str,
    },
    /// There are fewer than two nodes that send or are sent to.
    #[error("a drill needs two nodes that are no routers and reach each other; {nodes} are simulated")]
    TooFewNodes {
        /// The number of nodes without routers.
        nodes: usize,
    },
    /// The node's configuration was refused by its core.
    #[error("{}: {what}", printable(.node))]
    Node {
        /// The name of the node.
        node: String,
        /// The part of the configuration that was refused, and why.
        what: String,
    },
    /// The simulation ended because an invariant of the core was violated.
    #[error("the simulation stopped: {0}")]
    Violation(String),
}

impl From<Box<Violation>> for DrillError {
    fn from(violation: Box<Violation>) -> Self {
        Self::Violation(violation.what)
    }
}
