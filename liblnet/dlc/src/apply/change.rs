//! One change of a node: its request, and its words.

use crate::report::Operation;
use crate::request::Request;

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Add,
    Set,
    Remove,
}

impl Verb {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Set => "set",
            Self::Remove => "remove",
        }
    }
}

/// A change: what an operator reads, and the request that makes it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) verb: Verb,
    /// The object, and its new value.
    pub(super) what: String,
    pub(super) request: Request,
}

impl Change {
    pub(super) fn add(what: impl Into<String>, request: Request) -> Self {
        Self { verb: Verb::Add, what: what.into(), request }
    }

    pub(super) fn set(what: impl Into<String>, request: Request) -> Self {
        Self { verb: Verb::Set, what: what.into(), request }
    }

    pub(super) fn remove(what: impl Into<String>, request: Request) -> Self {
        Self { verb: Verb::Remove, what: what.into(), request }
    }

    /// The operation under which a failure is reported.
    pub(super) const fn operation(&self) -> Operation {
        match self.verb {
            Verb::Add | Verb::Set => Operation::Add,
            Verb::Remove => Operation::Del,
        }
    }

    /// The word under which a failure is reported.
    pub(super) const fn entity(&self) -> &'static str {
        match &self.request {
            Request::AddLocalNi(_) | Request::DelLocalNi(_) | Request::SetConnsPerPeer(_) => "net",
            Request::AddRoute(_) | Request::DelRoute(_) => "route",
            Request::AddPeerNi(_) | Request::DelPeerNi(_) => "peer_ni",
            Request::AddUdsp(_) | Request::DelUdsp(_) => "udsp",
            Request::ConfigRouter(_) => "routing",
            Request::AddBuffers(_) => "buf",
            _ => "global",
        }
    }
}
