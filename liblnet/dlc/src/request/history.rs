//! The changes of state that a node keeps.

use serde::{Deserialize, Serialize};

/// A change of state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateChange {
    /// The number, one more than that of the change before.
    pub number: u64,
    /// The time, in milliseconds since 1970 (UTC).
    pub at_ms: u64,
    /// The class of the line: a name of `docs/logs.md`.
    pub kind: String,
    /// The level of the line: `error`, `warn`, `info` or `debug`.
    pub level: String,
    /// The thing that has changed: a NID, a path, a route, a name.
    pub subject: String,
    /// The line.
    pub text: String,
}
