//! What keeps the memory of an MD valid: the program, or the node.

use std::any::Any;
use std::sync::Arc;

/// What keeps the memory of an MD valid.
pub(crate) enum Keeper {
    /// The program in this process that made the MD, until the MD's last event.
    Program,
    /// The node, whose memory it is.
    Node(#[allow(dead_code, reason = "it is kept until the MD ends")] Arc<dyn Any + Send + Sync>),
}
