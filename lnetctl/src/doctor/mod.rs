//! What keeps this host, or the path to another node, from working: `lnetctl doctor`.
//!
//! [`checks`]: the checks of this host. [`host`]: what they look at. `node`: the checks of its node. [`path`]: the steps to another node.

pub mod checks;
pub mod host;
mod node;
pub mod path;

use checks::CHECKS;
use host::Host;
use lnet_dlc::{Backend, Value};

/// What the checks of this host and of its node have found, with their names.
pub fn findings(host: &Host, node: &dyn Backend) -> Vec<(&'static str, Finding)> {
    let of_host = CHECKS.iter().map(|check| (check.name, (check.find)(host)));
    of_host.chain(node::findings(host, node)).collect()
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing is wrong.
    Fine,
    /// Something may be wrong, or keeps some uses from working.
    Warning,
    /// Something is wrong.
    Wrong,
    /// It cannot be seen, or does not apply here.
    Unknown,
}

impl State {
    /// The state as it is shown.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Warning => "warning",
            Self::Wrong => "wrong",
            Self::Unknown => "unknown",
        }
    }
}

/// The result of a check: what was seen, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How the check ended.
    pub state: State,
    /// What was seen.
    pub seen: String,
    /// What to do; `None` where nothing need be done.
    pub remedy: Option<String>,
}

impl Finding {
    /// Nothing is wrong.
    pub fn fine(seen: impl Into<String>) -> Self {
        Self { state: State::Fine, seen: seen.into(), remedy: None }
    }

    /// Nothing can be said.
    pub fn unknown(seen: impl Into<String>) -> Self {
        Self { state: State::Unknown, seen: seen.into(), remedy: None }
    }

    /// Something may be wrong.
    pub fn warning(seen: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state: State::Warning, seen: seen.into(), remedy: Some(remedy.into()) }
    }

    /// Something is wrong.
    pub fn wrong(seen: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state: State::Wrong, seen: seen.into(), remedy: Some(remedy.into()) }
    }

    /// The finding as it is shown, under the name of its check or step.
    pub fn to_value(&self, key: &str, name: &str) -> Value {
        let mut value = Value::map()
            .with(key, name)
            .with("finding", self.state.word())
            .with("seen", Value::Quoted(plain(&self.seen)));
        if let Some(remedy) = &self.remedy {
            value.push("what to do", Value::Quoted(plain(remedy)));
        }
        value
    }
}

/// The text as one line without what would end a quoted scalar.
fn plain(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('\\', "/").replace('"', "'")
}
