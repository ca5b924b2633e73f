//! The nodes whose metrics are served.

use lnet_dlc::Backend;
use std::sync::Arc;

/// A backend that threads share.
pub type SharedBackend = Arc<dyn Backend + Send + Sync>;

/// The most peers of a node that have metrics, the first of the list: a page of more would take tens of megabytes.
pub(crate) const MAX_PEERS: usize = 4096;

/// A node whose metrics are served.
pub struct NamedNode {
    /// The name of the node.
    pub name: String,
    /// The node.
    pub backend: SharedBackend,
}

/// The nodes whose metrics are served. They are looked up at each request, as nodes come and go.
pub trait Nodes: Send + Sync {
    /// The nodes that there are now.
    fn all(&self) -> Vec<NamedNode>;
}

/// A function that lists nodes is a source of them.
impl<F: Fn() -> Vec<NamedNode> + Send + Sync> Nodes for F {
    fn all(&self) -> Vec<NamedNode> {
        self()
    }
}
