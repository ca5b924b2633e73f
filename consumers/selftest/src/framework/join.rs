//! The question that is for a console (selftest 5.7).

use crate::wire::{Features, JoinReply, JoinRequest, Name, Status};
use lnet_api::ProcessId;

/// The interface to a console, for nodes that want to join one of its groups.
pub trait JoinHandler: Send + Sync {
    /// Returns the reply to a node, and the features for its header. Must not block.
    fn join(&self, request: &JoinRequest, features: Features, from: ProcessId) -> (JoinReply, Features);
}

/// The response where there is no console.
pub(crate) const NO_CONSOLE: JoinReply =
    JoinReply { status: Status::NO_SESSION, session: None, timeout: 0, name: Name::EMPTY };
