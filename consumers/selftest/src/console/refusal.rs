//! The reasons why a console refuses a command. Nothing has been sent to nodes then.

use super::name::Name;
use lnet_wire::ProcessId;
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// The kind of object that a refusal names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "what they say")]
pub enum Object {
    Session,
    Group,
    Batch,
    Test,
    Node,
}

/// The reason why a command is refused (lnet-selftest 13.5).
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// Reported as ESRCH.
    #[error("there is no session; `lst new_session` makes one")]
    NoSession,
    /// Reported as ESHUTDOWN.
    #[error("the session is being ended")]
    ShuttingDown,
    /// Reported as EACCES.
    #[error("the session has another key than LST_SESSION")]
    WrongKey,
    /// Reported as ENOENT.
    #[error("there is no {0} `{1}` in the session")]
    NotFound(Object, String),
    /// Reported as EEXIST.
    #[error("there is a {0} `{1}` already")]
    Exists(Object, String),
    /// Reported as EBUSY.
    #[error("a test uses group `{0}`, which stays as it is until the session ends")]
    InUse(Name),
    /// Reported as EINVAL.
    #[error("{0}")]
    Invalid(String),
    /// Reported as ENETDOWN.
    #[error("node {0} is not active")]
    NotActive(ProcessId),
    /// Reported as EPERM.
    #[error("another command is changing {0} `{1}`")]
    Changing(Object, String),
    /// Reported as ENETDOWN.
    #[error("the console is on no net but the loopback")]
    NoNet,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Session => "session",
            Self::Group => "group",
            Self::Batch => "batch",
            Self::Test => "test",
            Self::Node => "node",
        })
    }
}
